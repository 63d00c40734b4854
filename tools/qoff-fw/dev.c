// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Opening a device, objects, queues. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fw.h"

/* Offsets that mlx5_ifc.h of 6.12 has no name for */
#define CQ_UMEM_OFF	0x280
#define CQ_UMEM_ID	0x2c0
#define CQC_DBR_UMEM_ID	0x20

enum {
	OFF_CQ_TX	= 0,
	OFF_CQ_RX	= OFF_CQ_TX + (64 << FW_LOG_SQ),
	OFF_SQ		= OFF_CQ_RX + (64 << FW_LOG_RQ),
	OFF_RQ		= OFF_SQ + (64 << FW_LOG_SQ),
	OFF_DBR		= OFF_RQ + (16 << FW_LOG_RQ),
	OFF_TX		= (OFF_DBR + 4096) & ~4095,
	OFF_RX		= OFF_TX + FW_TX_BUF,
	MEM		= OFF_RX + (FW_RX_BUF << FW_LOG_RQ),
};

enum { DBR_CQ_TX = OFF_DBR, DBR_CQ_RX = OFF_DBR + 64, DBR_SQ = OFF_DBR + 128, DBR_RQ = OFF_DBR + 192 };

static bool say(const char *what)
{
	fprintf(stderr, "qoff-fw: %s: %s\n", what, strerror(errno));
	return false;
}

static void answer(const void *out, struct fw_answer *a)
{
	a->status = *(const u8 *)out;
	a->syndrome = nm_rd32((const u8 *)out + 4);
	a->id = nm_rd32((const u8 *)out + 8) & 0xffffff;
}

struct mlx5dv_devx_obj *fw_create(struct fw_dev *d, const void *in, size_t len,
				  struct fw_answer *a)
{
	struct mlx5dv_devx_obj *o;
	u8 out[16] = { };

	o = mlx5dv_devx_obj_create(d->ctx, in, len, out, sizeof(out));
	answer(out, a);
	return o;
}

bool fw_modify(struct mlx5dv_devx_obj *o, const void *in, size_t len, struct fw_answer *a)
{
	u8 out[16] = { };
	int err = mlx5dv_devx_obj_modify(o, in, len, out, sizeof(out));

	answer(out, a);
	return !err;
}

static void query_cap(struct fw_dev *d)
{
	u8 in[16] = { }, out[16 + 4096] = { };

	nm_wr16(in, MLX5_CMD_OP_QUERY_HCA_CAP);
	nm_wr16(in + 6, QOFF_MLX5_CAP_TYPE << 1 | 1);
	d->have_cap = !mlx5dv_devx_general_cmd(d->ctx, in, sizeof(in), out, sizeof(out)) &&
		      !out[0];
	if (d->have_cap)
		memcpy(d->cap, out + 16, sizeof(d->cap));
}

bool fw_open(struct fw_dev *d, const char *name)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	memset(d, 0, sizeof(*d));
	for (i = 0; list && list[i] && !d->ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name)) {
			d->ctx = mlx5dv_open_device(list[i], &attr);
			if (!d->ctx)
				return say(name);
		}
	if (list)
		ibv_free_device_list(list);
	if (!d->ctx) {
		fprintf(stderr, "qoff-fw: no RDMA device %s (is mlx5_ib loaded?)\n", name);
		return false;
	}
	d->name = name;
	query_cap(d);
	return true;
}

/* Destroying the context takes every object with it. */
void fw_close(struct fw_dev *d)
{
	if (d->ctx)
		ibv_close_device(d->ctx);
}

static bool make_common(struct fw_dev *d)
{
	struct mlx5dv_pd pd = { };
	struct mlx5dv_obj obj = { .pd = { .out = &pd } };
	u8 td[16] = { };
	struct fw_answer a;

	d->pd = ibv_alloc_pd(d->ctx);
	if (!d->pd)
		return say("protection domain");
	obj.pd.in = d->pd;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD))
		return say("protection domain");
	d->pdn = pd.pdn;
	d->uar = mlx5dv_devx_alloc_uar(d->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	if (!d->uar)
		return say("UAR");
	d->mem = aligned_alloc(4096, (MEM + 4095) & ~4095);
	if (!d->mem)
		return say("memory");
	memset(d->mem, 0, MEM);
	d->umem = mlx5dv_devx_umem_reg(d->ctx, d->mem, MEM, IBV_ACCESS_LOCAL_WRITE);
	d->mr = ibv_reg_mr(d->pd, d->mem, MEM, IBV_ACCESS_LOCAL_WRITE);
	if (!d->umem || !d->mr || mlx5dv_devx_query_eqn(d->ctx, 0, &d->eqn))
		return say("memory registration");
	nm_wr16(td, MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN);
	if (!fw_create(d, td, sizeof(td), &a))
		return say("transport domain");
	d->td = a.id;
	return true;
}

