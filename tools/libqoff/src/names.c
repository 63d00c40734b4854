// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Names of counters and features, as Documentation/netlink/specs/quic-offload.yaml
 * and ethtool -K have them.
 */
#include "priv.h"

static const char *const stat_names[] = {
	[QUIC_OFFLOAD_A_STATS_TX_SUPER] = "tx-super",
	[QUIC_OFFLOAD_A_STATS_TX_SEGS] = "tx-segs",
	[QUIC_OFFLOAD_A_STATS_TX_BYTES] = "tx-bytes",
	[QUIC_OFFLOAD_A_STATS_TX_DEV] = "tx-dev",
	[QUIC_OFFLOAD_A_STATS_TX_SW_SEAL] = "tx-sw-seal",
	[QUIC_OFFLOAD_A_STATS_TX_SW_SEGS] = "tx-sw-segs",
	[QUIC_OFFLOAD_A_STATS_TX_RESEALED] = "tx-resealed",
	[QUIC_OFFLOAD_A_STATS_TX_DROP_GUARD] = "tx-drop-guard",
	[QUIC_OFFLOAD_A_STATS_TX_DROP_KEY] = "tx-drop-key",
	[QUIC_OFFLOAD_A_STATS_TX_DROP_MTU] = "tx-drop-mtu",
	[QUIC_OFFLOAD_A_STATS_TX_DROP_CRYPTO] = "tx-drop-crypto",
	[QUIC_OFFLOAD_A_STATS_TX_LOST] = "tx-lost",
	[QUIC_OFFLOAD_A_STATS_TX_TAP] = "tx-tap",
	[QUIC_OFFLOAD_A_STATS_RX_BATCHES] = "rx-batches",
	[QUIC_OFFLOAD_A_STATS_RX_SEGS] = "rx-segs",
	[QUIC_OFFLOAD_A_STATS_RX_BYTES] = "rx-bytes",
	[QUIC_OFFLOAD_A_STATS_RX_DEV_OPENED] = "rx-dev-opened",
	[QUIC_OFFLOAD_A_STATS_RX_SW_OPENED] = "rx-sw-opened",
	[QUIC_OFFLOAD_A_STATS_RX_FAILED] = "rx-failed",
	[QUIC_OFFLOAD_A_STATS_RX_NO_FLOW] = "rx-no-flow",
	[QUIC_OFFLOAD_A_STATS_RX_NO_KEY] = "rx-no-key",
	[QUIC_OFFLOAD_A_STATS_RX_NO_PHASE] = "rx-no-phase",
	[QUIC_OFFLOAD_A_STATS_RX_DROP_GUARD] = "rx-drop-guard",
	[QUIC_OFFLOAD_A_STATS_RX_DROP_GEOMETRY] = "rx-drop-geometry",
	[QUIC_OFFLOAD_A_STATS_RX_DROP_FULL] = "rx-drop-full",
	[QUIC_OFFLOAD_A_STATS_CTX_ADD] = "ctx-add",
	[QUIC_OFFLOAD_A_STATS_CTX_FAIL] = "ctx-fail",
};

_Static_assert(ARRAY_SIZE(stat_names) == QUIC_OFFLOAD_A_STATS_MAX + 1, "a counter has no name");
_Static_assert(QUIC_OFFLOAD_A_STATS_MAX < 64, "struct qoff_stats is full");

const char *qoff_stat_name(unsigned int id)
{
	return id < ARRAY_SIZE(stat_names) ? stat_names[id] : NULL;
}

const char *qoff_feature_name(uint32_t feature)
{
	switch (feature) {
	case QUIC_OFFLOAD_FEATURE_GSO:
		return "quic-gso";
	case QUIC_OFFLOAD_FEATURE_GRO:
		return "quic-gro";
	case QUIC_OFFLOAD_FEATURE_TX_CRYPTO:
		return "quic-tx-crypto";
	case QUIC_OFFLOAD_FEATURE_RX_CRYPTO:
		return "quic-rx-crypto";
	}
	return NULL;
}
