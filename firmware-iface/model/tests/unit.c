// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests: pure parts, commands, data path. */
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <net/ethernet.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness.h"
#include "../bf.h"
#include "../json.h"
#include "../mkey.h"
#include "../pci.h"
#include "../pkt.h"
#include "../rss.h"

/* --- checksums and parsing --- */

static u16 csum_slow(const u8 *p, u32 len)
{
	u32 s = 0, i;

	for (i = 0; i < len; i++)
		s += i & 1 ? p[i] : p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

static void test_csum(void **state)
{
	u8 buf[300], dst[300];
	u32 i, len, off;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 37 + 11;
	for (len = 0; len < 280; len++)
		for (off = 0; off < 8; off++) {
			assert_int_equal(nm_csum(buf + off, len),
					 csum_slow(buf + off, len));
			memset(dst, 0xa5, sizeof(dst));
			assert_int_equal(nm_csum_copy(dst + 1, buf + off, len),
					 csum_slow(buf + off, len));
			assert_memory_equal(dst + 1, buf + off, len);
			assert_int_equal(dst[0], 0xa5);
			assert_int_equal(dst[len + 1], 0xa5);
		}
	memset(buf, 0xff, sizeof(buf));
	assert_int_equal(nm_csum(buf, 64), 0xffff);
}

static void test_parse(void **state)
{
	u8 f[256] = { };
	struct nm_pkt p;
	u32 len;

	len = h_frame(f, 4, NM_IP_UDP, 40, 1, 2);
	nm_pkt_parse(&p, f, len);
	assert_int_equal(p.ip_ver, 4);
	assert_int_equal(p.l4_off, 34);
	assert_int_equal(p.ip_end, len);
	/* padding is not the IP packet's */
	nm_pkt_parse(&p, f, len + 10);
	assert_int_equal(p.ip_end, len);
	/* cut short: no L4 beyond the end */
	nm_pkt_parse(&p, f, 40);
	assert_true(p.bad_len);
	assert_int_equal(p.l4_off, 0);
	for (len = 0; len < 60; len++)
		nm_pkt_parse(&p, f, len);
	len = h_frame(f, 6, NM_IP_TCP, 10, 1, 2);
	nm_pkt_parse(&p, f, len);
	assert_int_equal(p.ip_ver, 6);
	assert_int_equal(p.l4_off, 54);
}

static void test_csum_set(void **state)
{
	static const int vers[] = { 4, 6 };
	static const u8 protos[] = { NM_IP_UDP, NM_IP_TCP };
	u8 f[2048] = { };
	struct nm_pkt p;
	u32 v, t, n, len;

	for (v = 0; v < 2; v++)
		for (t = 0; t < 2; t++)
			for (n = 0; n < 130; n++) {
				len = h_frame(f, vers[v], protos[t], n, 5, 6);
				nm_pkt_parse(&p, f, len);
				assert_true(n == 0xffff || !nm_csum_l4_ok(&p) ||
					    protos[t] == NM_IP_UDP);
				nm_csum_set_ip(&p, f);
				nm_csum_set_l4(&p, f);
				assert_true(nm_csum_ip_ok(&p));
				assert_true(nm_csum_l4_ok(&p));
				f[len - 1] ^= 1;
				assert_false(nm_csum_l4_ok(&p));
			}
}

/* --- RSS: the vectors of Microsoft's "Verifying the RSS Hash Calculation" --- */

static const u8 ms_key[NM_RSS_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
	0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
	0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
	0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

static const struct {
	u32 src, dst;
	u16 sport, dport;
	u32 ip_hash, tcp_hash;
} ms_v4[] = {
	{ 0x420995bb, 0xa18e6450, 2794, 1766, 0x323e8fc2, 0x51ccc178 },
	{ 0xc75c6f02, 0x41458c53, 14230, 4739, 0xd718262a, 0xc626b0ea },
	{ 0x1813c65f, 0x0c16cfb8, 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
	{ 0x261bcd1e, 0xd18ea306, 48228, 2217, 0x82989176, 0xafc7327f },
	{ 0x9927a3bf, 0xcabc7f02, 44251, 1303, 0x5d1809c5, 0x10e828a2 },
};

static void test_toeplitz(void **state)
{
	struct nm_tir tir = { .fn = NM_RSS_TOEPLITZ };
	u8 f[128] = { }, type;
	struct nm_pkt p;
	u32 i, len;

	tir.table = malloc(NM_RSS_INPUT * sizeof(*tir.table));
	memcpy(tir.key, ms_key, sizeof(ms_key));
	nm_toeplitz_init(&tir);
	for (i = 0; i < ARRAY_SIZE(ms_v4); i++) {
		len = h_frame(f, 4, NM_IP_TCP, 0, ms_v4[i].sport, ms_v4[i].dport);
		nm_wr32(f + 26, ms_v4[i].src);
		nm_wr32(f + 30, ms_v4[i].dst);
		nm_pkt_parse(&p, f, len);
		tir.fields = 3;
		assert_int_equal(nm_rss_hash(&tir, &p, &type), ms_v4[i].ip_hash);
		assert_int_equal(type, NM_CQE_RSS_IPV4);
		tir.fields = 15;
		assert_int_equal(nm_rss_hash(&tir, &p, &type), ms_v4[i].tcp_hash);
		assert_int_equal(type, NM_CQE_RSS_IPV4 | NM_CQE_RSS_TCP);
		/* symmetric: both directions of a flow alike */
		tir.symmetric = true;
		len = nm_rss_hash(&tir, &p, &type);
		h_frame(f, 4, NM_IP_TCP, 0, ms_v4[i].dport, ms_v4[i].sport);
		nm_wr32(f + 26, ms_v4[i].dst);
		nm_wr32(f + 30, ms_v4[i].src);
		assert_int_equal(nm_rss_hash(&tir, &p, &type), len);
		tir.symmetric = false;
	}
	free(tir.table);
}

/* --- JSON --- */

static void test_json(void **state)
{
	static const char *const bad[] = {
		"", "{", "{\"a\":}", "[1,]", "\"x", "{\"a\" 1}", "nul", "1 2",
		"{\"a\":1}}", "\"\\x\"", "\"\\u12\"", "--1", "[[[[[[[[[[[[[[[[[1]",
	};
	static const char good[] =
		"{\"a\": [1, 2.5], \"b\":\"x\\n\\u0041\", \"c\":true}";
	struct nm_json *j;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(nm_json_parse(bad[i], strlen(bad[i])));
	j = nm_json_parse(good, strlen(good));
	assert_non_null(j);
	assert_string_equal(nm_json_str(j, "b", ""), "x\nA");
	assert_true(nm_json_num(j, "c", 0) == 1);
	assert_true(nm_json_get(j, "a")->child->next->num == 2.5);
	assert_true(nm_json_num(j, "missing", 7) == 7);
	nm_json_free(j);
}

/* --- DMA ranges --- */

static void test_dma(void **state)
{
	struct nm_dma d = { };
	u8 *mem = aligned_alloc(4096, 16384);

	assert_int_equal(nm_dma_map_host(&d, 0x1000, 0x1800, mem, 3), -22);
	assert_int_equal(nm_dma_map_host(&d, 0x1001, 0x1000, mem, 3), -22);
	assert_int_equal(nm_dma_map_host(&d, ~0xfffull, 0x2000, mem, 3), -22);
	assert_int_equal(nm_dma_map_host(&d, 0x100000000ull, 0x2000, mem, 3), 0);
	assert_int_equal(nm_dma_map_host(&d, 0x100002000ull, 0x1000, mem + 0x2000, 1), 0);
	assert_int_equal(nm_dma_map_host(&d, 0x100001000ull, 0x1000, mem, 3), -17);
	assert_ptr_equal(nm_dma_ptr(&d, 0x100001ff8ull, 8, 3), mem + 0x1ff8);
	assert_null(nm_dma_ptr(&d, 0x100001ff8ull, 9, 1));	/* two ranges */
	assert_null(nm_dma_ptr(&d, 0x100002000ull, 8, 2));	/* read only */
	assert_null(nm_dma_ptr(&d, 0xffffffffull, 1, 1));
	assert_null(nm_dma_ptr(&d, 0x100003000ull, 1, 1));
	assert_int_equal(nm_dma_unmap(&d, 0x100001000ull, 0x1000), -22);	/* a cut */
	assert_int_equal(nm_dma_unmap(&d, 0x200000000ull, 0x1000), -2);
	assert_int_equal(nm_dma_unmap(&d, 0x100000000ull, 0x3000), 0);
	assert_int_equal(d.nr, 0);
	nm_dma_unmap_all(&d);
	free(mem);
}

/* --- command interface --- */

static void test_table_sorted(void **state)
{
	u32 op, n = 0;

	for (op = 0; op < 0x10000; op++)
		if (nm_cmd_desc(op)) {
			assert_int_equal(nm_cmd_desc(op)->opcode, op);
			n++;
		}
	assert_true(n > 90);
	assert_non_null(nm_cmd_desc(MLX5_CMD_OP_SYNC_CRYPTO));
	assert_non_null(nm_cmd_desc(MLX5_CMD_OP_QUERY_HCA_CAP));
}

static void test_cmd_states(void **state)
{
	u8 in[64] = { }, out[16];
	struct h h;

	h_open(&h, NULL);
	nm_wr16(in, MLX5_CMD_OP_ALLOC_PD);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_BAD_SYS_STATE);
	nm_wr16(in, MLX5_CMD_OP_INIT_HCA);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_BAD_SYS_STATE);
	nm_wr16(in, MLX5_CMD_OP_ENABLE_HCA);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_OK);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_BAD_SYS_STATE);
	nm_wr16(in, MLX5_CMD_OP_INIT_HCA);	/* without pages */
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_BAD_RES_STATE);
	nm_wr16(in, 0x7ff);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_BAD_OP);
	nm_wr16(in, MLX5_CMD_OP_DISABLE_HCA);
	assert_int_equal(H_CMD(&h.f[0], in, out), NM_ST_OK);
	h_close(&h);
}