static bool make_cq(struct fw_dev *d, u32 log_size, u32 ring, u32 dbr, u32 *cqn)
{
	u8 in[NM_BYTES(create_cq_in)] = { };
	void *cqc = NM_PTR(create_cq_in, in, cq_context);
	struct fw_answer a;
	u32 i;

	for (i = 0; i < 1u << log_size; i++)
		d->mem[ring + i * 64 + 63] = 0xf1;
	nm_wr16(in, MLX5_CMD_OP_CREATE_CQ);
	NM_SET(cqc, cqc, log_cq_size, log_size);
	NM_SET(cqc, cqc, uar_page, d->uar->page_id);
	NM_SET(cqc, cqc, c_eqn_or_apu_element, d->eqn);
	NM_SET(cqc, cqc, dbr_umem_valid, 1);
	nm_field_set(cqc, CQC_DBR_UMEM_ID, 32, d->umem->umem_id);
	NM_SET64(cqc, cqc, dbr_addr, dbr);
	NM_SET(create_cq_in, in, cq_umem_valid, 1);
	nm_field_set(in, CQ_UMEM_ID, 32, d->umem->umem_id);
	nm_wr64(in + CQ_UMEM_OFF / 8, ring);
	if (!fw_create(d, in, sizeof(in), &a))
		return say("completion queue");
	*cqn = a.id;
	return true;
}

static void wq_layout(struct fw_dev *d, void *wq, u32 log_stride, u32 log_size, u32 ring, u32 dbr)
{
	NM_SET(wq, wq, wq_type, 1);
	NM_SET(wq, wq, pd, d->pdn);
	NM_SET(wq, wq, uar_page, d->uar->page_id);
	NM_SET(wq, wq, log_wq_stride, log_stride);
	NM_SET(wq, wq, log_wq_sz, log_size);
	NM_SET(wq, wq, dbr_umem_valid, 1);
	NM_SET(wq, wq, dbr_umem_id, d->umem->umem_id);
	NM_SET64(wq, wq, dbr_addr, dbr);
	NM_SET(wq, wq, wq_umem_valid, 1);
	NM_SET(wq, wq, wq_umem_id, d->umem->umem_id);
	NM_SET64(wq, wq, wq_umem_offset, ring);
}

static bool make_sq(struct fw_dev *d)
{
	u8 in[NM_BYTES(create_sq_in)] = { }, mod[NM_BYTES(modify_sq_in)] = { };
	void *sqc = NM_PTR(create_sq_in, in, ctx);
	u8 tis[NM_BYTES(create_tis_in)] = { };
	struct mlx5dv_devx_obj *sq;
	struct fw_answer a;

	nm_wr16(tis, MLX5_CMD_OP_CREATE_TIS);
	NM_SET(tisc, NM_PTR(create_tis_in, tis, ctx), transport_domain, d->td);
	if (!fw_create(d, tis, sizeof(tis), &a))
		return say("TIS");
	nm_wr16(in, MLX5_CMD_OP_CREATE_SQ);
	NM_SET(sqc, sqc, cqn, d->cqn_tx);
	NM_SET(sqc, sqc, tis_lst_sz, 1);
	NM_SET(sqc, sqc, tis_num_0, a.id);
	wq_layout(d, NM_PTR(sqc, sqc, wq), 6, FW_LOG_SQ, OFF_SQ, DBR_SQ);
	sq = fw_create(d, in, sizeof(in), &a);
	if (!sq)
		return say("send queue");
	d->sqn = a.id;
	nm_wr16(mod, MLX5_CMD_OP_MODIFY_SQ);
	NM_SET(modify_sq_in, mod, sqn, d->sqn);
	NM_SET(sqc, NM_PTR(modify_sq_in, mod, ctx), state, 1);
	return fw_modify(sq, mod, sizeof(mod), &a) || say("send queue to ready");
}

