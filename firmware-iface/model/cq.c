// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion queues: entries, arming, moderation, overrun. */
#include "queue.h"
#include "trace.h"

#define CQ_MAX_LOG		22
#define CQ_SYND_OVERRUN		1
#define CQ_OPMOD_RESIZE		1
#define CQ_RESIZE_SELECT	7	/* size, page offset and page size */
#define CQ_UMEM_ID_OFF		0x2c0	/* bit offset in create_cq_in */
#define CQC_DBR_UMEM_ID_OFF	0x20	/* bit offset in cqc */

enum {
	CQ_ST_ARMED = 0x9,
	CQ_ST_FIRED = 0xa,
	CQ_ST_SOL_ARMED = 0x6,
};

static void cq_mod_remove(struct nm_cq *cq)
{
	struct nm_cq **p;

	if (!cq->moderated)
		return;
	for (p = &cq->obj.fn->cq_moderated; *p != cq; p = &(*p)->mod_next)
		;
	*p = cq->mod_next;
	cq->moderated = false;
}

static void cq_destroy(struct nm_obj *obj)
{
	struct nm_cq *cq = container_of(obj, struct nm_cq, obj);

	cq_mod_remove(cq);
	nm_buf_free(&cq->buf);
}

static void cq_set_moderation(struct nm_cq *cq, void *cqc)
{
	cq->period_ns = NM_GET(cqc, cqc, cq_period) * 1000;
	cq->max_count = NM_GET(cqc, cqc, cq_max_count);
	cq->from_cqe = NM_GET(cqc, cqc, cq_period_mode) == 1;
}

/* CREATE_CQ and MODIFY_CQ have the queue's memory in the same place. */
_Static_assert(NM_OFF(create_cq_in, pas) == NM_OFF(modify_cq_in, pas) &&
	       NM_OFF(create_cq_in, cq_umem_valid) ==
	       NM_OFF(modify_cq_in, cq_umem_valid), "memory of a CQ");

static bool cq_init_buf(struct nm_cmd *c, struct nm_cq *cq, struct nm_buf *buf,
			void *cqc, u64 need)
{
	void *in = c->in;

	if (NM_GET(create_cq_in, in, cq_umem_valid))
		return nm_buf_init_umem(c, buf, &cq->obj,
					nm_field_get(in, CQ_UMEM_ID_OFF, 32),
					nm_rd64((u8 *)in + 0x280 / 8), need);
	return nm_buf_init(c, buf, NM_PTR(create_cq_in, in, pas),
			   c->in_len - NM_BYTES(create_cq_in),
			   NM_GET(cqc, cqc, log_page_size) + NM_PAGE_SHIFT,
			   NM_GET(cqc, cqc, page_offset), need);
}

void nm_cmd_create_cq(struct nm_cmd *c)
{
	void *cqc = NM_PTR(create_cq_in, c->in, cq_context);
	u32 cqe_sz = NM_GET(cqc, cqc, cqe_sz);
	struct nm_cq *cq;

	if (NM_GET(cqc, cqc, log_cq_size) > CQ_MAX_LOG) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_SIZE);
		return;
	}
	/* 0: 64 bytes, 1: 128 bytes, 2: 128-byte stride, entry in its half */
	if (cqe_sz > 2 || NM_GET(cqc, cqc, cqe_comp_en)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_STRIDE);
		return;
	}
	cq = nm_obj_new(c, NM_OBJ_CQ, sizeof(*cq));
	if (!cq)
		return;
	cq->obj.destroy = cq_destroy;
	cq->log_size = NM_GET(cqc, cqc, log_cq_size);
	cq->log_cqe = cqe_sz ? 7 : 6;
	cq->uar = NM_GET(cqc, cqc, uar_page);
	cq->overrun_ignore = NM_GET(cqc, cqc, oi);
	cq_set_moderation(cq, cqc);
	cq->eq = nm_obj_use(c, &cq->obj, NM_OBJ_EQ,
			    NM_GET(cqc, cqc, c_eqn_or_apu_element));
	if (!cq->eq || !nm_obj_use(c, &cq->obj, NM_OBJ_UAR, cq->uar) ||
	    !nm_dbr_init(c, &cq->dbr, &cq->obj, NM_GET64(cqc, cqc, dbr_addr),
			 NM_GET(cqc, cqc, dbr_umem_valid),
			 nm_field_get(cqc, CQC_DBR_UMEM_ID_OFF, 32)) ||
	    !cq_init_buf(c, cq, &cq->buf, cqc,
			 1ull << (cq->log_size + cq->log_cqe))) {
		nm_obj_del(&cq->obj);
		return;
	}
	NM_SET(create_cq_out, c->out, cqn, cq->obj.id);
}

/* Entries that software has not taken, by the doorbell record if need be */
static bool cq_full(struct nm_cq *cq)
{
	u32 size = 1u << cq->log_size, v;

	if (((cq->pi - cq->ci) & 0xffffff) < size)
		return false;
	if (!nm_dbr_read(cq->obj.fn, &cq->dbr, 0, &v))
		return true;
	cq->ci = v & 0xffffff;
	return ((cq->pi - cq->ci) & 0xffffff) >= size;
}

