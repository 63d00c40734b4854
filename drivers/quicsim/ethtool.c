// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: ethtool.
 */
#include <linux/ethtool.h>

#include "quicsim.h"

/* One for each enum qsim_cnt */
static const char qsim_cnt_names[][ETH_GSTRING_LEN] = {
	[QSIM_TX_DESCS]		= "tx_descs",
	[QSIM_TX_FRAMES]	= "tx_frames",
	[QSIM_TX_FRAME_BYTES]	= "tx_frame_bytes",
	[QSIM_TX_TSO]		= "tx_tso",
	[QSIM_TX_USO]		= "tx_uso",
	[QSIM_TX_FRAGLIST]	= "tx_fraglist",
	[QSIM_TX_SUPER]		= "tx_quic_super",
	[QSIM_TX_SEALED]	= "tx_quic_sealed",
	[QSIM_TX_RAW_SEGS]	= "tx_quic_raw",
	[QSIM_TX_SUPER_BYTES]	= "tx_quic_bytes",
	[QSIM_TX_ERR]		= "tx_quic_err",
	[QSIM_TX_DROP_GUARD]	= "tx_drop_guard",
	[QSIM_TX_DROP_HDR]	= "tx_drop_hdr",
	[QSIM_TX_DROP_NOMEM]	= "tx_drop_nomem",
	[QSIM_TX_DROP_DOWN]	= "tx_drop_down",
	[QSIM_TX_BUSY]		= "tx_busy",
	[QSIM_TX_STOPPED]	= "tx_stopped",
	[QSIM_RX_FRAMES]	= "rx_frames",
	[QSIM_RX_FRAME_BYTES]	= "rx_frame_bytes",
	[QSIM_RX_CSUM_OK]	= "rx_csum_ok",
	[QSIM_RX_CSUM_BAD]	= "rx_csum_bad",
	[QSIM_RX_LENGTH]	= "rx_length",
	[QSIM_RX_MATCHED]	= "rx_quic_matched",
	[QSIM_RX_OPENED]	= "rx_quic_opened",
	[QSIM_RX_FAILED]	= "rx_quic_failed",
	[QSIM_RX_COALESCED]	= "rx_quic_coalesced",
	[QSIM_RX_COALESCED_SEGS] = "rx_quic_coalesced_segs",
	[QSIM_RX_SEGS_ERR]	= "rx_quic_refused",
	[QSIM_RX_DROP_OPENED]	= "rx_drop_opened",
	[QSIM_RX_DROP_RING]	= "rx_drop_ring",
	[QSIM_RX_DROP_NOMEM]	= "rx_drop_nomem",
	[QSIM_RX_PAUSED]	= "rx_paused",
	[QSIM_FLT_DROP]		= "fault_drop",
	[QSIM_FLT_DUP]		= "fault_dup",
	[QSIM_FLT_REORDER]	= "fault_reorder",
	[QSIM_FLT_CORRUPT]	= "fault_corrupt",
	[QSIM_FLT_REFUSED]	= "fault_refused",
	[QSIM_FLT_TX_FAIL]	= "fault_tx_fail",
	[QSIM_FLT_RX_FAIL]	= "fault_rx_fail",
	[QSIM_FLT_RX_FORGE]	= "fault_rx_forge",
	[QSIM_FLT_LOST]		= "fault_lost",
	[QSIM_FLT_RESET]	= "fault_reset",
	[QSIM_CTX]		= "quic_ctx",
	[QSIM_FLOW]		= "quic_flow",
};

static_assert(ARRAY_SIZE(qsim_cnt_names) == QSIM_CNT_MAX);

static void qsim_get_drvinfo(struct net_device *dev,
			     struct ethtool_drvinfo *info)
{
	struct qsim_port *port = netdev_priv(dev);

	strscpy(info->driver, QSIM_NAME, sizeof(info->driver));
	snprintf(info->bus_info, sizeof(info->bus_info), "port %u", port->no);
}

static int qsim_get_sset_count(struct net_device *dev, int sset)
{
	return sset == ETH_SS_STATS ? QSIM_CNT_MAX : -EOPNOTSUPP;
}

static void qsim_get_strings(struct net_device *dev, u32 sset, u8 *data)
{
	if (sset == ETH_SS_STATS)
		memcpy(data, qsim_cnt_names, sizeof(qsim_cnt_names));
}

