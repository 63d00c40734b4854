// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the shapes of received packets. What a device opened is refused by
 * every segmenter and loses its records when it is altered; a merged packet is
 * believed only with its cuts.
 */

#include <kunit/test.h>
#include <net/gso.h>
#include <net/net_namespace.h>

#include "rx.h"

#define QOFF_TEST_HEADROOM	128

/* Headers for @payload bytes, linear, skb->data at the network header */
static struct sk_buff *qoff_test_headers(struct kunit *test, bool v6,
					 unsigned int payload)
{
	struct sk_buff *skb = alloc_skb(1024, GFP_KERNEL);
	struct ipv6hdr *ip6h;
	struct udphdr *uh;
	struct iphdr *iph;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, QOFF_TEST_HEADROOM);
	skb_reset_mac_header(skb);
	skb->dev = init_net.loopback_dev;
	skb_reset_network_header(skb);
	if (v6) {
		ip6h = skb_put_zero(skb, sizeof(*ip6h));
		ip6h->version = 6;
		ip6h->nexthdr = IPPROTO_UDP;
		ip6h->hop_limit = 64;
		skb->protocol = htons(ETH_P_IPV6);
	} else {
		iph = skb_put_zero(skb, sizeof(*iph));
		iph->version = 4;
		iph->ihl = 5;
		iph->ttl = 64;
		iph->protocol = IPPROTO_UDP;
		skb->protocol = htons(ETH_P_IP);
	}
	skb_set_transport_header(skb, skb->len);
	uh = skb_put_zero(skb, sizeof(*uh));
	uh->source = htons(1);
	uh->dest = htons(2);
	uh->len = htons(sizeof(*uh) + payload);
	return skb;
}

/* A packet as a device hands it up, @n segments of 100 bytes and more */
static struct sk_buff *qoff_test_dev_skb(struct kunit *test, bool v6,
					 struct qoff_rx_seg *segs,
					 unsigned int n)
{
	unsigned int i, total = 0;
	struct sk_buff *skb;
	struct page *page;

	for (i = 0; i < n; i++) {
		segs[i] = (struct qoff_rx_seg) {
			.len = 100 + i, .status = QOFF_RX_OPENED,
			.hdr_len = 11, .pn_len = 2, .key_gen = 1, .pn = i,
		};
		total += segs[i].len;
	}
	skb = qoff_test_headers(test, v6, total);
	page = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO,
			   get_order(total));
	KUNIT_ASSERT_NOT_NULL(test, page);
	skb_add_rx_frag(skb, 0, page, 0, total, total);
	return skb;
}

static struct qoff_dev *qoff_test_dev(struct kunit *test)
{
	struct qoff_dev *qd = kunit_kzalloc(test, sizeof(*qd), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qd);
	qd->core = kunit_kzalloc(test, sizeof(struct qoff_stats), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, qd->core);
	return qd;
}

static int qoff_test_rx_segs(struct qoff_dev *qd, struct sk_buff *skb,
			     const struct qoff_rx_seg *segs, unsigned int n)
{
	int err;

	local_bh_disable();
	err = qoff_rx_segs(qd, skb, 7, segs, n);
	local_bh_enable();
	return err;
}

/* As UDP and encap_rcv see it */
static void qoff_test_to_udp(struct sk_buff *skb)
{
	__skb_pull(skb, skb_transport_offset(skb));
}

/* No software segmenter takes it, for one segment or many, IPv4 or IPv6: this
 * is what happens to it at every stock socket.
 */
static void qoff_test_unsegmentable(struct kunit *test)
{
	static const unsigned int counts[] = { 1, 2, 64, QOFF_MAX_SEGS };
	struct qoff_dev *qd = qoff_test_dev(test);
	struct sk_buff *skb, *cut;
	struct qoff_rx_seg *segs;
	unsigned int i;

	segs = kunit_kcalloc(test, QOFF_MAX_SEGS, sizeof(*segs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, segs);
	for (i = 0; i < 2 * ARRAY_SIZE(counts); i++) {
		unsigned int n = counts[i / 2];

		skb = qoff_test_dev_skb(test, i % 2, segs, n);
		KUNIT_ASSERT_EQ(test, qoff_test_rx_segs(qd, skb, segs, n), 0);
		KUNIT_EXPECT_TRUE(test, skb->decrypted);
		KUNIT_EXPECT_TRUE(test, skb_is_gso(skb));
		KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_segs, n);
		cut = __skb_gso_segment(skb, NETIF_F_SG | NETIF_F_HW_CSUM,
					false);
		KUNIT_EXPECT_TRUE_MSG(test, IS_ERR(cut), "n=%u v6=%u", n, i % 2);
		if (!IS_ERR_OR_NULL(cut))
			kfree_skb_list(cut);
		kfree_skb(skb);
	}
}