static bool make_rq(struct fw_dev *d)
{
	u8 in[NM_BYTES(create_rq_in)] = { }, mod[NM_BYTES(modify_rq_in)] = { };
	void *rqc = NM_PTR(create_rq_in, in, ctx);
	u8 tir[NM_BYTES(create_tir_in)] = { };
	struct mlx5dv_devx_obj *rq;
	struct fw_answer a;
	u32 i;

	nm_wr16(in, MLX5_CMD_OP_CREATE_RQ);
	NM_SET(rqc, rqc, cqn, d->cqn_rx);
	NM_SET(rqc, rqc, vsd, 1);
	wq_layout(d, NM_PTR(rqc, rqc, wq), 4, FW_LOG_RQ, OFF_RQ, DBR_RQ);
	for (i = 0; i < 1u << FW_LOG_RQ; i++) {
		struct mlx5_wqe_data_seg *s = (void *)(d->mem + OFF_RQ + i * 16);

		s->byte_count = htobe32(FW_RX_BUF);
		s->lkey = htobe32(d->mr->lkey);
		s->addr = htobe64((uintptr_t)(d->mem + OFF_RX + i * FW_RX_BUF));
	}
	rq = fw_create(d, in, sizeof(in), &a);
	if (!rq)
		return say("receive queue");
	d->rqn = a.id;
	nm_wr16(mod, MLX5_CMD_OP_MODIFY_RQ);
	NM_SET(modify_rq_in, mod, rqn, d->rqn);
	NM_SET(rqc, NM_PTR(modify_rq_in, mod, ctx), state, 1);
	if (!fw_modify(rq, mod, sizeof(mod), &a))
		return say("receive queue to ready");
	d->rq_pi = 1u << FW_LOG_RQ;
	nm_wr32(d->mem + DBR_RQ, d->rq_pi);
	nm_wr16(tir, MLX5_CMD_OP_CREATE_TIR);
	NM_SET(tirc, NM_PTR(create_tir_in, tir, ctx), inline_rqn, d->rqn);
	NM_SET(tirc, NM_PTR(create_tir_in, tir, ctx), transport_domain, d->td);
	d->tir = fw_create(d, tir, sizeof(tir), &a);
	d->tirn = a.id;
	return d->tir || say("TIR");
}

bool fw_queues(struct fw_dev *d)
{
	return make_common(d) && make_cq(d, FW_LOG_SQ, OFF_CQ_TX, DBR_CQ_TX, &d->cqn_tx) &&
	       make_cq(d, FW_LOG_RQ, OFF_CQ_RX, DBR_CQ_RX, &d->cqn_rx) && make_sq(d) && make_rq(d);
}

u8 *fw_tx_buf(struct fw_dev *d)
{
	return d->mem + OFF_TX;
}

/* A completion at @ci of a ring, when it is there */
static void *poll_cq(struct fw_dev *d, u32 ring, u32 log_size, u32 *ci, u32 dbr)
{
	u8 *c = d->mem + ring + (*ci & ((1u << log_size) - 1)) * 64;
	u8 op = __atomic_load_n(c + 63, __ATOMIC_ACQUIRE);

	if (op >> 4 == 0xf || (op & 1) != (*ci >> log_size & 1))
		return NULL;
	(*ci)++;
	nm_wr32(d->mem + dbr, *ci & 0xffffff);
	return c;
}

static void *wait_cq(struct fw_dev *d, u32 ring, u32 log_size, u32 *ci, u32 dbr,
		     unsigned int seconds)
{
	struct timespec end, now;
	void *c;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	do {
		c = poll_cq(d, ring, log_size, ci, dbr);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!c && (now.tv_sec < end.tv_sec ||
			(now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec)));
	return c;
}

const struct qoff_mlx5_cqe *fw_recv(struct fw_dev *d, unsigned int seconds, const u8 **data)
{
	struct mlx5_cqe64 *c = wait_cq(d, OFF_CQ_RX, FW_LOG_RQ, &d->cq_rx_ci, DBR_CQ_RX, seconds);

	if (!c || c->op_own >> 4 != MLX5_CQE_RESP_SEND)
		return NULL;
	*data = d->mem + OFF_RX +
		(be16toh(c->wqe_counter) & ((1u << FW_LOG_RQ) - 1)) * FW_RX_BUF;
	return (void *)c;
}

void fw_recv_done(struct fw_dev *d)
{
	nm_wr32(d->mem + DBR_RQ, ++d->rq_pi & 0xffff);
}