static void test_cmd_lengths(void **state)
{
	u8 in[NM_BYTES(create_cq_in)] = { }, out[64];
	struct h h;
	u32 op, n;

	h_open(&h, NULL);
	h_init(&h.f[0]);
	for (op = 0; op < 0x10000; op++) {
		const struct nm_cmd_desc *d = nm_cmd_desc(op);

		if (!d || d->in_min > sizeof(in))
			continue;
		nm_wr16(in, op);
		for (n = 8; n < d->in_min; n++)
			assert_int_equal(h_cmd(&h.f[0], in, n, out, 16),
					 NM_ST_BAD_INP_LEN);
	}
	h_close(&h);
}

static void test_cmdq_delivery(void **state)
{
	u8 in[64] = { }, out[256];
	struct nm_cmd_entry *e;
	struct h_fn *f;
	struct h h;
	u8 reg[4];

	h_open(&h, NULL);
	f = &h.f[0];
	nm_wr16(in, MLX5_CMD_OP_QUERY_ISSI);
	assert_int_equal(h_cmdq(f, 3, in, 16, out, 112), 0);
	assert_int_equal(NM_GET(query_issi_out, out, supported_issi_dw0), 3);
	e = (struct nm_cmd_entry *)h_ptr(f, f->cmdq) + 3;
	nm_wr32(reg, 1u << 3);
#define TRY(stmt, want) do {						\
	struct nm_cmd_entry save = *e;					\
	stmt;								\
	e->status_own = 1;						\
	nm_bar_write(f->fn, NM_REG_CMD_DOORBELL, reg, 4);		\
	h_run(&h);							\
	assert_int_equal(e->status_own, (want) << 1);			\
	*e = save;							\
} while (0)
	TRY(e->type = 1, NM_DELIV_CMD_TYPE);
	TRY(e->in_len = htobe32(4), NM_DELIV_IN_LENGTH);
	TRY(e->in_len = htobe32(1u << 30), NM_DELIV_IN_LENGTH);
	TRY(e->out_len = htobe32(1u << 30), NM_DELIV_OUT_LENGTH);
	TRY(e->out_ptr = 0, NM_DELIV_OUT_PTR_ALIGN);
	TRY(e->out_ptr = htobe64(H_MEM_BASE + 3), NM_DELIV_OUT_PTR_ALIGN);
	TRY(e->out_ptr = htobe64(0x1000), NM_DELIV_FW);
	TRY(e->token ^= 1, NM_DELIV_TOKEN);
	TRY(e->in_len = htobe32(64), NM_DELIV_IN_PTR_ALIGN);
	TRY(((struct nm_mbox *)h_ptr(f, be64toh(e->out_ptr)))->block_num = 5,
	    NM_DELIV_BLOCK_NUM);
	/* a doorbell for a slot that software owns does nothing */
	e->status_own = 0x20;
	nm_bar_write(f->fn, NM_REG_CMD_DOORBELL, reg, 4);
	h_run(&h);
	assert_int_equal(e->status_own, 0x20);
	h_close(&h);
}

static u32 uctx_new(struct h_fn *f)
{
	u8 in[NM_BYTES(create_uctx_in)] = { }, out[16];

	nm_wr16(in, MLX5_CMD_OP_CREATE_UCTX);
	assert_int_equal(H_CMD(f, in, out), 0);
	return NM_GET(create_uctx_out, out, uid);
}