/*
 * The last entry in the old memory says so; software copies what it had not
 * taken to the new one, where the numbering goes on.
 */
static void cq_resize(struct nm_cmd *c, struct nm_cq *cq, void *cqc, u32 sel)
{
	struct nm_cqe last = { .op_own = NM_CQE_RESIZE << 4 };
	u32 cqe_sz = NM_GET(cqc, cqc, cqe_sz), log = NM_GET(cqc, cqc, log_cq_size);
	struct nm_buf buf = { };

	if (sel != CQ_RESIZE_SELECT) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	if (log > CQ_MAX_LOG) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_SIZE);
		return;
	}
	if (cqe_sz > 2 || (cqe_sz ? 7 : 6) != cq->log_cqe) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_QUEUE_STRIDE);
		return;
	}
	if (cq->error || cq_full(cq)) {
		nm_cmd_fail(c, NM_ST_BAD_RES_STATE, NM_SYN_QUEUE_STATE);
		return;
	}
	/* All that is in the queue, and the entry that says so, must fit. */
	if (((cq->pi - cq->ci) & 0xffffff) >= 1u << log) {
		nm_cmd_fail(c, NM_ST_BAD_SIZE, NM_SYN_QUEUE_SIZE);
		return;
	}
	if (!cq_init_buf(c, cq, &buf, cqc, 1ull << (log + cq->log_cqe)))
		return;
	nm_cq_post(cq, &last, true);
	nm_buf_free(&cq->buf);
	cq->buf = buf;
	cq->log_size = log;
}

void nm_cmd_modify_cq(struct nm_cmd *c)
{
	void *cqc = NM_PTR(modify_cq_in, c->in, cq_context);
	struct nm_cq *cq = nm_obj_find(c, NM_OBJ_CQ,
				       NM_GET(modify_cq_in, c->in, cqn));
	u32 sel = nm_rd32(NM_PTR(modify_cq_in, c->in,
				 modify_field_select_resize_field_select));

	if (!cq)
		return;
	if (c->op_mod == CQ_OPMOD_RESIZE) {
		cq_resize(c, cq, cqc, sel);
		return;
	}
	/* Bits: 1 period, 2 count, 4 overrun ignore, 16 mode */
	if (c->op_mod || sel & ~0x1fu) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OP_MOD);
		return;
	}
	if (sel & 1)
		cq->period_ns = NM_GET(cqc, cqc, cq_period) * 1000;
	if (sel & 2)
		cq->max_count = NM_GET(cqc, cqc, cq_max_count);
	if (sel & 4)
		cq->overrun_ignore = NM_GET(cqc, cqc, oi);
	if (sel & 16)
		cq->from_cqe = NM_GET(cqc, cqc, cq_period_mode) == 1;
}

static u32 cq_state(const struct nm_cq *cq)
{
	switch (cq->arm) {
	case NM_CQ_ARMED:
		return CQ_ST_ARMED;
	case NM_CQ_ARMED_SOL:
		return CQ_ST_SOL_ARMED;
	default:
		return CQ_ST_FIRED;
	}
}

void nm_cmd_query_cq(struct nm_cmd *c)
{
	struct nm_cq *cq = nm_obj_find(c, NM_OBJ_CQ,
				       NM_GET(query_cq_in, c->in, cqn));
	void *cqc = NM_PTR(query_cq_out, c->out, cq_context);

	if (!cq)
		return;
	NM_SET(cqc, cqc, status, cq->error ? 0xa : 0);
	NM_SET(cqc, cqc, cqe_sz, cq->log_cqe - 6);
	NM_SET(cqc, cqc, oi, cq->overrun_ignore);
	NM_SET(cqc, cqc, st, cq_state(cq));
	NM_SET(cqc, cqc, log_cq_size, cq->log_size);
	NM_SET(cqc, cqc, uar_page, cq->uar);
	NM_SET(cqc, cqc, cq_period, cq->period_ns / 1000);
	NM_SET(cqc, cqc, cq_max_count, cq->max_count);
	NM_SET(cqc, cqc, cq_period_mode, cq->from_cqe);
	NM_SET(cqc, cqc, c_eqn_or_apu_element, cq->eq->obj.id);
	NM_SET(cqc, cqc, consumer_counter, cq->ci & 0xffffff);
	NM_SET(cqc, cqc, producer_counter, cq->pi & 0xffffff);
	NM_SET64(cqc, cqc, dbr_addr, cq->dbr.addr);
}

static void cq_fire(struct nm_cq *cq)
{
	u8 data[28] = { };

	cq_mod_remove(cq);
	cq->arm = NM_CQ_NOT_ARMED;
	cq->count = 0;
	nm_wr32(data + 24, cq->obj.id);
	nm_eq_post(cq->obj.fn, cq->eq, NM_EV_COMP, 0, data, sizeof(data));
}