/* Puts a WQE of @ds units into the ring, rings, and waits for its completion. */
static int post(struct fw_dev *d, u8 *w, u32 ds)
{
	u32 bbs = (ds + 3) / 4, i, at = d->sq_pi;
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)w;
	struct mlx5_cqe64 *c;

	ctrl->opmod_idx_opcode |= htobe32((at & 0xffff) << 8);
	ctrl->qpn_ds = htobe32(d->sqn << 8 | ds);
	ctrl->fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE;
	for (i = 0; i < bbs; i++)
		memcpy(d->mem + OFF_SQ + ((at + i) & ((1u << FW_LOG_SQ) - 1)) * 64, w + i * 64, 64);
	d->sq_pi += bbs;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	nm_wr32(d->mem + DBR_SQ + 4, d->sq_pi & 0xffff);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile u64 *)d->uar->reg_addr = *(u64 *)w;
	c = wait_cq(d, OFF_CQ_TX, FW_LOG_SQ, &d->cq_tx_ci, DBR_CQ_TX, FW_WAIT_S);
	if (!c || c->op_own >> 4 != MLX5_CQE_REQ)
		return -1;
	return ((struct qoff_mlx5_cqe *)c)->quic_flags;
}

/* Ethernet, IPv4, UDP; lengths are the device's business */
static void headers(u8 *h, u32 payload)
{
	static const u8 head[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,
		0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
		4, 210, FW_UDP_PORT >> 8, FW_UDP_PORT & 0xff, 0, 0, 0, 0,
	};

	memcpy(h, head, FW_HDR);
	nm_wr16(h + 16, 28 + payload);
	nm_wr16(h + 38, 8 + payload);
}

int fw_send(struct fw_dev *d, const struct fw_super *s)
{
	u8 w[1024] __attribute__((aligned(16))) = { };
	struct mlx5_wqe_ctrl_seg *c = (void *)w;
	struct mlx5_wqe_eth_seg *e = (void *)(c + 1);
	u32 off = 32 + 48, i;	/* headers: 2 bytes in the segment, 40 in three units */
	struct mlx5_wqe_data_seg *data;

	c->opmod_idx_opcode = htobe32((s->plain ? 0 : (u32)QOFF_MLX5_OPMOD_DATA << 24) |
				      (s->n > 1 || s->mss ? MLX5_OPCODE_TSO : MLX5_OPCODE_SEND));
	e->cs_flags = MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM;
	e->mss = htobe16(s->mss);
	e->inline_hdr_sz = htobe16(FW_HDR);
	headers((u8 *)e->inline_hdr_start, s->bytes);
	if (!s->plain) {
		struct qoff_mlx5_wqe_quic *q = (void *)(w + off);

		q->flags_ctx = htobe32((u32)s->flags << 24 | s->ctx);
		q->num_segs = s->n;
		q->pn = htobe64(s->pn);
		off += sizeof(*q);
		if (s->flags & QOFF_MLX5_TXF_TABLE) {
			q->table_ds = qoff_mlx5_table_ds(s->n, 0);
			for (i = 0; i < s->n; i++)
				nm_wr16(w + off + i * 2, s->len[i]);
			off += q->table_ds * 16;
		}
	}
	data = (void *)(w + off);
	data->byte_count = htobe32(s->bytes);
	data->lkey = htobe32(d->mr->lkey);
	data->addr = htobe64((uintptr_t)fw_tx_buf(d));
	return post(d, w, off / 16 + 1);
}

int fw_ctx_wqe(struct fw_dev *d, u8 op, const struct fw_ctx *x)
{
	u8 w[1024] __attribute__((aligned(16))) = { };
	struct mlx5_wqe_ctrl_seg *c = (void *)w;
	struct qoff_mlx5_wqe_ctx *seg = (void *)(c + 1);
	struct qoff_mlx5_wqe_ctx_data *data = (void *)(seg + 1);
	u32 ds = 2;

	c->opmod_idx_opcode = htobe32((u32)QOFF_MLX5_OPMOD_CTX << 24 | MLX5_OPCODE_UMR);
	seg->op = op;
	seg->ctx = htobe32(x->id);
	if (op != QOFF_MLX5_CTX_CLEAR) {
		fw_ctx_layout(x, data->obj);
		memcpy(data->key[0], x->keys[0].key, QOFF_MLX5_KEY);
		memcpy(data->key[1], x->keys[1].key, QOFF_MLX5_KEY);
		memcpy(data->hp_key, x->keys[0].hp, QOFF_MLX5_KEY);
		ds += sizeof(*data) / 16;
	}
	return post(d, w, ds);
}
