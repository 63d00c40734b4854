// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A data path in user space through DEVX: a CQ and an SQ in memory of this
 * process, a doorbell from here, a frame on the wire. And what DEVX must not
 * be able to do.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/mlx5dv.h>

#include "../hw.h"

#define LOG_Q	6
#define FRAMES	200
#define FRAME	214

struct path {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	u32 pdn;
	struct mlx5dv_devx_uar *uar;
	u8 *mem;
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_obj *td, *tis, *cq, *sq;
	u32 tdn, tisn, cqn, sqn, eqn;
	struct ibv_mr *mr;
};

enum {
	OFF_CQ = 0, OFF_SQ = 8192, OFF_DBR_CQ = 16384, OFF_DBR_SQ = 16448,
	OFF_FRAME = 20480, MEM = 32768,
};

#define MUST(x) do {							\
	if (!(x)) {							\
		fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,	\
			#x, strerror(errno));				\
		exit(1);						\
	}								\
} while (0)

static struct ibv_context *open_device(const char *name)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return mlx5dv_open_device(list[i], &attr);
	return NULL;
}

static struct mlx5dv_devx_obj *create(struct path *p, void *in, size_t len,
				      u32 *id)
{
	u8 out[64] = { };
	struct mlx5dv_devx_obj *o = mlx5dv_devx_obj_create(p->ctx, in, len, out, 16);

	if (o)
		*id = nm_rd32(out + 8) & 0xffffff;
	return o;
}

static void open_path(struct path *p, const char *name)
{
	struct mlx5dv_pd pd = { };
	struct mlx5dv_obj obj = { .pd = { .out = &pd } };
	u8 td[16] = { }, tis[NM_BYTES(create_tis_in)] = { };

	p->ctx = open_device(name);
	MUST(p->ctx);
	p->pd = ibv_alloc_pd(p->ctx);
	MUST(p->pd);
	obj.pd.in = p->pd;
	MUST(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD));
	p->pdn = pd.pdn;
	p->uar = mlx5dv_devx_alloc_uar(p->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	MUST(p->uar);
	p->mem = aligned_alloc(4096, MEM);
	memset(p->mem, 0, MEM);
	p->umem = mlx5dv_devx_umem_reg(p->ctx, p->mem, MEM, IBV_ACCESS_LOCAL_WRITE);
	MUST(p->umem);
	p->mr = ibv_reg_mr(p->pd, p->mem, MEM, IBV_ACCESS_LOCAL_WRITE);
	MUST(p->mr);
	MUST(!mlx5dv_devx_query_eqn(p->ctx, 0, &p->eqn));
	nm_wr16(td, MLX5_CMD_OP_ALLOC_TRANSPORT_DOMAIN);
	p->td = create(p, td, sizeof(td), &p->tdn);
	MUST(p->td);
	nm_wr16(tis, MLX5_CMD_OP_CREATE_TIS);
	NM_SET(tisc, NM_PTR(create_tis_in, tis, ctx), transport_domain, p->tdn);
	p->tis = create(p, tis, sizeof(tis), &p->tisn);
	MUST(p->tis);
}

static void make_cq(struct path *p)
{
	u8 in[NM_BYTES(create_cq_in)] = { };
	void *cqc = NM_PTR(create_cq_in, in, cq_context);
	u32 i;

	for (i = 0; i < 1u << LOG_Q; i++)
		p->mem[OFF_CQ + i * 64 + 63] = 0xf1;
	nm_wr16(in, MLX5_CMD_OP_CREATE_CQ);
	NM_SET(cqc, cqc, log_cq_size, LOG_Q);
	NM_SET(cqc, cqc, uar_page, p->uar->page_id);
	NM_SET(cqc, cqc, c_eqn_or_apu_element, p->eqn);
	NM_SET(cqc, cqc, dbr_umem_valid, 1);
	nm_field_set(cqc, 0x20, 32, p->umem->umem_id);
	NM_SET64(cqc, cqc, dbr_addr, OFF_DBR_CQ);
	NM_SET(create_cq_in, in, cq_umem_valid, 1);
	nm_field_set(in, 0x2c0, 32, p->umem->umem_id);
	nm_wr64(in + 0x280 / 8, OFF_CQ);
	p->cq = create(p, in, sizeof(in), &p->cqn);
	MUST(p->cq);
}

