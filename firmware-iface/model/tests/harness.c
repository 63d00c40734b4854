// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A driver small enough for tests; it trusts the model's answers. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness.h"
#include "../port.h"

/* Everything here must succeed, or no test means anything. */
#define MUST(x) do {							\
	if (!(x)) {							\
		fprintf(stderr, "harness: %s:%d: %s\n", __FILE__,	\
			__LINE__, #x);					\
		abort();						\
	}								\
} while (0)

static void h_raise(struct nm_fn *fn, unsigned int vec)
{
	struct h_fn *f = fn->xport_priv;

	f->irqs[vec]++;
}

static const struct nm_xport_ops h_ops = { .raise = h_raise };

void h_open(struct h *h, const struct nm_opts *opts)
{
	struct nm_opts o = { .seed = 1 };
	unsigned int i;

	memset(h, 0, sizeof(*h));
	if (opts)
		o = *opts;
	if (!o.nr_fn)
		o.nr_fn = 2;
	h->m = nm_model_create(&o);
	MUST(h->m);
	for (i = 0; i < h->m->nr_fn; i++) {
		struct h_fn *f = &h->f[i];

		f->fn = h->m->fn[i];
		f->mem = mmap(NULL, H_MEM_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(f->mem != MAP_FAILED);
		f->brk = H_MEM_BASE;
		nm_fn_attach(f->fn, &h_ops, f);
		MUST(!nm_dma_map_host(&f->fn->dma, H_MEM_BASE, H_MEM_SIZE,
				      f->mem, NM_DMA_R | NM_DMA_W));
	}
}

void h_close(struct h *h)
{
	unsigned int i;

	for (i = 0; i < h->m->nr_fn; i++) {
		nm_fn_detach(h->f[i].fn);
		munmap(h->f[i].mem, H_MEM_SIZE);
	}
	nm_model_destroy(h->m);
}

u64 h_alloc(struct h_fn *f, u64 size, u64 align)
{
	u64 at = (f->brk + align - 1) & ~(align - 1);

	f->brk = at + size;
	MUST(f->brk <= H_MEM_BASE + H_MEM_SIZE);
	return at;
}

void *h_ptr(struct h_fn *f, u64 addr)
{
	MUST(addr >= H_MEM_BASE && addr < H_MEM_BASE + H_MEM_SIZE);
	return f->mem + (addr - H_MEM_BASE);
}

u8 h_cmd(struct h_fn *f, void *in, u32 in_len, void *out, u32 out_len)
{
	struct nm_cmd c = {
		.fn = f->fn, .in = in, .in_len = in_len, .out = out,
		.out_len = out_len,
	};

	memset(out, 0, out_len);
	nm_cmd_exec(&c);
	return c.status;
}

/* Builds a mailbox chain; returns its head, 0 when the inline part is enough. */
static u64 h_chain(struct h_fn *f, const u8 *data, u32 len, u8 token)
{
	u64 head = 0, prev = 0;
	u32 done, n = 0;

	for (done = 16; done < len; done += NM_MBOX_DATA, n++) {
		u64 at = h_alloc(f, sizeof(struct nm_mbox), 1024);
		struct nm_mbox *mb = h_ptr(f, at);
		u32 part = len - done < NM_MBOX_DATA ? len - done : NM_MBOX_DATA;

		memset(mb, 0, sizeof(*mb));
		if (data)
			memcpy(mb->data, data + done, part);
		mb->token = token;
		mb->block_num = htobe32(n);
		if (prev)
			((struct nm_mbox *)h_ptr(f, prev))->next = htobe64(at);
		else
			head = at;
		prev = at;
	}
	return head;
}

u32 h_cmdq(struct h_fn *f, unsigned int slot, const void *in, u32 in_len,
	   void *out, u32 out_len)
{
	u64 brk = f->brk, out_head;
	struct nm_cmd_entry *e;
	u8 reg[4];
	u32 done;

	if (!f->cmdq) {
		f->cmdq = h_alloc(f, NM_PAGE_SIZE, NM_PAGE_SIZE);
		brk = f->brk;
		nm_wr32(reg, f->cmdq >> 32);
		nm_bar_write(f->fn, NM_REG_CMDQ_HI, reg, 4);
		nm_wr32(reg, f->cmdq);
		nm_bar_write(f->fn, NM_REG_CMDQ_LO, reg, 4);
	}
	e = (struct nm_cmd_entry *)h_ptr(f, f->cmdq) + slot;
	memset(e, 0, sizeof(*e));
	e->type = NM_CMD_TYPE_PCI;
	e->token = 0x5a;
	e->in_len = htobe32(in_len);
	e->out_len = htobe32(out_len);
	memcpy(e->in, in, in_len < 16 ? in_len : 16);
	e->in_ptr = htobe64(h_chain(f, in, in_len, e->token));
	out_head = h_chain(f, NULL, out_len, e->token);
	e->out_ptr = htobe64(out_head);
	e->status_own = 1;
	nm_wr32(reg, 1u << slot);
	nm_bar_write(f->fn, NM_REG_CMD_DOORBELL, reg, 4);
	while (nm_engine_poll(f->fn->model))
		;
	memcpy(out, e->out, out_len < 16 ? out_len : 16);
	for (done = 16; done < out_len; done += NM_MBOX_DATA) {
		struct nm_mbox *mb = h_ptr(f, out_head);

		memcpy((u8 *)out + done, mb->data,
		       out_len - done < NM_MBOX_DATA ? out_len - done : NM_MBOX_DATA);
		out_head = be64toh(mb->next);
	}
	f->brk = brk;
	if (e->status_own & 1)
		return ~0u;
	return (u32)(e->status_own >> 1) << 8 | e->out[0];
}

static u32 h_simple(struct h_fn *f, u16 op)
{
	u8 in[64] = { }, out[16];

	nm_wr16(in, op);
	MUST(!H_CMD(f, in, out));
	return nm_rd32(out + 8) & 0xffffff;
}

static void h_pages(struct h_fn *f)
{
	u8 in[16 + 8 * 512] = { }, out[16];
	u8 q[16] = { }, qo[16];
	u32 n, i;

	nm_wr16(q, MLX5_CMD_OP_QUERY_PAGES);
	nm_wr16(q + 6, 2);
	MUST(!H_CMD(f, q, qo));
	n = NM_GET(query_pages_out, qo, num_pages);
	MUST(n <= 512);
	nm_wr16(in, MLX5_CMD_OP_MANAGE_PAGES);
	nm_wr16(in + 6, 1);
	NM_SET(manage_pages_in, in, input_num_entries, n);
	for (i = 0; i < n; i++)
		nm_wr64(in + 16 + i * 8, h_alloc(f, NM_PAGE_SIZE, NM_PAGE_SIZE));
	MUST(!H_CMD(f, in, out));
}

void h_init(struct h_fn *f)
{
	u8 in[NM_BYTES(create_mkey_in)] = { }, out[16];
	void *mkc = NM_PTR(create_mkey_in, in, memory_key_mkey_entry);
	u8 paos[32] = { }, paos_out[32];

	h_simple(f, MLX5_CMD_OP_ENABLE_HCA);
	h_pages(f);
	h_simple(f, MLX5_CMD_OP_INIT_HCA);
	f->uar = h_simple(f, MLX5_CMD_OP_ALLOC_UAR);
	f->pd = h_simple(f, MLX5_CMD_OP_ALLOC_PD);
	f->td = h_simple(f, MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN);
	nm_wr16(in, MLX5_CMD_OP_CREATE_MKEY);
	NM_SET(mkc, mkc, lw, 1);
	NM_SET(mkc, mkc, lr, 1);
	NM_SET(mkc, mkc, length64, 1);
	NM_SET(mkc, mkc, pd, f->pd);
	MUST(!H_CMD(f, in, out));
	f->mkey = NM_GET(create_mkey_out, out, mkey_index) << 8;
	nm_wr16(paos, MLX5_CMD_OP_ACCESS_REG);
	nm_wr16(paos + 10, 0x5006);
	NM_SET(paos_reg, paos + 16, admin_status, 1);
	MUST(!H_CMD(f, paos, paos_out));
}

static u64 h_ring(struct h_fn *f, u8 *in, u32 pas_off, u64 bytes)
{
	u64 at = h_alloc(f, bytes < NM_PAGE_SIZE ? NM_PAGE_SIZE : bytes,
			 NM_PAGE_SIZE), i;

	for (i = 0; i < DIV_ROUND_UP(bytes, NM_PAGE_SIZE); i++)
		nm_wr64(in + pas_off + i * 8, at + i * NM_PAGE_SIZE);
	return at;
}

#define H_MAX_PAS	4096

static void h_eq(struct h_fn *f)
{
	u8 in[NM_BYTES(create_eq_in) + H_MAX_PAS * 8] = { }, out[16];
	void *eqc = NM_PTR(create_eq_in, in, eq_context_entry);

	nm_wr16(in, MLX5_CMD_OP_CREATE_EQ);
	NM_SET(eqc, eqc, log_eq_size, 10);
	NM_SET(eqc, eqc, uar_page, f->uar);
	NM_SET(eqc, eqc, intr, 1);
	f->eq = h_ring(f, in, NM_BYTES(create_eq_in), 64 << 10);
	MUST(!H_CMD(f, in, out));
	f->eqn = NM_GET(create_eq_out, out, eq_number);
}

static u32 h_cq(struct h_fn *f, u32 log_size, u64 *ring, u64 *dbr)
{
	u8 in[NM_BYTES(create_cq_in) + H_MAX_PAS * 8] = { }, out[16];
	void *cqc = NM_PTR(create_cq_in, in, cq_context);
	u32 i;

	*dbr = h_alloc(f, 64, 64);
	nm_wr16(in, MLX5_CMD_OP_CREATE_CQ);
	NM_SET(cqc, cqc, log_cq_size, log_size);
	NM_SET(cqc, cqc, uar_page, f->uar);
	NM_SET(cqc, cqc, c_eqn_or_apu_element, f->eqn);
	NM_SET64(cqc, cqc, dbr_addr, *dbr);
	*ring = h_ring(f, in, NM_BYTES(create_cq_in), 64ull << log_size);
	for (i = 0; i < 1u << log_size; i++)
		((struct nm_cqe *)h_ptr(f, *ring))[i].op_own = 0xf1;
	MUST(!H_CMD(f, in, out));
	return NM_GET(create_cq_out, out, cqn);
}

static void h_sq(struct h_fn *f)
{
	u8 in[NM_BYTES(create_sq_in) + H_MAX_PAS * 8] = { }, out[16];
	void *sqc = NM_PTR(create_sq_in, in, ctx), *wq = NM_PTR(sqc, sqc, wq);
	u8 mod[NM_BYTES(modify_sq_in)] = { };

	f->dbr_sq = h_alloc(f, 64, 64);
	nm_wr16(in, MLX5_CMD_OP_CREATE_SQ);
	NM_SET(sqc, sqc, cqn, f->cqn_tx);
	NM_SET(sqc, sqc, flush_in_error_en, 1);
	NM_SET(wq, wq, wq_type, 1);
	NM_SET(wq, wq, pd, f->pd);
	NM_SET(wq, wq, uar_page, f->uar);
	NM_SET64(wq, wq, dbr_addr, f->dbr_sq);
	NM_SET(wq, wq, log_wq_stride, 6);
	NM_SET(wq, wq, log_wq_sz, f->log_q + 1);
	f->sq = h_ring(f, in, NM_BYTES(create_sq_in), 128ull << f->log_q);
	MUST(!H_CMD(f, in, out));
	f->sqn = NM_GET(create_sq_out, out, sqn);
	nm_wr16(mod, MLX5_CMD_OP_MODIFY_SQ);
	NM_SET(modify_sq_in, mod, sqn, f->sqn);
	NM_SET(sqc, NM_PTR(modify_sq_in, mod, ctx), state, 1);
	MUST(!H_CMD(f, mod, out));
}

static void h_rq(struct h_fn *f, u32 buf_size)
{
	u8 in[NM_BYTES(create_rq_in) + H_MAX_PAS * 8] = { }, out[16];
	void *rqc = NM_PTR(create_rq_in, in, ctx), *wq = NM_PTR(rqc, rqc, wq);
	u8 mod[NM_BYTES(modify_rq_in)] = { };
	u32 i, n = 1u << f->log_q;

	f->dbr_rq = h_alloc(f, 64, 64);
	f->rx_buf = h_alloc(f, (u64)n * buf_size, NM_PAGE_SIZE);
	nm_wr16(in, MLX5_CMD_OP_CREATE_RQ);
	NM_SET(rqc, rqc, cqn, f->cqn_rx);
	NM_SET(rqc, rqc, flush_in_error_en, 1);
	NM_SET(rqc, rqc, vsd, 1);
	NM_SET(wq, wq, wq_type, f->striding ? NM_WQ_LL_STRIDING : NM_WQ_CYCLIC);
	NM_SET(wq, wq, pd, f->pd);
	NM_SET64(wq, wq, dbr_addr, f->dbr_rq);
	NM_SET(wq, wq, log_wq_stride, f->striding ? 5 : 4);
	NM_SET(wq, wq, log_wq_sz, f->log_q);
	NM_SET(wq, wq, log_wqe_num_of_strides, 3 - 9);
	NM_SET(wq, wq, log_wqe_stride_size, __builtin_ctz(buf_size / 8) - 6);
	f->rq = h_ring(f, in, NM_BYTES(create_rq_in), 32ull << f->log_q);
	for (i = 0; i < n; i++) {
		u64 at = f->rq + i * (f->striding ? 32ull : 16ull);
		struct nm_wqe_data *d = h_ptr(f, at);

		if (f->striding) {
			nm_wr16((u8 *)d + 2, (i + 1) & (n - 1));
			d++;
		}
		d->byte_count = htobe32(buf_size);
		d->lkey = htobe32(f->mkey);
		d->addr = htobe64(f->rx_buf + (u64)i * buf_size);
	}
	MUST(!H_CMD(f, in, out));
	f->rqn = NM_GET(create_rq_out, out, rqn);
	nm_wr16(mod, MLX5_CMD_OP_MODIFY_RQ);
	NM_SET(modify_rq_in, mod, rqn, f->rqn);
	NM_SET(rqc, NM_PTR(modify_rq_in, mod, ctx), state, 1);
	MUST(!H_CMD(f, mod, out));
	f->pi_rx = n;
	nm_wr32(h_ptr(f, f->dbr_rq), f->pi_rx);
}

static void h_steering(struct h_fn *f)
{
	u8 tir[NM_BYTES(create_tir_in)] = { }, out[16];
	u8 ft[NM_BYTES(create_flow_table_in)] = { };
	u8 fg[NM_BYTES(create_flow_group_in)] = { };
	u8 fte[NM_BYTES(set_fte_in) + 8] = { };
	u8 root[NM_BYTES(set_flow_table_root_in)] = { };
	void *ctx = NM_PTR(create_tir_in, tir, ctx), *dest;

	nm_wr16(tir, MLX5_CMD_OP_CREATE_TIR);
	NM_SET(tirc, ctx, inline_rqn, f->rqn);
	NM_SET(tirc, ctx, transport_domain, f->td);
	MUST(!H_CMD(f, tir, out));
	f->tirn = nm_rd32(out + 8) & 0xffffff;
	nm_wr16(ft, MLX5_CMD_OP_CREATE_FLOW_TABLE);
	NM_SET(flow_table_context,
	       NM_PTR(create_flow_table_in, ft, flow_table_context), log_size, 4);
	MUST(!H_CMD(f, ft, out));
	f->ft = NM_GET(create_flow_table_out, out, table_id);
	nm_wr16(fg, MLX5_CMD_OP_CREATE_FLOW_GROUP);
	NM_SET(create_flow_group_in, fg, table_id, f->ft);
	NM_SET(create_flow_group_in, fg, start_flow_index, 15);
	NM_SET(create_flow_group_in, fg, end_flow_index, 15);
	MUST(!H_CMD(f, fg, out));
	f->fg = NM_GET(create_flow_group_out, out, group_id);
	nm_wr16(fte, MLX5_CMD_OP_SET_FLOW_TABLE_ENTRY);
	NM_SET(set_fte_in, fte, table_id, f->ft);
	NM_SET(set_fte_in, fte, flow_index, 15);
	ctx = NM_PTR(set_fte_in, fte, flow_context);
	NM_SET(flow_context, ctx, group_id, f->fg);
	NM_SET(flow_context, ctx, action, 4);
	NM_SET(flow_context, ctx, destination_list_size, 1);
	dest = NM_PTR(flow_context, ctx, destination);
	NM_SET(dest_format_struct, dest, destination_type, 2);
	NM_SET(dest_format_struct, dest, destination_id, f->tirn);
	MUST(!H_CMD(f, fte, out));
	nm_wr16(root, MLX5_CMD_OP_SET_FLOW_TABLE_ROOT);
	NM_SET(set_flow_table_root_in, root, table_id, f->ft);
	MUST(!H_CMD(f, root, out));
}

void h_queues(struct h_fn *f, u32 log_q, u32 buf_size)
{
	f->log_q = log_q;
	h_eq(f);
	f->cqn_rx = h_cq(f, log_q, &f->cq_rx, &f->dbr_cq_rx);
	f->cqn_tx = h_cq(f, log_q + 1, &f->cq_tx, &f->dbr_cq_tx);
	h_sq(f);
	h_rq(f, buf_size);
	h_steering(f);
}

void h_link_up(struct h *h)
{
	unsigned int i;

	for (i = 0; i < h->m->nr_fn; i++)
		MUST(nm_port_up(h->f[i].fn));
}

void h_post(struct h_fn *f, u64 addr, u32 len, u8 cs_flags, u32 hdr_len, u32 mss,
	    bool signal)
{
	u32 mask = (2u << f->log_q) - 1, ds, off;
	u8 w[NM_WQE_MAX_BB * NM_WQE_BB] = { };
	struct nm_wqe_ctrl *c = (void *)w;
	struct nm_wqe_eth *e = (void *)(c + 1);
	struct nm_wqe_data *d;
	u32 i, bbs;

	off = sizeof(*c) + sizeof(*e);
	e->cs_flags = cs_flags;
	e->mss = htobe16(mss);
	e->inline_sz = htobe16(hdr_len);
	if (hdr_len) {
		memcpy(e->inline_start, h_ptr(f, addr), hdr_len);
		if (hdr_len > 2)
			off += (hdr_len - 2 + 15) & ~15u;
	}
	d = (void *)(w + off);
	d->byte_count = htobe32(len - hdr_len);
	d->lkey = htobe32(f->mkey);
	d->addr = htobe64(addr + hdr_len);
	ds = off / 16 + 1;
	bbs = DIV_ROUND_UP(ds, 4);
	c->opmod_idx_opcode = htobe32((u32)f->pi_tx << 8 |
				      (mss ? NM_OP_LSO : NM_OP_SEND));
	c->qpn_ds = htobe32(f->sqn << 8 | ds);
	c->fm_ce_se = signal ? 8 : 0;
	for (i = 0; i < bbs; i++)
		memcpy(h_ptr(f, f->sq + ((f->pi_tx + i) & mask) * 64ull),
		       w + i * 64, 64);
	f->pi_tx += bbs;
}

void h_doorbell(struct h_fn *f)
{
	u8 db[8] = { };

	nm_wr32((u8 *)h_ptr(f, f->dbr_sq) + 4, f->pi_tx);
	nm_wr32(db + 4, f->sqn << 8);
	nm_bar_write(f->fn, f->uar * (u64)NM_PAGE_SIZE + NM_UAR_BF, db, 8);
}

void h_run(struct h *h)
{
	while (nm_engine_poll(h->m))
		;
}

static struct nm_cqe *h_poll(struct h_fn *f, u64 ring, u32 log_size, u32 *ci,
			     u64 dbr)
{
	struct nm_cqe *c = (struct nm_cqe *)h_ptr(f, ring) +
			   (*ci & ((1u << log_size) - 1));

	if ((c->op_own & 1) != (*ci >> log_size & 1) || c->op_own >> 4 == 0xf)
		return NULL;
	(*ci)++;
	nm_wr32(h_ptr(f, dbr), *ci & 0xffffff);
	return c;
}

struct nm_cqe *h_poll_rx(struct h_fn *f)
{
	return h_poll(f, f->cq_rx, f->log_q, &f->ci_rx, f->dbr_cq_rx);
}

struct nm_cqe *h_poll_tx(struct h_fn *f)
{
	return h_poll(f, f->cq_tx, f->log_q + 1, &f->ci_tx, f->dbr_cq_tx);
}

void h_repost(struct h_fn *f)
{
	nm_wr32(h_ptr(f, f->dbr_rq), ++f->pi_rx);
}

u8 *h_rx_data(struct h_fn *f, const struct nm_cqe *cqe)
{
	u32 i = be16toh(cqe->wqe_counter) & ((1u << f->log_q) - 1);
	struct nm_wqe_data *d = h_ptr(f, f->rq + i * 16ull);

	return h_ptr(f, be64toh(d->addr));
}

u32 h_frame(u8 *p, int ip_ver, u8 proto, u32 payload, u16 sport, u16 dport)
{
	u32 l4 = proto == 6 ? 20 : 8, ip = ip_ver == 4 ? 20 : 40, i;
	u8 *l3 = p + 14, *h4 = l3 + ip;

	memset(p, 0, 14 + ip + l4);
	memcpy(p, (u8[]){ 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1 }, 12);
	nm_wr16(p + 12, ip_ver == 4 ? 0x0800 : 0x86dd);
	if (ip_ver == 4) {
		l3[0] = 0x45;
		nm_wr16(l3 + 2, ip + l4 + payload);
		nm_wr16(l3 + 4, 7);
		l3[8] = 64;
		l3[9] = proto;
		nm_wr32(l3 + 12, 0x0a000001);
		nm_wr32(l3 + 16, 0x0a000002);
	} else {
		l3[0] = 0x60;
		nm_wr16(l3 + 4, l4 + payload);
		l3[6] = proto;
		l3[7] = 64;
		l3[8] = 0xfd;
		l3[23] = 1;
		l3[24] = 0xfd;
		l3[39] = 2;
	}
	nm_wr16(h4, sport);
	nm_wr16(h4 + 2, dport);
	if (proto == 6) {
		nm_wr32(h4 + 4, 1000);
		h4[12] = 0x50;
		h4[13] = 0x18;
	} else {
		nm_wr16(h4 + 4, 8 + payload);
	}
	for (i = 0; i < payload; i++)
		p[14 + ip + l4 + i] = i * 7 + 3;
	return 14 + ip + l4 + payload;
}