/* What an ICMP error quotes is zero, whatever the number of segments */
static void qoff_test_leader_pad(struct kunit *test)
{
	struct qoff_dev *qd = qoff_test_dev(test);
	struct qoff_rx_seg segs[2];
	const struct qoff_leader *ld;
	struct sk_buff *skb;

	skb = qoff_test_dev_skb(test, true, segs, 2);
	KUNIT_ASSERT_EQ(test, qoff_test_rx_segs(qd, skb, segs, 2), 0);
	qoff_test_to_udp(skb);
	ld = qoff_leader_get(skb);
	KUNIT_ASSERT_NOT_NULL(test, ld);
	KUNIT_EXPECT_GE(test, sizeof(ld->pad), IPV6_MIN_MTU);
	KUNIT_EXPECT_NULL(test, memchr_inv(ld->pad, 0, sizeof(ld->pad)));
	KUNIT_EXPECT_EQ(test, ld->flow_id, 7);
	KUNIT_EXPECT_EQ(test, memcmp(ld->seg, segs, sizeof(segs)), 0);
	KUNIT_EXPECT_EQ(test, ntohs(udp_hdr(skb)->len), skb->len);
	kfree_skb(skb);
}

static void qoff_test_no_change(struct sk_buff *skb, struct qoff_leader *ld)
{
}

static void qoff_test_no_decrypted(struct sk_buff *skb, struct qoff_leader *ld)
{
	skb->decrypted = 0;
}

static void qoff_test_linearize(struct sk_buff *skb, struct qoff_leader *ld)
{
	if (skb_linearize(skb))
		skb->decrypted = 0;
}

static void qoff_test_trim(struct sk_buff *skb, struct qoff_leader *ld)
{
	if (pskb_trim(skb, skb->len - 1))
		skb->decrypted = 0;
}

static void qoff_test_pull(struct sk_buff *skb, struct qoff_leader *ld)
{
	if (!pskb_may_pull(skb, skb_headlen(skb) + 1))
		skb->decrypted = 0;
}

static void qoff_test_gso_type(struct sk_buff *skb, struct qoff_leader *ld)
{
	skb_shinfo(skb)->gso_type |= SKB_GSO_DODGY;
}

static void qoff_test_gso_segs(struct sk_buff *skb, struct qoff_leader *ld)
{
	skb_shinfo(skb)->gso_segs++;
}

static void qoff_test_magic(struct sk_buff *skb, struct qoff_leader *ld)
{
	ld->magic++;
}

static void qoff_test_count(struct sk_buff *skb, struct qoff_leader *ld)
{
	ld->n--;
}

static void qoff_test_length(struct sk_buff *skb, struct qoff_leader *ld)
{
	ld->seg[0].len++;
}

static void qoff_test_pn_len(struct sk_buff *skb, struct qoff_leader *ld)
{
	ld->seg[1].pn_len = 5;
}

static void qoff_test_hdr_len(struct sk_buff *skb, struct qoff_leader *ld)
{
	ld->seg[1].hdr_len = ld->seg[1].len - QOFF_TAG_SIZE + 1;
}

static void qoff_test_leader_altered(struct kunit *test)
{
	static const struct {
		void (*alter)(struct sk_buff *skb, struct qoff_leader *ld);
		bool good;
	} t[] = {
		{ qoff_test_no_change, true },
		{ qoff_test_no_decrypted },
		{ qoff_test_linearize },
		{ qoff_test_trim },
		{ qoff_test_pull },
		{ qoff_test_gso_type },
		{ qoff_test_gso_segs },
		{ qoff_test_magic },
		{ qoff_test_count },
		{ qoff_test_length },
		{ qoff_test_pn_len },
		{ qoff_test_hdr_len },
	};
	struct qoff_dev *qd = qoff_test_dev(test);
	struct qoff_rx_seg segs[3];
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		skb = qoff_test_dev_skb(test, false, segs, 3);
		KUNIT_ASSERT_EQ(test, qoff_test_rx_segs(qd, skb, segs, 3), 0);
		qoff_test_to_udp(skb);
		t[i].alter(skb, (struct qoff_leader *)qoff_leader_get(skb));
		KUNIT_EXPECT_EQ_MSG(test, !!qoff_leader_get(skb), t[i].good,
				    "case %u", i);
		kfree_skb(skb);
	}
}