static void make_sq(struct path *p)
{
	u8 in[NM_BYTES(create_sq_in)] = { }, mod[NM_BYTES(modify_sq_in)] = { };
	void *sqc = NM_PTR(create_sq_in, in, ctx), *wq = NM_PTR(sqc, sqc, wq);
	u8 out[16];

	nm_wr16(in, MLX5_CMD_OP_CREATE_SQ);
	NM_SET(sqc, sqc, cqn, p->cqn);
	NM_SET(sqc, sqc, tis_lst_sz, 1);
	NM_SET(sqc, sqc, tis_num_0, p->tisn);
	NM_SET(wq, wq, wq_type, 1);
	NM_SET(wq, wq, pd, p->pdn);
	NM_SET(wq, wq, uar_page, p->uar->page_id);
	NM_SET(wq, wq, log_wq_stride, 6);
	NM_SET(wq, wq, log_wq_sz, LOG_Q);
	NM_SET(wq, wq, dbr_umem_valid, 1);
	NM_SET(wq, wq, dbr_umem_id, p->umem->umem_id);
	NM_SET64(wq, wq, dbr_addr, OFF_DBR_SQ);
	NM_SET(wq, wq, wq_umem_valid, 1);
	NM_SET(wq, wq, wq_umem_id, p->umem->umem_id);
	NM_SET64(wq, wq, wq_umem_offset, OFF_SQ);
	p->sq = create(p, in, sizeof(in), &p->sqn);
	MUST(p->sq);
	nm_wr16(mod, MLX5_CMD_OP_MODIFY_SQ);
	NM_SET(modify_sq_in, mod, sqn, p->sqn);
	NM_SET(sqc, NM_PTR(modify_sq_in, mod, ctx), state, 1);
	MUST(!mlx5dv_devx_obj_modify(p->sq, mod, sizeof(mod), out, sizeof(out)));
}

static void post(struct path *p, u32 i)
{
	u8 *w = p->mem + OFF_SQ + (i & ((1u << LOG_Q) - 1)) * 64;
	struct nm_wqe_ctrl *c = (void *)w;
	struct nm_wqe_data *d = (void *)(w + 32);

	memset(w, 0, 64);
	c->opmod_idx_opcode = htobe32((i & 0xffff) << 8 | NM_OP_SEND);
	c->qpn_ds = htobe32(p->sqn << 8 | 3);
	c->fm_ce_se = 8;
	d->byte_count = htobe32(FRAME);
	d->lkey = htobe32(p->mr->lkey);
	d->addr = htobe64((u64)(uintptr_t)(p->mem + OFF_FRAME));
	__atomic_store_n((be32 *)(p->mem + OFF_DBR_SQ + 4), htobe32((i + 1) & 0xffff),
			 __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*(volatile u64 *)((u8 *)p->uar->reg_addr) = *(u64 *)w;
}

static int reap(struct path *p, u32 i)
{
	struct nm_cqe *c = (void *)(p->mem + OFF_CQ + (i & ((1u << LOG_Q) - 1)) * 64);
	time_t end = time(NULL) + 20;
	u8 op;

	do {
		op = __atomic_load_n(&c->op_own, __ATOMIC_ACQUIRE);
		if (op >> 4 != 0xf && (op & 1) == (i >> LOG_Q & 1)) {
			nm_wr32(p->mem + OFF_DBR_CQ, (i + 1) & 0xffffff);
			return op >> 4;
		}
	} while (time(NULL) < end);
	return -1;
}

/* Destroying by hand what another context owns must fail. */
static void foreign(struct path *p, struct path *q)
{
	u8 in[NM_BYTES(create_tis_in)] = { };
	u32 id;

	nm_wr16(in, MLX5_CMD_OP_CREATE_TIS);
	NM_SET(tisc, NM_PTR(create_tis_in, in, ctx), transport_domain, p->tdn);
	MUST(!create(q, in, sizeof(in), &id));
	puts("ok: another context's transport domain cannot be used");
}

int main(int argc, char **argv)
{
	struct path p = { }, q = { };
	u32 i;

	MUST(argc == 2);
	open_path(&p, argv[1]);
	make_cq(&p);
	make_sq(&p);
	memset(p.mem + OFF_FRAME, 0xff, 6);
	memcpy(p.mem + OFF_FRAME + 6, "\2\2\2\2\2\2\x88\xb5", 8);
	for (i = 0; i < FRAMES; i++) {
		post(&p, i);
		if (reap(&p, i) != NM_CQE_REQ) {
			fprintf(stderr, "frame %u: no good completion\n", i);
			return 1;
		}
	}
	printf("ok: %u frames sent and completed\n", FRAMES);
	open_path(&q, argv[1]);
	foreign(&p, &q);
	/* The kernel cleans up after a process that leaves everything open. */
	return 0;
}