static void test_ownership(void **state)
{
	u8 in[16] = { }, out[16];
	u32 a, b, pd_a, pd_b, pd_k;
	struct h_fn *f;
	struct h h;

	h_open(&h, NULL);
	f = &h.f[0];
	h_init(f);
	a = uctx_new(f);
	b = uctx_new(f);
	nm_wr16(in, MLX5_CMD_OP_ALLOC_PD);
	nm_wr16(in + 2, a);
	assert_int_equal(H_CMD(f, in, out), 0);
	pd_a = NM_GET(alloc_pd_out, out, pd);
	nm_wr16(in + 2, b);
	assert_int_equal(H_CMD(f, in, out), 0);
	pd_b = NM_GET(alloc_pd_out, out, pd);
	nm_wr16(in + 2, 0);
	assert_int_equal(H_CMD(f, in, out), 0);
	pd_k = NM_GET(alloc_pd_out, out, pd);
	/* not b's, and not the kernel's */
	nm_wr16(in, MLX5_CMD_OP_DEALLOC_PD);
	nm_wr16(in + 2, b);
	nm_wr32(in + 8, pd_a);
	assert_int_equal(H_CMD(f, in, out), NM_ST_BAD_RES);
	nm_wr32(in + 8, pd_k);
	assert_int_equal(H_CMD(f, in, out), NM_ST_BAD_RES);
	/* closing a's context takes a's only */
	memset(in, 0, sizeof(in));
	nm_wr16(in, MLX5_CMD_OP_DESTROY_UCTX);
	nm_wr16(in + 10, a);
	assert_int_equal(H_CMD(f, in, out), 0);
	assert_null(nm_obj_lookup(f->fn, NM_OBJ_PD, pd_a));
	assert_non_null(nm_obj_lookup(f->fn, NM_OBJ_PD, pd_b));
	assert_non_null(nm_obj_lookup(f->fn, NM_OBJ_PD, pd_k));
	/* a uid without a context is nobody */
	nm_wr16(in, MLX5_CMD_OP_ALLOC_PD);
	nm_wr16(in + 2, a);
	assert_int_equal(H_CMD(f, in, out), NM_ST_BAD_RES);
	h_close(&h);
}

static u8 destroy(struct h_fn *f, u16 op, u32 id)
{
	u8 in[64] = { }, out[16];

	nm_wr16(in, op);
	nm_wr32(in + 8, id);
	return h_cmd(f, in, 64, out, 16);
}

static void test_busy(void **state)
{
	struct h_fn *f;
	struct h h;

	h_open(&h, NULL);
	f = &h.f[0];
	h_init(f);
	h_queues(f, 4, 2048);
	assert_int_equal(destroy(f, MLX5_CMD_OP_DESTROY_CQ, f->cqn_tx), NM_ST_RES_BUSY);
	assert_int_equal(destroy(f, MLX5_CMD_OP_DESTROY_EQ, f->eqn), NM_ST_RES_BUSY);
	assert_int_equal(destroy(f, MLX5_CMD_OP_DEALLOC_PD, f->pd), NM_ST_RES_BUSY);
	assert_int_equal(destroy(f, MLX5_CMD_OP_DESTROY_RQ, f->rqn), NM_ST_RES_BUSY);
	assert_int_equal(destroy(f, MLX5_CMD_OP_DESTROY_TIR, f->tirn), NM_ST_RES_BUSY);
	assert_int_equal(destroy(f, MLX5_CMD_OP_DESTROY_SQ, f->sqn), 0);
	assert_int_equal(destroy(f, MLX5_CMD_OP_DESTROY_SQ, f->sqn), NM_ST_BAD_RES);
	assert_int_equal(destroy(f, MLX5_CMD_OP_DESTROY_CQ, f->cqn_tx), 0);
	h_close(&h);
}

/* --- general objects: the DEK --- */

static void test_dek(void **state)
{
	u8 in[NM_BYTES(create_encryption_key_in)] = { }, out[1024];
	void *obj = NM_PTR(create_encryption_key_in, in, encryption_key_object);
	u8 q[16] = { };
	struct h_fn *f;
	struct h h;
	u32 id, i;

	h_open(&h, NULL);
	f = &h.f[0];
	h_init(f);
	nm_wr16(in, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	nm_wr16(in + 6, MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY);
	NM_SET(encryption_key_obj, obj, pd, f->pd);
	assert_int_equal(h_cmd(f, in, sizeof(in), out, 16), NM_ST_BAD_PARAM);
	NM_SET(encryption_key_obj, obj, key_purpose, 6);
	memset(NM_PTR(encryption_key_obj, obj, key), 0xa5, 32);
	assert_int_equal(h_cmd(f, in, sizeof(in) - 1, out, 16), NM_ST_BAD_INP_LEN);
	NM_SET(general_obj_in_cmd_hdr, in, op_param.create.log_obj_range, 3);
	assert_int_equal(h_cmd(f, in, sizeof(in), out, 16), 0);
	id = NM_GET(general_obj_out_cmd_hdr, out, obj_id);
	assert_int_equal(nm_obj_count(f->fn, NM_OBJ_GEN), 8);
	nm_wr16(q, MLX5_CMD_OP_QUERY_GENERAL_OBJECT);
	nm_wr16(q + 6, MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY);
	nm_wr32(q + 8, id + 7);
	assert_int_equal(h_cmd(f, q, 16, out, sizeof(out)), 0);
	for (i = 0; i < sizeof(out); i++)
		assert_int_not_equal(out[i], 0xa5);	/* never the key */
	nm_wr16(q + 6, 0x13);
	assert_int_equal(h_cmd(f, q, 16, out, sizeof(out)), NM_ST_BAD_PARAM);
	nm_wr16(q + 6, MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY);
	nm_wr16(q, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	assert_int_equal(h_cmd(f, q, 16, out, 16), 0);
	assert_int_equal(h_cmd(f, q, 16, out, 16), NM_ST_BAD_RES);
	h_close(&h);
}

/* --- data path --- */

struct rig {
	struct h h;
	struct h_fn *a, *b;
	u64 buf;
};

static int rig_setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	h_open(&r->h, NULL);
	r->a = &r->h.f[0];
	r->b = &r->h.f[1];
	h_init(r->a);
	h_init(r->b);
	h_queues(r->a, 8, 2048);
	h_queues(r->b, 8, 2048);
	h_link_up(&r->h);
	r->buf = h_alloc(r->a, 65536 * 2, 4096);
	*state = r;
	return 0;
}

static int rig_teardown(void **state)
{
	struct rig *r = *state;

	h_close(&r->h);
	free(r);
	return 0;
}

#define CSUM	(NM_ETH_L3_CSUM | NM_ETH_L4_CSUM)

static void test_send(void **state)
{
	struct rig *r = *state;
	struct nm_cqe *c;
	struct nm_pkt p;
	u32 len, n;

	for (n = 1; n < 1400; n += n < 20 ? 1 : 61) {
		len = h_frame(h_ptr(r->a, r->buf), 4, NM_IP_UDP, n, 9, 10);
		h_post(r->a, r->buf, len, CSUM, 14, 0, true);
		h_doorbell(r->a);
		h_run(&r->h);
		c = h_poll_tx(r->a);
		assert_non_null(c);
		assert_int_equal(c->op_own >> 4, NM_CQE_REQ);
		c = h_poll_rx(r->b);
		assert_non_null(c);
		if (len < 60)
			len = 60;	/* padded */
		assert_int_equal(be32toh(c->byte_cnt), len);
		assert_int_equal(c->hds_ip_ext, 7);
		assert_int_equal(c->l4_l3_hdr_type, NM_CQE_L4_UDP | NM_CQE_L3_IPV4);
		nm_pkt_parse(&p, h_rx_data(r->b, c), len);
		assert_true(nm_csum_ip_ok(&p) && nm_csum_l4_ok(&p));
		assert_int_equal(be16toh(c->check_sum),
				 csum_slow(p.data + 14, len - 14));
		assert_memory_equal(p.data + 42, h_ptr(r->a, r->buf + 42), n);
		h_repost(r->b);
	}
	assert_null(h_poll_rx(r->b));
}

static void lso_case(struct rig *r, int ver, u8 proto, u32 payload, u32 mss)
{
	u32 hdr = 14 + (ver == 4 ? 20 : 40) + (proto == 6 ? 20 : 8), len, off;
	u8 *src = h_ptr(r->a, r->buf);
	struct nm_cqe *c;
	struct nm_pkt p;
	u32 i;

	len = h_frame(src, ver, proto, payload, 1, 2);
	h_post(r->a, r->buf, len, CSUM, hdr, mss, true);
	h_doorbell(r->a);
	h_run(&r->h);
	c = h_poll_tx(r->a);
	assert_int_equal(c->op_own >> 4, NM_CQE_REQ);
	for (off = 0, i = 0; off < payload; off += mss, i++) {
		u32 part = payload - off < mss ? payload - off : mss;
		const u8 *d, *l4;

		c = h_poll_rx(r->b);
		assert_non_null(c);
		assert_int_equal(be32toh(c->byte_cnt),
				 hdr + part < 60 ? 60 : hdr + part);
		assert_int_equal(c->hds_ip_ext, 7);
		d = h_rx_data(r->b, c);
		nm_pkt_parse(&p, d, be32toh(c->byte_cnt));
		assert_int_equal(p.ip_end, hdr + part);
		assert_memory_equal(d + hdr, src + hdr + off, part);
		l4 = d + p.l4_off;
		if (ver == 4)
			assert_int_equal(nm_rd16(d + 18), 7 + i);
		if (proto == 6) {
			assert_int_equal(nm_rd32(l4 + 4), 1000 + off);
			assert_int_equal(l4[13], off + part == payload ? 0x18 : 0x10);
		} else {
			assert_int_equal(nm_rd16(l4 + 4), 8 + part);
		}
		h_repost(r->b);
	}
	assert_null(h_poll_rx(r->b));
}

static void test_lso(void **state)
{
	static const u32 mss[] = { 100, 536, 1200, 1440 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mss); i++) {
		lso_case(*state, 4, 6, 20000, mss[i]);
		lso_case(*state, 6, 6, 12345, mss[i]);
		lso_case(*state, 4, 17, mss[i] * 7 + 1, mss[i]);
		lso_case(*state, 6, 17, mss[i] * 5, mss[i]);
		lso_case(*state, 4, 17, 1, mss[i]);
	}
}

