// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit: the guards of a plaintext super-packet. Whatever is done to one of
 * them, to the table or to the headers, the driver gets nothing to send.
 */

#include <kunit/test.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <net/ip.h>

#include "tx.h"

#define QOFF_TEST_SEGS	2
#define QOFF_TEST_LEN	100

struct qoff_tx_fixture {
	struct qoff_dev qd;
	struct qoff_dev other;
	struct qoff_stats stats;
	struct qoff_place place;
	struct qoff_key key;
	struct qoff_super *t;
	struct sk_buff *skb;
};

static void qoff_test_headers(struct sk_buff *skb, bool v6, unsigned int len)
{
	unsigned int net_len = v6 ? sizeof(struct ipv6hdr) :
				    sizeof(struct iphdr);
	u8 *p = skb_put_zero(skb, net_len + sizeof(struct udphdr) + len);

	skb_reset_network_header(skb);
	skb_set_transport_header(skb, net_len);
	if (v6) {
		((struct ipv6hdr *)p)->version = 6;
		((struct ipv6hdr *)p)->nexthdr = IPPROTO_UDP;
	} else {
		((struct iphdr *)p)->version = 4;
		((struct iphdr *)p)->ihl = 5;
		((struct iphdr *)p)->protocol = IPPROTO_UDP;
	}
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

/* As tx_build.c leaves it, and as the hook passes it to its device */
static struct qoff_tx_fixture *qoff_fixture(struct kunit *test, bool v6,
					    unsigned int nseg)
{
	struct qoff_tx_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct qoff_super *t;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, f);
	t = kunit_kzalloc(test, struct_size(t, segs, nseg), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	f->qd.core = &f->stats;
	f->other.core = &f->stats;
	f->place.qd = &f->qd;
	f->key.phase = 1;
	f->key.cipher = QUIC_OFFLOAD_CIPHER_AES_128_GCM;
	f->place.slot[1] = &f->key;
	t->ubuf.ops = &qoff_super_ops;
	t->ubuf.flags = SKBFL_ZEROCOPY_ENABLE | SKBFL_DONT_ORPHAN;
	/* Never freed by the last skb: it is the test's memory */
	refcount_set(&t->ubuf.refcnt, 100);
	t->nseg = nseg;
	t->qd = &f->qd;
	t->place = &f->place;
	t->key = &f->key;
	t->pn = 7;
	for (i = 0; i < nseg; i++)
		t->segs[i].len = QOFF_TEST_LEN;
	t->total = nseg * QOFF_TEST_LEN;
	f->t = t;

	f->skb = alloc_skb(512, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->skb);
	skb_reserve(f->skb, 64);
	qoff_test_headers(f->skb, v6, t->total);
	if (nseg > 1) {
		skb_shinfo(f->skb)->gso_size = QOFF_TEST_LEN;
		skb_shinfo(f->skb)->gso_segs = nseg;
		skb_shinfo(f->skb)->gso_type = SKB_GSO_UDP_L4;
	}
	qoff_super_guard(f->skb, t);
	return f;
}

static void qoff_test_pass_hook(struct qoff_tx_fixture *f)
{
	skb_shinfo(f->skb)->gso_type &= ~SKB_GSO_FCOE;
}

static void qoff_test_guards_set(struct kunit *test)
{
	struct qoff_tx_fixture *f = qoff_fixture(test, false, QOFF_TEST_SEGS);

	KUNIT_EXPECT_TRUE(test, skb_is_decrypted(f->skb));
	KUNIT_EXPECT_TRUE(test, f->skb->pkt_type == PACKET_OTHERHOST);
	KUNIT_EXPECT_TRUE(test, udp_hdr(f->skb)->len == htons(8));
	KUNIT_EXPECT_EQ(test, skb_checksum_start_offset(f->skb),
			skb_transport_offset(f->skb) + 1);
	KUNIT_EXPECT_TRUE(test, skb_shinfo(f->skb)->gso_type & SKB_GSO_FCOE);
	KUNIT_EXPECT_TRUE(test, qoff_tx_is_super(f->skb));
	KUNIT_EXPECT_EQ(test, skb_orphan_frags(f->skb, GFP_KERNEL), 0);
	KUNIT_EXPECT_TRUE(test, qoff_tx_is_super(f->skb));
	kfree_skb(f->skb);
}

/* The offsets are those of the headers that are there now */
static void qoff_test_desc(struct kunit *test)
{
	static const struct {
		bool v6;
		unsigned int nseg;
		unsigned int l2;
	} t[] = {
		{ false, QOFF_TEST_SEGS, 0 },
		{ false, QOFF_TEST_SEGS, ETH_HLEN },
		{ false, 1, ETH_HLEN },
		{ true, QOFF_TEST_SEGS, ETH_HLEN },
		{ true, QOFF_TEST_SEGS, VLAN_ETH_HLEN },
		{ true, 1, ETH_HLEN },
	};
	struct qoff_tx_fixture *f;
	struct qoff_tx_desc d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		f = qoff_fixture(test, t[i].v6, t[i].nseg);
		qoff_test_pass_hook(f);
		skb_push(f->skb, t[i].l2);
		/* What validate_xmit_skb() makes of a moved csum_start */
		f->skb->transport_header++;
		KUNIT_EXPECT_EQ_MSG(test, qoff_tx_desc(&f->qd, f->skb, &d), 0,
				    "row %u", i);
		KUNIT_EXPECT_EQ(test, d.nseg, t[i].nseg);
		KUNIT_EXPECT_EQ(test, d.net_off, t[i].l2);
		KUNIT_EXPECT_EQ(test, d.th_off, t[i].l2 + (t[i].v6 ? 40 : 20));
		KUNIT_EXPECT_TRUE(test, d.seal);
		KUNIT_EXPECT_EQ(test, d.phase, 1);
		KUNIT_EXPECT_EQ(test, d.pn, 7);
		KUNIT_EXPECT_PTR_EQ(test, d.drv, (void *)f->place.drv);
		kfree_skb(f->skb);
	}
}

