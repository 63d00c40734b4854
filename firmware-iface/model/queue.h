/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Event, completion and work queues. Context: nm_model.lock, engine thread
 * unless said otherwise.
 */
#ifndef NM_QUEUE_H
#define NM_QUEUE_H

#include "model.h"
#include "cmd.h"

/**
 * struct nm_buf - guest memory of a queue, as a list of pages
 * @log_page: log2 of a page's bytes
 * @off: of the queue's first byte in the first page
 * @host: cached addresses, valid while @gen is the function's DMA generation
 */
struct nm_buf {
	u64 *pas;
	u8 **host;
	u32 nr;
	u32 gen;
	u32 off;
	u8 log_page;
};

/* A doorbell record: eight bytes of guest memory */
struct nm_dbr {
	u64 addr;
	be32 *p;
	u32 gen;
};

/* false: the command has failed; @off is in 64ths of a page */
bool nm_buf_init(struct nm_cmd *c, struct nm_buf *b, const void *pas, u32 tail,
		 u8 log_page, u32 off, u64 need);
bool nm_buf_init_umem(struct nm_cmd *c, struct nm_buf *b, struct nm_obj *user,
		      u32 umem_id, u64 off, u64 need);
void nm_buf_free(struct nm_buf *b);
/* Entry of @len bytes that cannot cross a page; NULL: not mapped */
void *nm_buf_at(struct nm_fn *fn, struct nm_buf *b, u64 at);
bool nm_buf_read(struct nm_fn *fn, struct nm_buf *b, u64 at, void *dst, u32 len);

bool nm_dbr_init(struct nm_cmd *c, struct nm_dbr *d, struct nm_obj *user,
		 u64 addr, bool umem, u32 umem_id);
/* Word 0 or 1; false: not mapped */
bool nm_dbr_read(struct nm_fn *fn, struct nm_dbr *d, unsigned int word, u32 *v);

/**
 * struct nm_eq - event queue
 * @mask: events it takes, by number
 * @pi, @ci: 24-bit counters, producer ours
 */
struct nm_eq {
	struct nm_obj obj;
	struct nm_buf buf;
	u64 mask;
	u32 log_size;
	u32 pi, ci;
	u32 uar;
	u8 vec;
	bool armed;
};

void nm_eq_doorbell(struct nm_fn *fn, u32 page, u32 val, bool arm);
void nm_eq_post(struct nm_fn *fn, struct nm_eq *eq, u8 type, u8 sub,
		const void *data, u32 len);
/* The same with its interrupt lost: a fault */
void nm_eq_post_quiet(struct nm_fn *fn, struct nm_eq *eq, u8 type, u8 sub,
		      const void *data, u32 len);
/* To the queue whose mask has @type; lost when none has. */
void nm_event(struct nm_fn *fn, u8 type, u8 sub, const void *data, u32 len);
void nm_event_queue(struct nm_fn *fn, u8 type, u8 queue_type, u32 qn);

enum nm_cq_arm {
	NM_CQ_NOT_ARMED,
	NM_CQ_ARMED,
	NM_CQ_ARMED_SOL,
};

/**
 * struct nm_cq - completion queue
 * @period_ns, @max_count: moderation; @count and @deadline its state
 * @mod_next: on nm_fn.cq_moderated while @moderated
 */
struct nm_cq {
	struct nm_obj obj;
	struct nm_buf buf;
	struct nm_dbr dbr;
	struct nm_eq *eq;
	u32 log_size;
	u32 log_cqe;
	u32 pi, ci;
	u32 uar;
	u8 arm;
	u8 arm_sn;
	bool overrun_ignore;
	bool from_cqe;		/* the period starts anew with every entry */
	bool error;
	bool moderated;
	u32 period_ns;
	u32 max_count;
	u32 count;
	u64 deadline;
	struct nm_cq *mod_next;
};

void nm_cq_doorbell(struct nm_fn *fn, u32 page, u64 val);
/* Fills in the owner bit. False: overrun, the queue is now in error. */
bool nm_cq_post(struct nm_cq *cq, struct nm_cqe *cqe, bool solicited);
/* The arming doorbell may be lost: take the state from its record. */
void nm_cq_rescan(struct nm_cq *cq);
void nm_cq_moderate(struct nm_fn *fn, u64 now);
u64 nm_cq_next(struct nm_fn *fn);