static void test_no_buffer(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2), i, n = 0;

	for (i = 0; i < 300; i++) {
		h_post(r->a, r->buf, len, CSUM, 0, 0, false);
		h_doorbell(r->a);
		h_run(&r->h);
	}
	while (h_poll_rx(r->b))
		n++;
	assert_int_equal(n, 256);
	assert_int_equal(r->b->fn->cnt[NM_CNT_rx_no_buffer], 44);
}

/* What the guest gets wrong stops its queue, and nothing else. */
static void bad_wqe(struct rig *r, u8 synd)
{
	struct nm_err_cqe *c;

	h_doorbell(r->a);
	h_run(&r->h);
	c = (struct nm_err_cqe *)h_poll_tx(r->a);
	assert_non_null(c);
	assert_int_equal(c->op_own >> 4, NM_CQE_REQ_ERR);
	assert_int_equal(c->syndrome, synd);
}

static struct nm_wqe_ctrl *last_wqe(struct rig *r, u32 bbs)
{
	return h_ptr(r->a, r->a->sq + ((r->a->pi_tx - bbs) & 0x1ff) * 64ull);
}

static void test_bad_opcode(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2), i;

	h_post(r->a, r->buf, len, 0, 0, 0, true);
	last_wqe(r, 1)->opmod_idx_opcode = htobe32(0x77);
	for (i = 0; i < 3; i++)
		h_post(r->a, r->buf, len, 0, 0, 0, false);
	bad_wqe(r, NM_SYND_LOCAL_QP_OP);
	/* the others are flushed, each with a completion */
	for (i = 0; i < 3; i++)
		bad_wqe(r, NM_SYND_FLUSHED);
	assert_null(h_poll_tx(r->a));
	assert_null(h_poll_rx(r->b));
}

static void test_bad_key(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2);
	struct nm_wqe_data *d;

	h_post(r->a, r->buf, len, 0, 0, 0, true);
	d = (void *)((u8 *)last_wqe(r, 1) + 32);
	d->lkey = htobe32(r->a->mkey | 1);
	bad_wqe(r, NM_SYND_LOCAL_PROT);
}

static void test_bad_addr(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2);
	struct nm_wqe_data *d;

	h_post(r->a, r->buf, len, 0, 0, 0, true);
	d = (void *)((u8 *)last_wqe(r, 1) + 32);
	d->addr = htobe64(0x1000);
	bad_wqe(r, NM_SYND_LOCAL_PROT);
	assert_true(r->a->fn->cnt[NM_CNT_dma_faults] > 0);
}

static void test_bad_length(void **state)
{
	struct rig *r = *state;
	struct nm_wqe_data *d;

	h_post(r->a, r->buf, 100, 0, 0, 0, true);
	d = (void *)((u8 *)last_wqe(r, 1) + 32);
	d->byte_count = htobe32(0x7fffffff);
	bad_wqe(r, NM_SYND_LOCAL_LENGTH);
}

static void test_rx_bad_key(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2);
	struct nm_wqe_data *d = h_ptr(r->b, r->b->rq);
	struct nm_cqe *c;
	u32 n = 0;

	d->lkey = htobe32(0x12345600);
	h_post(r->a, r->buf, len, 0, 0, 0, true);
	h_doorbell(r->a);
	h_run(&r->h);
	c = h_poll_rx(r->b);
	assert_int_equal(c->op_own >> 4, NM_CQE_RESP_ERR);
	assert_int_equal(((struct nm_err_cqe *)c)->syndrome, NM_SYND_LOCAL_PROT);
	while ((c = h_poll_rx(r->b))) {
		assert_int_equal(((struct nm_err_cqe *)c)->syndrome, NM_SYND_FLUSHED);
		n++;
	}
	assert_int_equal(n, 255);
}