static void qoff_harm_decrypted(struct qoff_tx_fixture *f)
{
#ifdef CONFIG_SKB_DECRYPTED
	f->skb->decrypted = 0;
#endif
}

static void qoff_harm_csum_start(struct qoff_tx_fixture *f)
{
	f->skb->csum_start--;
}

static void qoff_harm_csum_done(struct qoff_tx_fixture *f)
{
	f->skb->ip_summed = CHECKSUM_NONE;
}

static void qoff_harm_fcoe(struct qoff_tx_fixture *f)
{
	skb_shinfo(f->skb)->gso_type |= SKB_GSO_FCOE;
}

static void qoff_harm_gso(struct qoff_tx_fixture *f)
{
	skb_gso_reset(f->skb);
}

static void qoff_harm_ulen(struct qoff_tx_fixture *f)
{
	udp_hdr(f->skb)->len = htons(8 + f->t->total);
}

static void qoff_harm_trim(struct qoff_tx_fixture *f)
{
	skb_trim(f->skb, f->skb->len - 1);
}

static void qoff_harm_longer(struct qoff_tx_fixture *f)
{
	skb_put_zero(f->skb, 1);
}

static void qoff_harm_encap(struct qoff_tx_fixture *f)
{
	f->skb->encapsulation = 1;
}

static void qoff_harm_proto(struct qoff_tx_fixture *f)
{
	ip_hdr(f->skb)->protocol = IPPROTO_TCP;
}

static void qoff_harm_fragment(struct qoff_tx_fixture *f)
{
	ip_hdr(f->skb)->frag_off = htons(IP_MF);
}

static void qoff_harm_version(struct qoff_tx_fixture *f)
{
	ip_hdr(f->skb)->version = 5;
}

static void qoff_harm_device(struct qoff_tx_fixture *f)
{
	f->t->qd = &f->other;
}

static void qoff_harm_dead(struct qoff_tx_fixture *f)
{
	f->place.dead = true;
}

static void qoff_harm_reset(struct qoff_tx_fixture *f)
{
	f->qd.gen++;
}

static void qoff_harm_slot(struct qoff_tx_fixture *f)
{
	f->place.slot[1] = NULL;
}

static void qoff_harm_revoked(struct qoff_tx_fixture *f)
{
	f->key.revoked = true;
}

static void qoff_harm_table(struct qoff_tx_fixture *f)
{
	skb_zcopy_clear(f->skb, true);
}

static void qoff_test_harm(struct kunit *test)
{
	static const struct {
		void (*harm)(struct qoff_tx_fixture *f);
		int want;
	} t[] = {
		{ qoff_harm_decrypted, -EINVAL },
		{ qoff_harm_csum_start, -EINVAL },
		{ qoff_harm_csum_done, -EINVAL },
		{ qoff_harm_fcoe, -EINVAL },
		{ qoff_harm_gso, -EINVAL },
		{ qoff_harm_ulen, -EINVAL },
		{ qoff_harm_trim, -EINVAL },
		{ qoff_harm_longer, -EINVAL },
		{ qoff_harm_encap, -EINVAL },
		{ qoff_harm_proto, -EINVAL },
		{ qoff_harm_fragment, -EINVAL },
		{ qoff_harm_version, -EINVAL },
		{ qoff_harm_device, -EINVAL },
		{ qoff_harm_dead, -ESTALE },
		{ qoff_harm_reset, -ESTALE },
		{ qoff_harm_slot, -ESTALE },
		{ qoff_harm_revoked, -ESTALE },
		{ qoff_harm_table, -ENOENT },
	};
	struct qoff_tx_fixture *f;
	struct qoff_tx_desc d;
	unsigned int i;
	long n;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		f = qoff_fixture(test, false, QOFF_TEST_SEGS);
		qoff_test_pass_hook(f);
		t[i].harm(f);
		KUNIT_EXPECT_EQ_MSG(test, qoff_tx_desc(&f->qd, f->skb, &d),
				    t[i].want, "row %u", i);
		n = atomic_long_read(&f->stats.v[QOFF_CNT_TX_DROP_GUARD]) +
		    atomic_long_read(&f->stats.v[QOFF_CNT_TX_DROP_KEY]);
		KUNIT_EXPECT_GT_MSG(test, n, 0, "row %u is not counted", i);
		kfree_skb(f->skb);
	}
}

/* A single datagram that lost CHECKSUM_NONE would get a checksum in the stack */
static void qoff_test_harm_single(struct kunit *test)
{
	struct qoff_tx_fixture *f = qoff_fixture(test, false, 1);
	struct qoff_tx_desc d;

	KUNIT_EXPECT_TRUE(test, f->skb->ip_summed == CHECKSUM_NONE);
	f->skb->ip_summed = CHECKSUM_PARTIAL;
	KUNIT_EXPECT_EQ(test, qoff_tx_desc(&f->qd, f->skb, &d), -EINVAL);
	kfree_skb(f->skb);
}

static struct kunit_case qoff_tx_cases[] = {
	KUNIT_CASE(qoff_test_guards_set),
	KUNIT_CASE(qoff_test_desc),
	KUNIT_CASE(qoff_test_harm),
	KUNIT_CASE(qoff_test_harm_single),
	{}
};

static struct kunit_suite qoff_tx_suite = {
	.name = "quic_offload_tx",
	.test_cases = qoff_tx_cases,
};

kunit_test_suite(qoff_tx_suite);
