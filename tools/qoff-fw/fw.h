/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A device by DEVX: commands, objects, one send and one receive queue in memory
 * of this process. What the kernel adds is mlx5_ib and nothing else.
 */
#ifndef QOFF_FW_H
#define QOFF_FW_H

#include <infiniband/mlx5dv.h>
#include <qoff_mlx5_ifc.h>

#include "ifc.h"
#include "ref.h"

#define FW_LOG_SQ	7
#define FW_LOG_RQ	6
#define FW_RX_BUF	32768
#define FW_TX_BUF	65536
#define FW_UDP_PORT	4433
#define FW_HDR		42
#define FW_WAIT_S	20

/**
 * struct fw_dev - an open device with its queues
 * @cap: the capability group; @have_cap: the device has it
 * @mem: rings, doorbell records, buffers; one umem, one memory region
 * @sq_pi, @sq_ci, @rq_pi, @rq_ci: WQEBBs, completions, buffers
 */
struct fw_dev {
	struct ibv_context *ctx;
	const char *name;
	bool have_cap;
	u8 cap[QOFF_MLX5_BYTES(quic_cap)];
	struct ibv_pd *pd;
	u32 pdn;
	u32 td;
	struct mlx5dv_devx_uar *uar;
	u8 *mem;
	struct mlx5dv_devx_umem *umem;
	struct ibv_mr *mr;
	u32 eqn, cqn_tx, cqn_rx, sqn, rqn, tirn;
	struct mlx5dv_devx_obj *tir;
	u32 sq_pi, cq_tx_ci, rq_pi, cq_rx_ci;
};

/* What a command was answered */
struct fw_answer {
	u8 status;
	u32 syndrome;
	u32 id;
};

#define FW_CAP(d, fld)	NM_GET(quic_cap, (d)->cap, fld)

/* Opens by name and queries the group; false: said on stderr */
bool fw_open(struct fw_dev *d, const char *name);
bool fw_queues(struct fw_dev *d);
void fw_close(struct fw_dev *d);

/* NULL: refused, @a says how */
struct mlx5dv_devx_obj *fw_create(struct fw_dev *d, const void *in, size_t len,
				  struct fw_answer *a);
bool fw_modify(struct mlx5dv_devx_obj *o, const void *in, size_t len, struct fw_answer *a);

/**
 * struct fw_ctx - a QUIC_CTX and its DEKs
 * @keys: of both slots; the header's key is that of slot 0
 * @valid: slots that are filled
 */
struct fw_ctx {
	struct ref_keys keys[2];
	u8 dir;
	u8 dcid_len;
	u8 valid;
	bool gro;
	bool in_band;
	u32 handle;
	u8 dcid[20];
	struct mlx5dv_devx_obj *obj;
	struct mlx5dv_devx_obj *dek[3];
	u32 dekn[3];
	u32 id;
};

void fw_ctx_layout(const struct fw_ctx *x, void *obj);
bool fw_ctx_create(struct fw_dev *d, struct fw_ctx *x, struct fw_answer *a);
struct mlx5dv_devx_obj *fw_ctx_object(struct fw_dev *d, const void *obj, struct fw_answer *a);
void fw_ctx_destroy(struct fw_ctx *x);

/* Packets to FW_UDP_PORT come to the receive queue; with @x through it. */
struct fw_flow;
struct fw_flow *fw_flow_add(struct fw_dev *d, const struct fw_ctx *x);
void fw_flow_del(struct fw_flow *f);

/**
 * struct fw_super - a super-packet: its packets are in fw_tx_buf()
 * @plain: an ordinary SEND of one datagram
 */
struct fw_super {
	u32 n;
	u16 len[QOFF_MLX5_MAX_SEGS];
	u32 bytes;
	u16 mss;
	u8 flags;
	u32 ctx;
	u64 pn;
	bool plain;
};

u8 *fw_tx_buf(struct fw_dev *d);
/* Posts, rings, and waits: enum qoff_mlx5_tx_status; -1: error completion or none */
int fw_send(struct fw_dev *d, const struct fw_super *s);
int fw_ctx_wqe(struct fw_dev *d, u8 op, const struct fw_ctx *x);

/* The next frame; NULL: none within @seconds. fw_recv_done() gives its buffer back. */
const struct qoff_mlx5_cqe *fw_recv(struct fw_dev *d, unsigned int seconds, const u8 **data);
void fw_recv_done(struct fw_dev *d);

/* selftest.c: TAP on stdout; @stop at the first failure */
int fw_selftest(struct fw_dev *tx, struct fw_dev *rx, bool stop);

#endif /* QOFF_FW_H */