static void test_cq_overrun(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2), i;

	/* 512 entries, none taken; every send wants one */
	for (i = 0; i < 600; i++) {
		h_post(r->a, r->buf, len, 0, 0, 0, true);
		h_doorbell(r->a);
		h_run(&r->h);
	}
	assert_int_equal(r->a->fn->cnt[NM_CNT_cq_overruns], 1);
}

/* A doorbell from a UAR page that is not the queue's does nothing. */
static void test_foreign_uar(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2), uar = r->a->uar;

	h_post(r->a, r->buf, len, 0, 0, 0, true);
	r->a->uar++;
	h_doorbell(r->a);
	r->a->uar = uar;
	h_run(&r->h);
	assert_null(h_poll_tx(r->a));
	assert_int_equal(r->a->fn->cnt[NM_CNT_db_bad], 1);
	h_doorbell(r->a);
	h_run(&r->h);
	assert_non_null(h_poll_tx(r->a));
}

static void arm(struct h_fn *f, u32 cqn, u32 ci, u32 sn)
{
	u8 db[8];

	nm_wr32(db, sn << 28 | (ci & 0xffffff));
	nm_wr32(db + 4, cqn);
	nm_bar_write(f->fn, f->uar * (u64)NM_PAGE_SIZE + NM_UAR_CQ_ARM, db, 8);
}

static void arm_eq(struct h_fn *f, u32 ci)
{
	u8 db[4];

	nm_wr32(db, f->eqn << 24 | ci);
	nm_bar_write(f->fn, f->uar * (u64)NM_PAGE_SIZE + NM_UAR_EQ_ARM, db, 4);
}

static void test_arming(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2), i;

	arm_eq(r->a, 0);
	arm(r->a, r->a->cqn_tx, 0, 1);
	for (i = 0; i < 4; i++) {
		h_post(r->a, r->buf, len, 0, 0, 0, true);
		h_doorbell(r->a);
		h_run(&r->h);
	}
	/* one event and one interrupt an arming */
	assert_int_equal(r->a->irqs[1], 1);
	assert_int_equal(r->a->fn->cnt[NM_CNT_eqes], 1);
	/* armed behind: the event comes at once; the EQ is not armed */
	arm(r->a, r->a->cqn_tx, 2, 2);
	h_run(&r->h);
	assert_int_equal(r->a->fn->cnt[NM_CNT_eqes], 2);
	assert_int_equal(r->a->irqs[1], 1);
	arm_eq(r->a, 1);
	h_run(&r->h);
	assert_int_equal(r->a->irqs[1], 2);
	arm_eq(r->a, 2);
	arm(r->a, r->a->cqn_tx, 4, 3);
	h_run(&r->h);
	assert_int_equal(r->a->irqs[1], 2);
}

static void test_reset(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2);
	unsigned int t;

	h_post(r->a, r->buf, len, 0, 0, 0, true);
	h_doorbell(r->a);
	nm_fn_reset(r->a->fn);
	h_run(&r->h);
	for (t = 0; t < NM_OBJ_MAX; t++)
		assert_int_equal(nm_obj_count(r->a->fn, t), 0);
	assert_null(h_poll_rx(r->b));
	assert_int_equal(r->a->fn->state, NM_FN_RESET);
	/* the memory is the same, and the function comes up again */
	h_init(r->a);
}

static void arm_fault(struct h_fn *f, u8 kind, u8 status, u32 skip)
{
	f->fn->faults.cmd[0] = (struct nm_cmd_fault){
		.kind = kind, .status = status, .skip = skip, .count = 1,
		.opcode = MLX5_CMD_OP_ALLOC_PD,
	};
}

static void test_cmd_faults(void **state)
{
	struct rig *r = *state;
	struct h_fn *f = r->a;
	u8 in[16] = { }, out[16];

	nm_wr16(in, MLX5_CMD_OP_ALLOC_PD);
	arm_fault(f, NM_CMD_FAULT_STATUS, NM_ST_LIM, 1);
	assert_int_equal(h_cmdq(f, 0, in, 16, out, 16), 0);	/* skipped */
	assert_int_equal(h_cmdq(f, 0, in, 16, out, 16), NM_ST_LIM);
	assert_int_equal(h_cmdq(f, 0, in, 16, out, 16), 0);	/* once */
	arm_fault(f, NM_CMD_FAULT_SILENT, 0, 0);
	assert_int_equal(h_cmdq(f, 0, in, 16, out, 16), ~0u);
	arm_fault(f, NM_CMD_FAULT_DELIVERY, NM_DELIV_TOKEN, 0);
	assert_int_equal(h_cmdq(f, 0, in, 16, out, 16) >> 8, NM_DELIV_TOKEN);
	arm_fault(f, NM_CMD_FAULT_CORRUPT, 0, 0);
	assert_int_equal(h_cmdq(f, 0, in, 16, out, 16), 0);
	assert_int_equal(out[15], 0xff);
	nm_fn_fatal(f->fn, 7, true);
	assert_int_equal(h_cmdq(f, 0, in, 16, out, 16), ~0u);
	nm_bar_read(f->fn, NM_REG_HEALTH + 0x3d, out, 1);
	assert_int_equal(out[0], 7);
	nm_fn_reset(f->fn);
	nm_bar_read(f->fn, NM_REG_HEALTH + 0x3d, out, 1);
	assert_int_equal(out[0], 0);
}

static u32 reg_read(struct h_fn *f, u32 off)
{
	u8 b[4];

	assert_int_equal(nm_bar_read(f->fn, off, b, sizeof(b)), 0);
	return nm_rd32(b);
}

static void reg_write(struct h_fn *f, u32 off, u32 v)
{
	u8 b[4];

	nm_wr32(b, v);
	assert_int_equal(nm_bar_write(f->fn, off, b, sizeof(b)), 0);
}

/* A fault holds the command back; a doorbell meanwhile changes nothing. */
static void test_cmd_delay(void **state)
{
	struct rig *r = *state;
	struct h_fn *f = r->a;
	struct nm_cmd_entry *e;
	u8 in[16] = { }, out[16];
	u64 begin = nm_clock_ns();

	nm_wr16(in, MLX5_CMD_OP_ALLOC_PD);
	f->fn->faults.cmd[0] = (struct nm_cmd_fault){
		.kind = NM_CMD_FAULT_DELAY, .count = 1, .delay_ms = 20,
	};
	assert_int_equal(h_cmdq(f, 3, in, 16, out, 16), ~0u);
	e = (struct nm_cmd_entry *)h_ptr(f, f->cmdq) + 3;
	assert_int_equal(nm_cmd_next(f->fn), f->fn->cmd_due[3]);
	while (e->status_own & 1) {
		reg_write(f, NM_REG_CMD_DOORBELL, BIT(3));
		nm_engine_poll(r->h.m);
		assert_true(nm_clock_ns() - begin < 20000000000ull);
	}
	assert_true(nm_clock_ns() - begin >= 20000000);
	assert_int_equal(e->out[0], 0);
	assert_int_equal(f->fn->faults.hits, 1);
	assert_int_equal(nm_fault_armed(&f->fn->faults), 0);
}

