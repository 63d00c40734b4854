/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The model without a guest: two functions in this process, their "guest
 * memory" in two arrays, commands through the handlers or through the command
 * queue, and a driver small enough to send frames from one to the other.
 */
#ifndef NM_HARNESS_H
#define NM_HARNESS_H

#include "../cmd.h"
#include "../model.h"
#include "../queue.h"
#include "../wire.h"

#define H_MEM_SIZE	(64u << 20)
#define H_MEM_BASE	0x140000000ull	/* above 4 GiB */

/**
 * struct h_fn - one function as its driver sees it
 * @brk: next free byte of guest memory
 * @irqs: interrupts raised, by vector
 */
struct h_fn {
	struct nm_fn *fn;
	u8 *mem;
	u64 brk;
	u32 irqs[NM_MSIX_VECTORS];
	u64 cmdq;
	u32 uar, pd, td, mkey;
	u32 eqn, cqn_rx, cqn_tx, sqn, rqn, tirn, ft, fg;
	u64 eq, cq_rx, cq_tx, sq, rq, rx_buf;
	u64 dbr_cq_rx, dbr_cq_tx, dbr_sq, dbr_rq;
	u32 log_q;
	bool striding;	/* set before h_queues(): 8 strides a WQE */
	u32 ci_rx, ci_tx;
	u16 pi_tx, pi_rx;
};

struct h {
	struct nm_model *m;
	struct h_fn f[NM_MAX_FN];
};

void h_open(struct h *h, const struct nm_opts *opts);
void h_close(struct h *h);

/* Guest memory: allocate zeroed, and look at it */
u64 h_alloc(struct h_fn *f, u64 size, u64 align);
void *h_ptr(struct h_fn *f, u64 addr);

/* A command by its handler; returns the status. @in must be the table's size. */
u8 h_cmd(struct h_fn *f, void *in, u32 in_len, void *out, u32 out_len);
/* The same through the command queue in guest memory; delivery << 8 | status */
u32 h_cmdq(struct h_fn *f, unsigned int slot, const void *in, u32 in_len,
	   void *out, u32 out_len);

/* ENABLE_HCA to INIT_HCA and the common resources */
void h_init(struct h_fn *f);
/* Queues of 1 << @log_q entries, receive buffers of @buf_size, one TIR, one rule */
void h_queues(struct h_fn *f, u32 log_q, u32 buf_size);
void h_link_up(struct h *h);

/* Post a frame; @flags of the Ethernet segment, @mss for a large send */
void h_post(struct h_fn *f, u64 addr, u32 len, u8 cs_flags, u32 hdr_len, u32 mss,
	    bool signal);
void h_doorbell(struct h_fn *f);
void h_run(struct h *h);
/* Next completion, or NULL */
struct nm_cqe *h_poll_rx(struct h_fn *f);
struct nm_cqe *h_poll_tx(struct h_fn *f);
/* Give the buffer of the oldest receive WQE back */
void h_repost(struct h_fn *f);
u8 *h_rx_data(struct h_fn *f, const struct nm_cqe *cqe);

/* A UDP or TCP frame over IPv4 or IPv6 without checksums; returns its length */
u32 h_frame(u8 *p, int ip_ver, u8 proto, u32 payload, u16 sport, u16 dport);

#define H_CMD(f, in, out)	h_cmd(f, in, sizeof(in), out, sizeof(out))

#endif /* NM_HARNESS_H */