enum nm_wq_state {
	NM_WQ_RST = 0,
	NM_WQ_RDY = 1,
	NM_WQ_ERR = 3,
};

/**
 * struct nm_sq - send queue, also the send half of a QP
 * @obj: head of the SQ or of the QP that holds it
 * @pc: WQEBBs consumed; @pi: as the doorbell record said last
 * @bf: the WQE at @bf_idx as BlueFlame brought it; only during that doorbell
 * @next: on nm_fn.sq_active while @active
 */
struct nm_sq {
	struct nm_obj *obj;
	struct nm_buf buf;
	u64 buf_off;
	struct nm_dbr dbr;
	struct nm_cq *cq;
	struct nm_sq *next;
	u32 log_size;
	u32 uar;
	u32 pd;
	u32 user_index;
	u16 pc, pi;
	const u8 *bf;
	u16 bf_idx;
	u8 state;
	bool active;
	bool rung;		/* since the last reset */
	bool flush_in_error;
	bool reg_umr;
	bool eth;		/* Ethernet segments, not a QP's own */
	bool stalled;		/* a fault: its doorbells are ignored */
};

struct nm_sq_obj {
	struct nm_obj obj;
	struct nm_sq sq;
};

/* The send half of a QP; NULL when there is no such QP */
struct nm_sq *nm_qp_sq(struct nm_fn *fn, u32 qpn);
void nm_sq_doorbell(struct nm_fn *fn, u32 page, u32 sqn);
/* The same with the first 64 bytes of a WQE, which need not be fetched */
void nm_sq_blueflame(struct nm_fn *fn, u32 page, u32 sqn, const u8 *wqe);
bool nm_sq_run(struct nm_fn *fn);
/* Read the doorbell record; put the queue on the list if it has work. */
void nm_sq_kick(struct nm_fn *fn, struct nm_sq *sq);
void nm_sq_detach(struct nm_fn *fn, struct nm_sq *sq);
void nm_sq_error(struct nm_sq *sq);
/* tx.c: the queue can do no more, and the driver is told by @event. */
void nm_sq_fail(struct nm_fn *fn, struct nm_sq *sq, u8 event);
void nm_sq_stall(struct nm_fn *fn, bool on);
/* Doorbells were lost: look at every queue. */
void nm_queue_scan(struct nm_fn *fn);

enum nm_wq_type {
	NM_WQ_LINKED = 0,
	NM_WQ_CYCLIC = 1,
	NM_WQ_LL_STRIDING = 2,
	NM_WQ_CYC_STRIDING = 3,
};

/**
 * struct nm_rq - receive queue
 * @pc: WQEs consumed
 * @stride_at: strides used of the current multi-packet WQE
 */
struct nm_rq {
	struct nm_obj obj;
	struct nm_buf buf;
	struct nm_dbr dbr;
	struct nm_cq *cq;
	struct nm_obj *qctr;
	u32 log_size;
	u32 log_wqe;
	u32 pd;
	u32 user_index;
	u16 pc;
	u8 state;
	u8 wq_type;
	bool vsd;
	bool flush_in_error;
	bool scatter_fcs;
	u8 log_strides;
	u8 log_stride_sz;
	u8 pad_align;		/* bytes before the packet: 0 or 2 */
	u32 stride_at;
	u32 ll_head;		/* linked list: index of the WQE in use */
};

void nm_rq_error(struct nm_rq *rq);

struct nm_qctr {
	struct nm_obj obj;
	u32 out_of_buffer;
	u32 rx_packets;
};

/* Shared by CREATE_SQ, CREATE_RQ and the receive queues of SRQ kind */
struct nm_wq_geom {
	u32 log_size;
	u32 log_stride;
};

bool nm_wq_init(struct nm_cmd *c, struct nm_obj *obj, void *wq, u32 tail,
		struct nm_buf *buf, struct nm_dbr *dbr, u32 *uar,
		const struct nm_wq_geom *max, struct nm_wq_geom *g);

#endif /* NM_QUEUE_H */