/* As the driver does it: syndrome, 7 into the NIC interface, 1 out of it, then 0. */
static void test_fw_reset(void **state)
{
	struct rig *r = *state;
	struct h_fn *f = r->a;
	u32 lo = reg_read(f, NM_REG_CMDQ_LO), saw_reset = 0, saw_init = 0;
	u64 end = nm_clock_ns() + 20000000000ull;

	assert_int_equal(lo >> 8 & 7, 0);
	nm_fn_fatal(f->fn, 1, true);
	assert_int_equal(reg_read(f, NM_REG_HEALTH + 0x38) >> 31, 1);
	assert_int_equal(reg_read(f, NM_REG_HEALTH + 0x3c), 1 << 16);
	assert_int_equal(reg_read(f, NM_REG_INITIALIZING) >> 30, 1);
	reg_write(f, NM_REG_CMDQ_LO, (lo & ~0xfffu) | 7 << 8);
	while ((reg_read(f, NM_REG_CMDQ_LO) >> 8 & 7) == 7) {
		saw_reset++;
		assert_true(nm_clock_ns() < end);
	}
	assert_int_equal(reg_read(f, NM_REG_CMDQ_LO) >> 8 & 7, 1);
	while (reg_read(f, NM_REG_INITIALIZING) >> 31) {
		saw_init++;
		assert_true(nm_clock_ns() < end);
	}
	assert_true(saw_reset && saw_init);
	assert_int_equal(reg_read(f, NM_REG_HEALTH + 0x3c), 0);
	assert_int_equal(f->fn->state, NM_FN_RESET);
	f->cmdq = 0;
	f->brk = H_MEM_BASE;
	h_init(f);
	reg_write(f, NM_REG_CMDQ_LO, 0x1000);
	assert_int_equal(reg_read(f, NM_REG_CMDQ_LO) >> 8 & 7, 0);
}

static u32 vsc_rd(struct h_fn *f, u32 off)
{
	u32 v;

	assert_int_equal(nm_pci_read(f->fn, NM_PCI_VSC + off, &v, 4), 0);
	return v;
}

static void vsc_wr(struct h_fn *f, u32 off, u32 v)
{
	assert_int_equal(nm_pci_write(f->fn, NM_PCI_VSC + off, &v, 4), 0);
}

static void test_vsc(void **state)
{
	struct rig *r = *state;
	struct h_fn *f = r->a;
	u32 n = vsc_rd(f, 8), at;

	assert_true(vsc_rd(f, 8) != n);
	vsc_wr(f, 0xc, n);
	vsc_wr(f, 0xc, n + 1);		/* taken: the second one fails */
	assert_int_equal(vsc_rd(f, 0xc), n);
	vsc_wr(f, 4, 0x55);		/* no such space */
	assert_int_equal(vsc_rd(f, 4) >> 29, 0);
	vsc_wr(f, 4, 0xa);		/* semaphores */
	assert_int_equal(vsc_rd(f, 4) >> 29, 1);
	vsc_wr(f, 0x14, 77);
	vsc_wr(f, 0x10, BIT(31) | 5);
	assert_int_equal(vsc_rd(f, 0x10) >> 31, 0);
	vsc_wr(f, 0x14, 78);
	vsc_wr(f, 0x10, BIT(31) | 5);	/* held */
	vsc_wr(f, 0x10, 5);
	assert_int_equal(vsc_rd(f, 0x10) >> 31, 1);
	assert_int_equal(vsc_rd(f, 0x14), 77);
	vsc_wr(f, 4, 7);		/* crash dump */
	n = vsc_rd(f, 0x10) & 0x3fffffff;
	assert_true(n >= 0x240);
	for (at = 0; at < n; at += 4) {
		vsc_wr(f, 0x10, at);
		assert_int_equal(vsc_rd(f, 0x14), reg_read(f, at));
		assert_int_equal(vsc_rd(f, 0x10) & 0x3fffffff, at + 4);
	}
	vsc_wr(f, 0x10, n);
	assert_int_equal(vsc_rd(f, 0x14), ~0u);
	vsc_wr(f, 0xc, 0);
	assert_int_equal(vsc_rd(f, 0xc), 0);
}

static void test_queue_faults(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2);
	struct nm_cqe *c = h_ptr(r->a, r->a->cq_tx);

	nm_sq_stall(r->a->fn, true);
	h_post(r->a, r->buf, len, 0, 0, 0, true);
	h_doorbell(r->a);
	h_run(&r->h);
	assert_null(h_poll_tx(r->a));
	nm_sq_stall(r->a->fn, false);
	nm_queue_scan(r->a->fn);
	r->a->fn->faults.drop_eqe = 1;
	arm(r->a, r->a->cqn_tx, 0, 1);
	h_run(&r->h);
	assert_non_null(h_poll_tx(r->a));
	assert_int_equal(r->a->fn->cnt[NM_CNT_eqes], 0);
	r->a->fn->faults.dup_eqe = 1;
	arm(r->a, r->a->cqn_tx, 0, 2);
	h_run(&r->h);
	assert_int_equal(r->a->fn->cnt[NM_CNT_eqes], 2);
	r->a->fn->faults.cqe_bad_owner = 1;
	h_post(r->a, r->buf, len, 0, 0, 0, true);
	h_doorbell(r->a);
	h_run(&r->h);
	assert_int_equal(c[1].op_own & 1, 1);
	assert_null(h_poll_tx(r->a));
}

/* A slow device sends one WQE at a time, and says when it goes on. */
static void test_slow(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2), i;
	u64 begin = nm_clock_ns();

	r->a->fn->faults.slow_us = 2000;
	for (i = 0; i < 4; i++)
		h_post(r->a, r->buf, len, 0, 0, 0, true);
	h_doorbell(r->a);
	for (i = 0; i < 4; ) {
		nm_engine_poll(r->h.m);
		i += !!h_poll_tx(r->a);
	}
	assert_true(nm_clock_ns() - begin >= 6000000);
}