/* An armed queue has something to tell: now, or after the moderation. */
static void cq_notify(struct nm_cq *cq, bool fresh)
{
	struct nm_fn *fn = cq->obj.fn;

	if (!cq->period_ns || !cq->max_count || cq->count >= cq->max_count) {
		cq_fire(cq);
		return;
	}
	if (!cq->moderated) {
		cq->moderated = true;
		cq->mod_next = fn->cq_moderated;
		fn->cq_moderated = cq;
		cq->deadline = fn->model->now_ns + cq->period_ns;
	} else if (fresh && cq->from_cqe) {
		cq->deadline = fn->model->now_ns + cq->period_ns;
	}
}

void nm_cq_doorbell(struct nm_fn *fn, u32 page, u64 val)
{
	u32 cqn = val & 0xffffff, word = val >> 32;
	struct nm_obj *obj = nm_obj_lookup(fn, NM_OBJ_CQ, cqn);
	struct nm_cq *cq;

	nm_trace(fn, NM_TR_DB, "cq cqn %#x ci %#x sn %u%s", cqn,
		 word & 0xffffff, word >> 28 & 3,
		 word & BIT(24) ? " solicited" : "");
	if (!obj) {
		nm_count(fn, NM_CNT_db_bad);
		return;
	}
	cq = container_of(obj, struct nm_cq, obj);
	if (cq->uar != page) {
		nm_count(fn, NM_CNT_db_bad);
		return;
	}
	cq->arm_sn = word >> 28 & 3;
	cq->arm = word & BIT(24) ? NM_CQ_ARMED_SOL : NM_CQ_ARMED;
	if (((cq->pi - word) & 0xffffff) && cq->arm == NM_CQ_ARMED)
		cq_notify(cq, false);
}

void nm_cq_rescan(struct nm_cq *cq)
{
	u32 word;

	if (!nm_dbr_read(cq->obj.fn, &cq->dbr, 1, &word))
		return;
	if ((word >> 28 & 3) == cq->arm_sn && cq->arm == NM_CQ_NOT_ARMED)
		return;
	nm_cq_doorbell(cq->obj.fn, cq->uar, (u64)word << 32 | cq->obj.id);
}

static void cq_overrun(struct nm_cq *cq)
{
	struct nm_fn *fn = cq->obj.fn;
	u8 data[28] = { };

	cq->error = true;
	nm_count(fn, NM_CNT_cq_overruns);
	nm_trace(fn, NM_TR_ERR, "cq cqn %#x overrun", cq->obj.id);
	nm_wr32(data, cq->obj.id);
	data[11] = CQ_SYND_OVERRUN;
	nm_event(fn, NM_EV_CQ_ERROR, 0, data, sizeof(data));
}

bool nm_cq_post(struct nm_cq *cq, struct nm_cqe *cqe, bool solicited)
{
	struct nm_fn *fn = cq->obj.fn;
	u8 owner = (cq->pi >> cq->log_size) & 1;
	struct nm_cqe *slot;
	u64 at;

	if (cq->error)
		return false;
	if (!cq->overrun_ignore && cq_full(cq)) {
		cq_overrun(cq);
		return false;
	}
	at = (u64)(cq->pi & ((1u << cq->log_size) - 1)) << cq->log_cqe;
	if (cq->log_cqe == 7)
		at += 64;	/* the second half of a 128-byte entry */
	slot = nm_buf_at(fn, &cq->buf, at);
	if (!slot) {
		cq_overrun(cq);
		return false;
	}
	if (nm_fault_take(fn, cqe_bad_owner))
		owner ^= 1;
	memcpy(slot, cqe, offsetof(struct nm_cqe, op_own));
	__atomic_store_n(&slot->op_own, (cqe->op_own & 0xf0) | owner,
			 __ATOMIC_RELEASE);
	nm_trace(fn, NM_TR_CQE,
		 "cqn %#x pi %#x opcode %#x qn %#x wqe_counter %#x byte_cnt %u",
		 cq->obj.id, cq->pi & 0xffffff, cqe->op_own >> 4,
		 be32toh(cqe->sop_drop_qpn) & 0xffffff,
		 be16toh(cqe->wqe_counter), be32toh(cqe->byte_cnt));
	cq->pi++;
	cq->count++;
	nm_count(fn, NM_CNT_cqes);
	if (cq->arm == NM_CQ_ARMED || (cq->arm == NM_CQ_ARMED_SOL && solicited))
		cq_notify(cq, true);
	return true;
}

void nm_cq_moderate(struct nm_fn *fn, u64 now)
{
	struct nm_cq *cq, *next;

	for (cq = fn->cq_moderated; cq; cq = next) {
		next = cq->mod_next;
		if (cq->deadline <= now)
			cq_fire(cq);
	}
}

u64 nm_cq_next(struct nm_fn *fn)
{
	u64 next = ~0ull;
	struct nm_cq *cq;

	for (cq = fn->cq_moderated; cq; cq = cq->mod_next)
		if (cq->deadline < next)
			next = cq->deadline;
	return next;
}
