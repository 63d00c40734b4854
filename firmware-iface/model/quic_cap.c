// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The extension's capability group. Any field can be given another value on the
 * command line: a device that lacks one bit, or that announces nonsense.
 */
#include <stdio.h>
#include <stdlib.h>

#include "quic.h"

#define CIPHERS	(BIT(QOFF_MLX5_AES_128_GCM) | BIT(QOFF_MLX5_AES_256_GCM) | \
		 BIT(QOFF_MLX5_CHACHA20_POLY1305) | BIT(QOFF_MLX5_AES_128_CCM))

#define QUIC_CAPS(X)						\
	X(version, QOFF_MLX5_VERSION)				\
	X(tx_ciphers, CIPHERS)					\
	X(rx_ciphers, CIPHERS)					\
	X(tx_explicit_pn, 1)					\
	X(tx_tracked_pn, 1)					\
	X(tx_pn_check, 1)					\
	X(tag_room, 1)						\
	X(tag_insert, 1)					\
	X(lso_fixed, 1)						\
	X(lso_var, 1)						\
	X(lso_pn_skip, 1)					\
	X(fail_drop, 1)						\
	X(fail_modified, 1)					\
	X(fail_original, 1)					\
	X(gro_equal, 1)						\
	X(gro_var, 1)						\
	X(dcid_match, 1)					\
	X(dcid_rss, 1)						\
	X(ctx_wqe, 1)						\
	X(ctx_lookup, 1)					\
	X(multipath_nonce, 1)					\
	X(object_change_event, 1)				\
	X(dcid_len_supported, 0x1fffff)				\
	X(log_max_quic_ctx, NM_QUIC_LOG_MAX_CTX)		\
	X(log_max_lso_bytes, 16)				\
	X(min_packet_len, 21)					\
	X(pn_window_log, 14)					\
	X(max_lso_segs, QOFF_MLX5_MAX_SEGS)			\
	X(max_gro_segs, 64)					\
	X(max_gro_bytes, 62976)					\
	X(concurrent_protocols, 0xffff)				\
	X(gro_sessions, 32)					\
	X(max_tx_ctx, 1u << (NM_QUIC_LOG_MAX_CTX - 1))		\
	X(max_rx_ctx, 1u << (NM_QUIC_LOG_MAX_CTX - 1))		\
	X(reserved_tx_ctx, 256)					\
	X(reserved_rx_ctx, 256)

const struct nm_cap_row nm_quic_cap_rows[] = {
#define X(f, v) { NM_OFF(quic_cap, f), NM_WIDTH(quic_cap, f), false, (v) },
	QUIC_CAPS(X)
#undef X
};

const u32 nm_quic_cap_nr = ARRAY_SIZE(nm_quic_cap_rows);

static const char *const names[] = {
#define X(f, v) #f,
	QUIC_CAPS(X)
#undef X
};

bool nm_quic_on(const struct nm_fn *fn)
{
	const char *spec = fn->model->opts.quic;

	return spec && strcmp(spec, "off");
}

static bool cap_set(u8 *cap, const char *name, size_t len, u32 val)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len)) {
			nm_field_set(cap, nm_quic_cap_rows[i].off,
				     nm_quic_cap_rows[i].width, val);
			return true;
		}
	return false;
}

bool nm_quic_caps_parse(const char *spec, u8 *cap)
{
	const char *p;

	if (!strcmp(spec, "off"))
		return true;
	if (strncmp(spec, "on", 2))
		return false;
	for (p = spec + 2; *p == ',';) {
		const char *end, *eq;
		bool off = *++p == '-';
		u32 val = 0;

		p += off;
		end = p + strcspn(p, ",");
		eq = memchr(p, '=', end - p);
		if (eq)
			val = strtoul(eq + 1, NULL, 0);
		if (!off == !eq || !cap_set(cap, p, (eq ? eq : end) - p, val))
			return false;
		p = end;
	}
	return !*p;
}
