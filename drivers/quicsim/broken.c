// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: a device that does not do its duty, for the conformance suite to find
 * out. One duty at a time (debugfs "broken", enum qsim_broken); what is broken
 * where a value is chosen is there, what spoils finished work is here.
 */
#include <linux/ip.h>
#include <linux/udp.h>

#include "quicsim.h"

/**
 * qsim_broken_refuses() - a device that cannot do all that it announces
 * @port: the sender
 * @desc: a super-packet
 *
 * Return: it is one of those that this device fails.
 */
bool qsim_broken_refuses(const struct qsim_port *port,
			 const struct qoff_tx_desc *desc)
{
	unsigned int i, bytes = 0;

	for (i = 0; i < desc->nseg; i++) {
		bytes += desc->segs[i].len;
		if (qsim_broken(port, QSIM_BROKEN_MTU) && desc->segs[i].len > 1250)
			return true;
	}
	return (qsim_broken(port, QSIM_BROKEN_SEGS) && desc->nseg > 16) ||
	       (qsim_broken(port, QSIM_BROKEN_BYTES) && bytes > 32768) ||
	       (qsim_broken(port, QSIM_BROKEN_ONE) && desc->nseg == 1);
}

/**
 * qsim_broken_numbers() - packet numbers that are not those of the table
 * @port: the sender
 * @pkt: packets about to be sealed
 * @n: how many
 */
void qsim_broken_numbers(const struct qsim_port *port, struct qsim_pkt *pkt,
			 unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (qsim_broken(port, QSIM_BROKEN_REUSE))
			pkt[i].pn = pkt[0].pn;
		if (qsim_broken(port, QSIM_BROKEN_NUMBER))
			pkt[i].pn = (u32)pkt[i].pn;
		if (qsim_broken(port, QSIM_BROKEN_PHASE))
			pkt[i].data[0] ^= 4;
	}
}

/**
 * qsim_broken_sealed() - spoil packets that were sealed
 * @port: the sender
 * @pkt: packets
 * @n: how many
 */
void qsim_broken_sealed(const struct qsim_port *port, struct qsim_pkt *pkt,
			unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (qsim_broken(port, QSIM_BROKEN_HP))
			pkt[i].data[0] ^= 0x1f;
		if (qsim_broken(port, QSIM_BROKEN_TAG))
			pkt[i].data[pkt[i].len - 1] ^= 1;
	}
}

static void qsim_broken_ip(const struct qsim_port *port,
			   const struct qsim_seg *s, struct sk_buff *skb)
{
	struct iphdr *iph = (struct iphdr *)(skb->data + s->nh);

	if (s->v6) {
		if (qsim_broken(port, QSIM_BROKEN_TOS))
			skb->data[s->nh + 1] &= 0x0f;
		return;
	}
	if (qsim_broken(port, QSIM_BROKEN_IPID))
		iph->id = htons(s->id);
	if (qsim_broken(port, QSIM_BROKEN_TOS))
		iph->tos = 0;
	iph->check = 0;
	iph->check = ip_fast_csum(iph, iph->ihl);
}

/**
 * qsim_broken_frames() - spoil the finished frames of a super-packet
 * @port: the sender
 * @s: their headers
 * @out: the frames
 */
void qsim_broken_frames(const struct qsim_port *port, const struct qsim_seg *s,
			struct sk_buff_head *out)
{
	struct sk_buff *skb;
	struct udphdr *uh;

	skb_queue_walk(out, skb) {
		uh = (struct udphdr *)(skb->data + s->th);
		if (qsim_broken(port, QSIM_BROKEN_CSUM))
			uh->check = (__force __sum16)~(__force u16)uh->check;
		if (qsim_broken(port, QSIM_BROKEN_UDP_LEN))
			uh->len = htons(ntohs(uh->len) - 1);
		qsim_broken_ip(port, s, skb);
	}
	if (qsim_broken(port, QSIM_BROKEN_ORDER)) {
		skb = __skb_dequeue(out);
		if (skb)
			__skb_queue_tail(out, skb);
	}
	if (qsim_broken(port, QSIM_BROKEN_SHORT))
		kfree_skb(__skb_dequeue_tail(out));
}