/* Three packets behind one Ethernet segment, the last one inline */
static void test_multi(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, NM_IP_UDP, 100, 1, 2), i, off;
	u8 w[5 * NM_WQE_BB] = { };
	struct nm_wqe_ctrl *c = (void *)w;
	struct nm_wqe_eth *e = (void *)(c + 1);
	struct nm_wqe_data *d = (void *)(e + 1);

	for (i = 0; i < 2; i++) {
		d[i].byte_count = htobe32(len);
		d[i].lkey = htobe32(r->a->mkey);
		d[i].addr = htobe64(r->buf);
	}
	nm_wr32(&d[2], NM_SEG_INLINE | len);
	memcpy((u8 *)&d[2] + 4, h_ptr(r->a, r->buf), len);
	off = (u8 *)&d[2] - w + ((len + 4 + 15) & ~15u);
	e->cs_flags = NM_ETH_L3_CSUM | NM_ETH_L4_CSUM;
	c->opmod_idx_opcode = htobe32(NM_OP_ENHANCED_MPSW);
	c->qpn_ds = htobe32(r->a->sqn << 8 | off / 16);
	c->fm_ce_se = 8;
	memcpy(h_ptr(r->a, r->a->sq), w, sizeof(w));
	r->a->pi_tx += DIV_ROUND_UP(off, NM_WQE_BB);
	h_doorbell(r->a);
	h_run(&r->h);
	for (i = 0; i < 3; i++) {
		struct nm_cqe *cqe = h_poll_rx(r->b);

		assert_non_null(cqe);
		assert_int_equal(cqe->hds_ip_ext, 7);
		assert_int_equal(be32toh(cqe->byte_cnt) & 0xffff, len);
	}
	assert_non_null(h_poll_tx(r->a));
	assert_null(h_poll_tx(r->a));
	assert_int_equal(r->a->fn->cnt[NM_CNT_tx_multi_wqes], 1);
	/* a segment that reaches beyond the WQE */
	nm_wr32(&d[2], NM_SEG_INLINE | 2000);
	memcpy(h_ptr(r->a, r->a->sq + (u64)r->a->pi_tx * NM_WQE_BB), w, sizeof(w));
	r->a->pi_tx += DIV_ROUND_UP(off, NM_WQE_BB);
	h_doorbell(r->a);
	h_run(&r->h);
	assert_int_equal(h_poll_tx(r->a)->op_own >> 4, NM_CQE_REQ_ERR);
}

/* Eight writes of the WQE in the ring, but signalled; @n of them */
static void bf_burst(struct h_fn *f, u16 idx, u32 buf, u32 n)
{
	u8 w[NM_WQE_BB];
	u32 i;

	memcpy(w, h_ptr(f, f->sq + idx * (u64)NM_WQE_BB), sizeof(w));
	((struct nm_wqe_ctrl *)w)->fm_ce_se = 8;
	nm_wr32((u8 *)h_ptr(f, f->dbr_sq) + 4, f->pi_tx);
	for (i = 0; i < n; i++)
		assert_int_equal(nm_bar_write(f->fn, f->uar * 4096ull + NM_UAR_BF +
					      buf * 0x100 + i * 8, w + i * 8, 8), 0);
}

static void test_blueflame(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, NM_IP_UDP, 100, 1, 2), i;
	u64 end = nm_clock_ns() + 20000000000ull;

	/* The first burst shows that the page has them, and is a doorbell. */
	h_post(r->a, r->buf, len, 0, 0, 0, false);
	bf_burst(r->a, 0, 0, 8);
	h_run(&r->h);
	assert_non_null(h_poll_rx(r->b));
	assert_null(h_poll_tx(r->a));
	/* From then on the WQE is the one that was written. */
	for (i = 1; i < 4; i++) {
		h_post(r->a, r->buf, len, 0, 0, 0, false);
		bf_burst(r->a, i, i & 1, 8);
		h_run(&r->h);
		assert_non_null(h_poll_rx(r->b));
		assert_non_null(h_poll_tx(r->a));
	}
	assert_int_equal(r->a->fn->cnt[NM_CNT_db_bf], 3);
	/* One that does not go on is a doorbell, a little later. */
	h_post(r->a, r->buf, len, 0, 0, 0, false);
	bf_burst(r->a, 4, 0, 3);
	h_run(&r->h);
	assert_null(h_poll_rx(r->b));
	assert_true(nm_bf_next(r->a->fn) != ~0ull);
	while (nm_bf_next(r->a->fn) != ~0ull) {
		nm_bf_poll(r->a->fn);
		assert_true(nm_clock_ns() < end);
	}
	h_run(&r->h);
	assert_non_null(h_poll_rx(r->b));
	assert_null(h_poll_tx(r->a));
}

/* A packet socket on the TAP is the other end of the cable. */
static void test_tap(void **state)
{
	struct sockaddr_ll sll = { .sll_family = AF_PACKET,
				   .sll_protocol = htons(ETH_P_ALL) };
	struct nm_opts o = { .nr_fn = 1, .tap = "nmtest0", .seed = 1 };
	struct ifreq ifr = { .ifr_name = "nmtest0" };
	u8 in[2048] = { }, *frame;
	struct nm_cqe *cqe;
	struct h h;
	u64 buf, end;
	u32 len;
	int fd;

	/* a namespace of its own: needs the rights that the lab has */
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	h_open(&h, &o);
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCGIFINDEX, &ifr), 0);
	sll.sll_ifindex = ifr.ifr_ifindex;
	ifr.ifr_flags = IFF_UP;
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &ifr), 0);
	assert_int_equal(bind(fd, (void *)&sll, sizeof(sll)), 0);
	h_init(&h.f[0]);
	h_queues(&h.f[0], 5, 2048);
	buf = h_alloc(&h.f[0], 4096, 4096);
	frame = h_ptr(&h.f[0], buf);
	len = h_frame(frame, 4, NM_IP_UDP, 100, 1, 2);
	h_post(&h.f[0], buf, len, 0, 0, 0, true);
	h_doorbell(&h.f[0]);
	h_run(&h);
	assert_non_null(h_poll_tx(&h.f[0]));
	end = nm_clock_ns() + 20000000000ull;
	/* the kernel's own multicast may come first */
	do {
		assert_true(nm_clock_ns() < end);
	} while (recv(fd, in, sizeof(in), 0) != (ssize_t)len ||
		 memcmp(in, frame, len));
	frame[20] ^= 0x55;
	assert_int_equal(send(fd, frame, len, 0), len);
	do {
		assert_true(nm_clock_ns() < end);
		h_run(&h);
		cqe = h_poll_rx(&h.f[0]);
	} while (!cqe || (be32toh(cqe->byte_cnt) & 0xffff) != len ||
		 memcmp(h_rx_data(&h.f[0], cqe), frame, len));
	h_close(&h);
	close(fd);
}

/* A queue may begin inside a page; the unit is a 64th of the page, whatever its size. */
static void test_page_offset(void **state)
{
	struct rig *r = *state;
	u8 in[NM_BYTES(create_cq_in) + 8] = { }, out[16];
	void *cqc = NM_PTR(create_cq_in, in, cq_context);
	u64 at = h_alloc(r->a, 64 << 10, 64 << 10);
	struct nm_obj *obj;
	struct nm_cq *cq;

	nm_wr16(in, MLX5_CMD_OP_CREATE_CQ);
	NM_SET(cqc, cqc, log_cq_size, 4);
	NM_SET(cqc, cqc, uar_page, r->a->uar);
	NM_SET(cqc, cqc, c_eqn_or_apu_element, r->a->eqn);
	NM_SET64(cqc, cqc, dbr_addr, h_alloc(r->a, 64, 64));
	NM_SET(cqc, cqc, log_page_size, 4);
	NM_SET(cqc, cqc, page_offset, 5);
	nm_wr64(in + NM_BYTES(create_cq_in), at);
	assert_int_equal(H_CMD(r->a, in, out), NM_ST_OK);
	obj = nm_obj_lookup(r->a->fn, NM_OBJ_CQ, NM_GET(create_cq_out, out, cqn));
	cq = container_of(obj, struct nm_cq, obj);
	assert_ptr_equal(nm_buf_at(r->a->fn, &cq->buf, 64),
			 h_ptr(r->a, at + 5 * 1024 + 64));
}