/* Records and packets that a driver must not hand up */
static void qoff_test_bad_segs(struct kunit *test)
{
	struct qoff_dev *qd = qoff_test_dev(test);
	struct qoff_rx_seg segs[3], good[3];
	struct sk_buff *skb;

	skb = qoff_test_dev_skb(test, false, good, 3);
	KUNIT_EXPECT_EQ(test, qoff_test_rx_segs(qd, skb, good, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, qoff_test_rx_segs(qd, skb, good, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, qoff_test_rx_segs(qd, skb, good,
						QOFF_MAX_SEGS + 1), -EINVAL);
#define REFUSED(change) do {						\
	memcpy(segs, good, sizeof(segs));				\
	change;								\
	KUNIT_EXPECT_EQ(test, qoff_test_rx_segs(qd, skb, segs, 3),	\
			-EINVAL);					\
} while (0)
	REFUSED(segs[0].len++);
	REFUSED(segs[2].len = 0);
	REFUSED(segs[1].pn_len = 0);
	REFUSED(segs[1].pn_len = 5);
	REFUSED(segs[1].pn = QOFF_PN_MAX + 1);
	REFUSED(segs[1].hdr_len = 2);
	REFUSED(segs[1].hdr_len = 101 - QOFF_TAG_SIZE + 1);
	REFUSED(skb->protocol = htons(ETH_P_ARP));
	skb->protocol = htons(ETH_P_IP);
	REFUSED(ip_hdr(skb)->frag_off = htons(IP_MF));
	ip_hdr(skb)->frag_off = 0;
	REFUSED(ip_hdr(skb)->ihl = 6);
	ip_hdr(skb)->ihl = 5;
#undef REFUSED
	KUNIT_EXPECT_FALSE(test, skb->decrypted);
	KUNIT_EXPECT_EQ(test, qoff_test_rx_segs(qd, skb, good, 3), 0);
	kfree_skb(skb);
}

/* A merged packet as gro_complete leaves it, skb->data at the UDP header */
static struct sk_buff *qoff_test_merged(struct kunit *test, unsigned int n)
{
	struct sk_buff *head = qoff_test_headers(test, false, 100), *seg;
	struct sk_buff **tail = &skb_shinfo(head)->frag_list;
	unsigned int i;

	skb_put_zero(head, 100);
	for (i = 1; i < n; i++) {
		seg = qoff_test_headers(test, false, 50 + i);
		skb_pull(seg, seg->len);
		skb_put_zero(seg, 50 + i);
		*tail = seg;
		tail = &seg->next;
		head->len += seg->len;
		head->data_len += seg->len;
		head->truesize += seg->truesize;
	}
	skb_shinfo(head)->gso_size = 100;
	skb_shinfo(head)->gso_segs = n;
	skb_shinfo(head)->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST |
				     SKB_GSO_UDP_TUNNEL_CSUM;
	qoff_test_to_udp(head);
	return head;
}

static void qoff_test_geometry(struct kunit *test)
{
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		skb = qoff_test_merged(test, 5);
		switch (i) {
		case 0:
			break;
		case 1:
			KUNIT_ASSERT_EQ(test, skb_linearize(skb), 0);
			break;
		case 2:
			KUNIT_ASSERT_EQ(test, pskb_trim(skb, skb->len - 60), 0);
			break;
		case 3:
			KUNIT_ASSERT_EQ(test, pskb_trim(skb, skb->len - 1), 0);
			break;
		case 4:
			KUNIT_ASSERT_TRUE(test, pskb_may_pull(skb, 120));
			break;
		case 5:
			skb_shinfo(skb)->gso_segs++;
			break;
		case 6:
			skb_shinfo(skb)->gso_type |= SKB_GSO_DODGY;
			break;
		case 7:
			skb_shinfo(skb)->gso_size--;
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, qoff_rx_geometry(skb), i == 0,
				    "case %u", i);
		kfree_skb(skb);
	}
}

/* Walking the segments, from the start and from where a receive stopped */
static void qoff_test_positions(struct kunit *test)
{
	struct sk_buff *skb = qoff_test_merged(test, 5);
	struct qoff_rx_cb *cb = QOFF_RX_CB(skb);
	unsigned int i, off = 0;
	struct qoff_rx_pos pos;

	memset(skb->cb, 0, sizeof(skb->cb));
	skb_pull(skb, sizeof(struct udphdr));
	cb->nseg = 5;
	qoff_rx_pos_first(&pos, skb);
	for (i = 0; i < 5; i++) {
		struct qoff_rx_pos again;

		cb->next = i;
		qoff_rx_pos_first(&again, skb);
		KUNIT_EXPECT_EQ(test, memcmp(&again, &pos, sizeof(pos)), 0);
		KUNIT_EXPECT_EQ(test, pos.off, off);
		KUNIT_EXPECT_EQ(test, qoff_rx_pos_len(&pos), i ? 50 + i : 100);
		off += qoff_rx_pos_len(&pos);
		qoff_rx_pos_next(&pos);
	}
	KUNIT_EXPECT_EQ(test, off, skb->len);
	kfree_skb(skb);
}

static struct kunit_case qoff_rx_cases[] = {
	KUNIT_CASE(qoff_test_unsegmentable),
	KUNIT_CASE(qoff_test_leader_pad),
	KUNIT_CASE(qoff_test_leader_altered),
	KUNIT_CASE(qoff_test_bad_segs),
	KUNIT_CASE(qoff_test_geometry),
	KUNIT_CASE(qoff_test_positions),
	{}
};

static struct kunit_suite qoff_rx_suite = {
	.name = "quic_offload_rx",
	.test_cases = qoff_rx_cases,
};

kunit_test_suite(qoff_rx_suite);
