/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QUIC offload, the driver API: calls.  For drivers of capable NICs; nothing
 * else in the kernel calls these.
 */
#ifndef _NET_QUIC_OFFLOAD_FUNCTIONS_H
#define _NET_QUIC_OFFLOAD_FUNCTIONS_H

#include <linux/skbuff.h>
#include <net/quic_offload/types.h>

/* The ethtool -K switches exist only on a kernel with the feature patch
 * (kernel/patches/6.12). Without it these are 0 and netlink has the switches.
 */
#ifdef NETIF_F_QUIC_GSO
#define QOFF_NETIF_F	(NETIF_F_QUIC_GSO | NETIF_F_QUIC_GRO | \
			 NETIF_F_QUIC_TX_CRYPTO | NETIF_F_QUIC_RX_CRYPTO)
#else
#define QOFF_NETIF_F	0
#endif

/* Driver-facing API */

/**
 * qoff_dev_create() - register a device
 * @netdev: registered or about to be; its driver
 * @ops: callbacks, constant
 * @caps: what the device can do, constant while registered
 * @priv: for qoff_dev.drv_priv
 *
 * Call before the net device can carry traffic, or at any time under RTNL.
 * Context: process, may sleep.
 * Return: the device, or ERR_PTR: -EINVAL when an op that @caps needs is
 * missing or a limit is out of range, -EEXIST when @netdev has one, -ENOMEM.
 */
struct qoff_dev *qoff_dev_create(struct net_device *netdev,
				 const struct qoff_dev_ops *ops,
				 const struct qoff_dev_caps *caps, void *priv);

/**
 * qoff_dev_unregister() - take a device away
 * @qd: from qoff_dev_create()
 *
 * Moves every context and flow to software (the deletion callbacks run) and
 * forgets the callbacks. Super-packets for it that are still queued in the
 * stack are finished in software. The caller has stopped its transmit queues
 * or drops what qoff_tx_desc() refuses.
 * Context: process, may sleep; RTNL held by the caller or not.
 */
void qoff_dev_unregister(struct qoff_dev *qd);

/**
 * qoff_dev_reset() - the device lost all contexts and flows
 * @qd: the device
 *
 * Every placement becomes invalid at once: queued super-packets that were
 * built for it are refused by qoff_tx_desc(), newer ones are sealed in
 * software; contexts are placed again from a work item (the device must be
 * able to take them by then). The deletion callbacks do not run for what was
 * lost.
 * Context: any.
 */
void qoff_dev_reset(struct qoff_dev *qd);

/**
 * qoff_dev_set_features() - tell the core which switches are on
 * @qd: the device
 * @features: QUIC_OFFLOAD_FEATURE_* bits
 *
 * From ndo_set_features on a kernel with the feature patch, see
 * qoff_features_from_netdev(). Context: process, RTNL.
 */
void qoff_dev_set_features(struct qoff_dev *qd, u32 features);

/**
 * qoff_fix_features() - dependencies between the switches
 * @features: wanted
 *
 * quic-tx-crypto needs quic-gso, which needs SG and a full checksum offload;
 * quic-rx-crypto and quic-gro need RXCSUM. For ndo_fix_features.
 * Return: what may be on.
 */
netdev_features_t qoff_fix_features(netdev_features_t features);

/**
 * qoff_features_from_netdev() - translate ethtool switches
 * @features: of a net device
 * Return: QUIC_OFFLOAD_FEATURE_* bits.
 */
static inline u32 qoff_features_from_netdev(netdev_features_t features)
{
	u32 f = 0;

#ifdef NETIF_F_QUIC_GSO
	if (features & NETIF_F_QUIC_GSO)
		f |= QUIC_OFFLOAD_FEATURE_GSO;
	if (features & NETIF_F_QUIC_GRO)
		f |= QUIC_OFFLOAD_FEATURE_GRO;
	if (features & NETIF_F_QUIC_TX_CRYPTO)
		f |= QUIC_OFFLOAD_FEATURE_TX_CRYPTO;
	if (features & NETIF_F_QUIC_RX_CRYPTO)
		f |= QUIC_OFFLOAD_FEATURE_RX_CRYPTO;
#endif
	return f;
}

/**
 * qoff_tx_is_super() - is this skb a super-packet for a device?
 * @skb: in ndo_start_xmit
 *
 * A cheap test before qoff_tx_desc(). An skb for which it is false and
 * skb->decrypted is set must be dropped; qoff_tx_desc() does that test too.
 */
bool qoff_tx_is_super(const struct sk_buff *skb);

/**
 * qoff_tx_desc() - read a super-packet in ndo_start_xmit
 * @qd: the device that is about to send it
 * @skb: the skb
 * @desc: filled in
 *
 * Checks every guard, and that @qd still holds the context. The payload must
 * be read by offset (skb_copy_bits() or frags): the linear part may end inside
 * it. The driver must not write into the skb.
 *
 * Context: any.
 * Return: 0; -EINVAL when a guard was damaged, -ESTALE when the context was
 * lost, -ENOENT when it is no super-packet but carries plaintext. On any error
 * the driver drops the skb and nothing of it goes out; the core has counted it.
 */
int qoff_tx_desc(struct qoff_dev *qd, struct sk_buff *skb,
		 struct qoff_tx_desc *desc);

/**
 * qoff_rx_segs() - hand up segments that the device opened or coalesced
 * @qd: the device
 * @skb: IP and UDP header linear (skb->data at the network header or the MAC
 *	header pulled by eth_type_trans()), payload segments back to back in
 *	page fragments only, at most MAX_SKB_FRAGS - 1 of them; IP and UDP
 *	length fields may be stale. The device has verified every UDP checksum
 * @flow_id: qoff_flow_params.id of the flow that matched
 * @segs: @n records: len, tos, and for opened ones status, hdr_len, pn_len,
 *	key_gen and pn. status is QOFF_RX_OPENED for a segment that the device
 *	opened; QOFF_RX_FAILED if it tried (the bytes are those that came in);
 *	any other value if it did not try. What is not opened is tried in
 *	software, so that a device whose packet-number window lags loses nothing
 * @n: records, 1 to QOFF_MAX_SEGS
 *
 * Puts the records between UDP header and payload, corrects lengths and
 * checksum state, and gives the skb the shape that no other socket, no
 * segmenter and no device accepts. Afterwards the driver passes it to
 * napi_gro_receive() or netif_receive_skb() as any other.
 *
 * Context: softirq.
 * Return: 0, or -EINVAL (sums wrong, too large, not linear headers, or a generic
 * XDP program on the device, which would see and might send plaintext) or
 * -ENOMEM; then the driver frees the skb.
 */
int qoff_rx_segs(struct qoff_dev *qd, struct sk_buff *skb, u32 flow_id,
		 const struct qoff_rx_seg *segs, unsigned int n);

#endif /* _NET_QUIC_OFFLOAD_FUNCTIONS_H */