static void qsim_get_ethtool_stats(struct net_device *dev,
				   struct ethtool_stats *stats, u64 *data)
{
	struct qsim_port *port = netdev_priv(dev);
	int i;

	for (i = 0; i < QSIM_CNT_MAX; i++)
		data[i] = atomic64_read(&port->cnt[i]);
}

static void qsim_get_ringparam(struct net_device *dev,
			       struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kring,
			       struct netlink_ext_ack *extack)
{
	struct qsim_port *port = netdev_priv(dev);

	ring->rx_max_pending = QSIM_MAX_RING;
	ring->tx_max_pending = QSIM_MAX_RING;
	ring->rx_pending = port->rx_ring;
	ring->tx_pending = port->tx_ring;
}

static int qsim_set_ringparam(struct net_device *dev,
			      struct ethtool_ringparam *ring,
			      struct kernel_ethtool_ringparam *kring,
			      struct netlink_ext_ack *extack)
{
	struct qsim_port *port = netdev_priv(dev);

	if (ring->rx_pending < QSIM_MIN_RING ||
	    ring->tx_pending < QSIM_MIN_RING ||
	    !is_power_of_2(ring->tx_pending)) {
		NL_SET_ERR_MSG_MOD(extack, "rings have 64 to 8192 entries, tx a power of two");
		return -EINVAL;
	}
	if (ring->tx_pending != port->tx_ring && netif_running(dev)) {
		NL_SET_ERR_MSG_MOD(extack, "transmit rings change while the port is down");
		return -EBUSY;
	}
	port->tx_ring = ring->tx_pending;
	WRITE_ONCE(port->rx_ring, ring->rx_pending);
	return 0;
}

static void qsim_get_pauseparam(struct net_device *dev,
				struct ethtool_pauseparam *pause)
{
	struct qsim_port *port = netdev_priv(dev);

	pause->rx_pause = 1;
	pause->tx_pause = port->pause;
}

/* tx: a full receive ring stops the wire instead of losing frames */
static int qsim_set_pauseparam(struct net_device *dev,
			       struct ethtool_pauseparam *pause)
{
	struct qsim_port *port = netdev_priv(dev);

	if (pause->autoneg || !pause->rx_pause)
		return -EOPNOTSUPP;
	WRITE_ONCE(port->pause, pause->tx_pause);
	return 0;
}

static int qsim_get_coalesce(struct net_device *dev,
			     struct ethtool_coalesce *c,
			     struct kernel_ethtool_coalesce *kc,
			     struct netlink_ext_ack *extack)
{
	struct qsim_port *port = netdev_priv(dev);

	c->rx_coalesce_usecs = port->rx_usecs;
	return 0;
}

static int qsim_set_coalesce(struct net_device *dev,
			     struct ethtool_coalesce *c,
			     struct kernel_ethtool_coalesce *kc,
			     struct netlink_ext_ack *extack)
{
	struct qsim_port *port = netdev_priv(dev);

	if (c->rx_coalesce_usecs > QSIM_MAX_USECS) {
		NL_SET_ERR_MSG_MOD(extack, "rx-usecs is at most 10000");
		return -EINVAL;
	}
	WRITE_ONCE(port->rx_usecs, c->rx_coalesce_usecs);
	return 0;
}

static void qsim_get_channels(struct net_device *dev,
			      struct ethtool_channels *ch)
{
	struct qsim_port *port = netdev_priv(dev);

	ch->max_combined = port->nq;
	ch->combined_count = port->nq;
}

static int qsim_get_link_ksettings(struct net_device *dev,
				   struct ethtool_link_ksettings *cmd)
{
	cmd->base.speed = SPEED_100000;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.port = PORT_DA;
	cmd->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

const struct ethtool_ops qsim_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS,
	.get_drvinfo		= qsim_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= qsim_get_link_ksettings,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_sset_count		= qsim_get_sset_count,
	.get_strings		= qsim_get_strings,
	.get_ethtool_stats	= qsim_get_ethtool_stats,
	.get_ringparam		= qsim_get_ringparam,
	.set_ringparam		= qsim_set_ringparam,
	.get_pauseparam		= qsim_get_pauseparam,
	.set_pauseparam		= qsim_set_pauseparam,
	.get_coalesce		= qsim_get_coalesce,
	.set_coalesce		= qsim_set_coalesce,
	.get_channels		= qsim_get_channels,
};