static u8 resize(struct h_fn *f, u32 log_size, u64 *ring)
{
	u8 in[NM_BYTES(modify_cq_in) + 8] = { }, out[16];
	void *cqc = NM_PTR(modify_cq_in, in, cq_context);
	u32 i;

	*ring = h_alloc(f, NM_PAGE_SIZE, NM_PAGE_SIZE);
	for (i = 0; i < 64; i++)
		((struct nm_cqe *)h_ptr(f, *ring))[i].op_own = 0xf1;
	nm_wr16(in, MLX5_CMD_OP_MODIFY_CQ);
	nm_wr16(in + 6, 1);
	NM_SET(modify_cq_in, in, cqn, f->cqn_tx);
	nm_wr32(NM_PTR(modify_cq_in, in, modify_field_select_resize_field_select), 7);
	NM_SET(cqc, cqc, log_cq_size, log_size);
	nm_wr64(in + NM_BYTES(modify_cq_in), *ring);
	return H_CMD(f, in, out);
}

static void test_cq_resize(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, NM_IP_UDP, 100, 1, 2), i;
	struct nm_cqe *old = h_ptr(r->a, r->a->cq_tx), *new;
	u64 ring;

	for (i = 0; i < 3; i++)
		h_post(r->a, r->buf, len, 0, 0, 0, true);
	h_doorbell(r->a);
	h_run(&r->h);
	assert_int_equal(resize(r->a, 1, &ring), NM_ST_BAD_SIZE);
	assert_int_equal(resize(r->a, 6, &ring), NM_ST_OK);
	new = h_ptr(r->a, ring);
	assert_int_equal(old[2].op_own >> 4, NM_CQE_REQ);
	assert_int_equal(old[3].op_own >> 4, NM_CQE_RESIZE);
	assert_int_equal(new[3].op_own, 0xf1);
	h_post(r->a, r->buf, len, 0, 0, 0, true);
	h_doorbell(r->a);
	h_run(&r->h);
	assert_int_equal(new[4].op_own, NM_CQE_REQ << 4);
	assert_int_equal(be16toh(new[4].wqe_counter), 3);
}

static void test_wire(void **state)
{
	struct rig *r = *state;
	u32 len = h_frame(h_ptr(r->a, r->buf), 4, 17, 100, 1, 2), i, n = 0;
	struct nm_impair *im = nm_wire_impair(r->a->fn);

	im->loss = 500000;
	for (i = 0; i < 200; i++) {
		h_post(r->a, r->buf, len, 0, 0, 0, false);
		h_doorbell(r->a);
		h_run(&r->h);
	}
	while (h_poll_rx(r->b)) {
		h_repost(r->b);
		n++;
	}
	assert_in_range(n, 60, 140);
	im->loss = 0;
	im->dup = 1000000;
	h_post(r->a, r->buf, len, 0, 0, 0, false);
	h_doorbell(r->a);
	h_run(&r->h);
	h_run(&r->h);
	for (n = 0; h_poll_rx(r->b); n++)
		h_repost(r->b);
	assert_int_equal(n, 2);
}

/* Frames of one to three strides of 2048 bytes, eight strides a WQE */
static void test_striding(void **state)
{
	u32 len, i, stride = 0, wqe = 0, fillers = 0;
	struct nm_cqe *c;
	struct h_fn *a, *b;
	struct h h;
	u64 buf;

	h_open(&h, NULL);
	a = &h.f[0];
	b = &h.f[1];
	b->striding = true;
	h_init(a);
	h_init(b);
	h_queues(a, 6, 2048);
	h_queues(b, 6, 16384);
	a->fn->port.oper_mtu = 9000;
	b->fn->port.oper_mtu = 9000;
	buf = h_alloc(a, 16384, 4096);
	for (i = 0; i < 40; i++) {
		u32 need = i % 3 + 1, bc;

		len = h_frame(h_ptr(a, buf), 4, NM_IP_UDP, need * 2048 - 100, 9, 10);
		h_post(a, buf, len, CSUM, 0, 0, false);
		h_doorbell(a);
		h_run(&h);
		c = h_poll_rx(b);
		assert_non_null(c);
		bc = be32toh(c->byte_cnt);
		if (bc >> 31) {
			assert_int_equal(bc >> 16, 0x8000 | (8 - stride));
			assert_int_equal(be16toh(c->wqe_id), wqe);
			assert_true(stride + need > 8);
			stride = 0;
			wqe++;
			fillers++;
			c = h_poll_rx(b);
			assert_non_null(c);
			bc = be32toh(c->byte_cnt);
		}
		assert_int_equal(bc >> 16, need);
		assert_int_equal(bc & 0xffff, len);
		assert_int_equal(be16toh(c->wqe_id), wqe);
		assert_int_equal(be16toh(c->wqe_counter), stride);
		assert_memory_equal(h_ptr(b, b->rx_buf + wqe * 16384ull + stride * 2048),
				    h_ptr(a, buf), 24);
		stride += need;
		if (stride == 8) {
			stride = 0;
			wqe++;
		}
	}
	assert_true(fillers > 2);
	assert_null(h_poll_rx(b));
	h_close(&h);
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_csum),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_csum_set),
		cmocka_unit_test(test_toeplitz),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_dma),
		cmocka_unit_test(test_table_sorted),
		cmocka_unit_test(test_cmd_states),
		cmocka_unit_test(test_cmd_lengths),
		cmocka_unit_test(test_cmdq_delivery),
		cmocka_unit_test(test_ownership),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_dek),
		cmocka_unit_test(test_striding),
		cmocka_unit_test(test_tap),
		RIG(test_send),
		RIG(test_lso),
		RIG(test_no_buffer),
		RIG(test_bad_opcode),
		RIG(test_bad_key),
		RIG(test_bad_addr),
		RIG(test_bad_length),
		RIG(test_rx_bad_key),
		RIG(test_cq_overrun),
		RIG(test_foreign_uar),
		RIG(test_arming),
		RIG(test_reset),
		RIG(test_wire),
		RIG(test_cmd_faults),
		RIG(test_cmd_delay),
		RIG(test_fw_reset),
		RIG(test_vsc),
		RIG(test_slow),
		RIG(test_multi),
		RIG(test_blueflame),
		RIG(test_cq_resize),
		RIG(test_page_offset),
		RIG(test_queue_faults),
	};

	return cmocka_run_group_tests_name("nicmodel", tests, NULL, NULL);
}
