/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The ConnectX-7-class device model.
 *
 * DOC: threads and locks
 *
 * Two threads. The server thread owns the sockets, the PCI configuration
 * spaces and the control socket; it answers register reads from plain values,
 * turns register writes into doorbells (db.h) and never waits for the guest.
 * The engine thread runs commands, work queues, steering and the wire.
 *
 * nm_model.lock protects everything that both threads touch: DMA ranges,
 * interrupt eventfds, objects, the wire and the faults. The engine holds it
 * while it works and drops it after every bounded batch and whenever
 * nm_model.want is not zero; the server takes it with nm_lock(), which raises
 * that count, for DMA map and unmap, reset, SET_IRQS and control commands.
 * The doorbell ring needs no lock: one producer, one consumer.
 */
#ifndef NM_MODEL_H
#define NM_MODEL_H

#include <pthread.h>
#include <stdatomic.h>

#include "hw.h"
#include "dma.h"
#include "obj.h"
#include "fault.h"

#define NM_MAX_FN	2

struct nm_fn;
struct nm_model;
struct nm_wire;
struct nm_trace;
struct nm_cq;
struct nm_eq;
struct nm_sq;
struct nm_caps;
struct nm_quic;

/**
 * struct nm_xport_ops - what the device core asks of its transport
 * @raise: assert MSI-X vector @vec of @fn; called under nm_model.lock
 */
struct nm_xport_ops {
	void (*raise)(struct nm_fn *fn, unsigned int vec);
};

/* Counters that "ctl stats" prints; one line a counter. */
#define NM_COUNTERS(X)							\
	X(cmds)			/* commands executed */			\
	X(cmd_errors)		/* commands with a status not OK */	\
	X(cmd_delivery_errors)	/* refused before execution */		\
	X(db_sq)		/* send doorbells */			\
	X(db_bf)		/* of them, with their WQE */		\
	X(db_lost)		/* ring full: fell back to a scan */	\
	X(db_bad)		/* to no register or to a foreign UAR */ \
	X(bar_bad)		/* accesses of bad size or offset */	\
	X(dma_faults)		/* accesses outside mapped ranges */	\
	X(irqs)			/* interrupts raised */			\
	X(eqes)			/* event queue entries written */	\
	X(eq_overruns)		/* events lost, the queue was full */	\
	X(cqes)			/* completions written */		\
	X(cqe_errors)		/* completions with an error */		\
	X(cq_overruns)		/* completion queues that overran */	\
	X(tx_wqes)							\
	X(tx_lso_wqes)							\
	X(tx_multi_wqes)						\
	X(tx_nops)							\
	X(tx_packets)		/* frames given to the wire */		\
	X(tx_bytes)							\
	X(tx_mtu_drops)		/* frames over the port's MTU */	\
	X(tx_link_drops)	/* frames sent while the link is down */ \
	X(rx_packets)		/* frames that came from the wire */	\
	X(rx_bytes)							\
	X(rx_delivered)		/* frames put in a receive queue */	\
	X(rx_mtu_drops)							\
	X(rx_local)		/* frames that a function sent to itself */ \
	X(rx_steer_drops)	/* a drop rule, or no rule */		\
	X(rx_no_buffer)		/* receive queue empty */		\
	X(rx_rq_not_ready)						\
	X(rx_scatter_errors)						\
	X(tap_drops)		/* frames that the TAP did not take */	\
	X(rx_csum_bad)		/* IP or L4 checksum wrong */		\
	X(vfu_errors)		/* transport messages refused */	\
	X(quic_tx_super)	/* QUIC WQEs sent */			\
	X(quic_tx_sealed)	/* packets sealed */			\
	X(quic_tx_refused)	/* QUIC WQEs refused, nothing sent */	\
	X(quic_rx_opened)						\
	X(quic_rx_failed)	/* authentication failed */		\
	X(quic_rx_no_key)	/* slot empty, context revoked, runt */	\
	X(quic_rx_dropped)	/* by the failure action */		\
	X(quic_rx_coalesced)	/* completions of several packets */	\
	X(quic_rx_coalesced_pkts) /* packets in those */		\
	X(quic_rx_gro_lost)	/* packets of sessions without a buffer */

enum nm_counter {
#define X(n) NM_CNT_##n,
	NM_COUNTERS(X)
#undef X
	NM_CNT_MAX,
};

/* Frames by kind, as vport and port counters tell them apart */
struct nm_port_counters {
	u64 uc_pkts, uc_bytes;
	u64 mc_pkts, mc_bytes;
	u64 bc_pkts, bc_bytes;
};

enum nm_db_type {
	NM_DB_CMD,	/* value: slots */
	NM_DB_SQ,	/* value: queue number; page: UAR */
	NM_DB_BF,	/* the same, with a WQE in nm_bf.slot */
	NM_DB_CQ,	/* value: the eight bytes; page: UAR */
	NM_DB_EQ,	/* value: eqn << 24 | ci; arm or not */
	NM_DB_EQ_ARM,
};

struct nm_db {
	u8 type;
	u32 page;
	u64 val;
};

#define NM_DB_RING	8192	/* power of two */

struct nm_db_ring {
	_Atomic u32 head;	/* producer: server thread */
	_Atomic u32 tail;	/* consumer: engine */
	_Atomic bool overflow;
	struct nm_db ent[NM_DB_RING];
};

#define NM_BF_SLOTS	64	/* power of two */

/**
 * struct nm_bf - BlueFlame: a burst that is coming in, and those that came
 * @data: the first @have bytes of a burst at @at of page @page; server thread
 * @bursty: pages that have seen one; server thread
 * @slot: whole WQEs; server thread to engine, as the doorbell ring
 */
struct nm_bf {
	u32 page;
	u32 at;
	u32 have;
	u64 since;
	u8 data[NM_WQE_BB];
	u32 bursty[NM_BAR0_SIZE / NM_PAGE_SIZE / 32];
	_Atomic u32 head;
	_Atomic u32 tail;
	u8 slot[NM_BF_SLOTS][NM_WQE_BB] __aligned(16);
};

/* Registers in the initialization segment that software or firmware sets */
struct nm_regs {
	_Atomic u32 cmdq_hi;
	_Atomic u32 cmdq_lo;
	_Atomic u32 synd;		/* health syndrome, 0: healthy */
	_Atomic u32 ext_synd;
	_Atomic u32 rfr_severity;
	_Atomic u32 synd_time;
	_Atomic u32 nic_ifc;
	_Atomic u64 reset_until;	/* ns: a reset is under way */
	_Atomic u64 init_until;		/* ns: firmware is starting */
	_Atomic bool counter_frozen;	/* fault: the health counter stands */
};

#define NM_VSC_SEMAPHORES	64

/* State behind the vendor-specific capability; server thread */
struct nm_vsc {
	u16 space;
	u32 sem[NM_VSC_SEMAPHORES];
};

struct nm_pages {
	u64 *pa;
	u32 nr;
	u32 cap;
	u32 want_boot;
	u32 want_init;
};

struct nm_port {
	bool link_up;		/* of the model's wire */
	bool admin_up;		/* PAOS */
	bool was_up;		/* last state told to the driver */
	u16 admin_mtu;		/* PMTU, payload with Ethernet header */
	u16 oper_mtu;
	u8 mac[6];		/* permanent */
	struct nm_port_counters tx;
	struct nm_port_counters rx;
	u64 rx_frames_over;
};

struct nm_vport {
	u8 mac[6];
	u16 mtu;
	u8 min_inline;
	bool disable_mc_lb;
	bool disable_uc_lb;
	u8 node_desc[64];
	u64 node_guid;
};

enum nm_fn_state {
	NM_FN_RESET,		/* nothing enabled */
	NM_FN_ENABLED,		/* ENABLE_HCA done */
	NM_FN_READY,		/* INIT_HCA done */
	NM_FN_DEAD,		/* fatal error: commands get no answer */
};

/**
 * struct nm_fn - one PCI function
 * @cfg: configuration space; owned by the server thread
 * @dma: guest memory; lock
 * @db: doorbells on their way from the server thread to the engine
 * @eq_by_num: event queues for the doorbell path; lock
 * @sq_active: send queues with work; engine
 */
struct nm_fn {
	struct nm_model *model;
	unsigned int idx;

	/* server thread */
	u8 cfg[4096];
	u64 cq_latch;		/* first half of an arming doorbell */
	struct nm_vsc vsc;

	/* both, by atomics */
	struct nm_regs regs;
	struct nm_db_ring db;
	struct nm_bf bf;

	/* under nm_model.lock */
	const struct nm_xport_ops *xport;
	void *xport_priv;
	struct nm_dma dma;
	enum nm_fn_state state;
	bool issi_set;
	u8 issi;
	struct nm_caps *caps;
	struct nm_quic *quic;
	struct nm_objtab objs;
	struct nm_pages pages;
	struct nm_port port;
	struct nm_vport vport;
	struct nm_eq *eq_cmd;
	struct nm_eq *eq_async;
	struct nm_eq *eq_pages;
	u32 ft_root_rx;		/* 0: none */
	u32 ft_root_tx;
	u32 cmd_pending;	/* slots rung and not yet executed */
	u32 cmd_mute;		/* slots without an answer: a fault */
	u32 cmd_owed;		/* answered, but the event was lost: a fault */
	u32 cmd_delayed;	/* slots that wait for @cmd_due: a fault */
	u64 cmd_due[NM_CMD_SLOTS];
	u64 sq_due;		/* no send WQE before: a fault */
	struct nm_sq *sq_active;
	struct nm_cq *cq_moderated;
	struct nm_faults faults;
	bool was_attached;

	u64 cnt[NM_CNT_MAX];
};

struct nm_opts {
	const char *socket[NM_MAX_FN];
	unsigned int nr_fn;
	const char *ctl;
	const char *pcap;
	const char *trace;
	const char *quic;	/* capability group, nm_quic_caps_parse(); NULL: off */
	unsigned int seed;
	bool loopback;		/* wire: each port to itself */
	const char *tap;	/* wire: names of TAP devices, one a port */
	bool minimal_caps;
	unsigned int cmd_timeout_ms;	/* told to the driver; 0: its own */
	bool once;		/* stop when the last client leaves */
};

struct nm_model {
	struct nm_opts opts;
	unsigned int nr_fn;
	struct nm_fn *fn[NM_MAX_FN];

	pthread_mutex_t lock;
	_Atomic u32 want;	/* lock waiters of the server thread */
	_Atomic bool stop;
	_Atomic bool sleeping;	/* the engine waits on kick_fd */
	int kick_fd;
	pthread_t engine;

	struct nm_wire *wire;
	struct nm_trace *trace;
	u64 epoch_ns;
	u64 now_ns;		/* time of the current engine batch */
};

static inline void nm_count(struct nm_fn *fn, enum nm_counter c)
{
	fn->cnt[c]++;
}

static inline void nm_count_add(struct nm_fn *fn, enum nm_counter c, u64 n)
{
	fn->cnt[c] += n;
}

u64 nm_clock_ns(void);
u64 nm_real_ns(void);

struct nm_model *nm_model_create(const struct nm_opts *opts);
void nm_model_destroy(struct nm_model *m);

/* Server thread: exclude the engine, at once after its current batch. */
void nm_lock(struct nm_model *m);
void nm_unlock(struct nm_model *m);

/* Device core, called by a transport on the server thread, without the lock */
void nm_fn_attach(struct nm_fn *fn, const struct nm_xport_ops *ops, void *priv);
void nm_fn_detach(struct nm_fn *fn);
void nm_fn_reset(struct nm_fn *fn);
int nm_bar_read(struct nm_fn *fn, u64 off, void *buf, u32 len);
int nm_bar_write(struct nm_fn *fn, u64 off, const void *buf, u32 len);

/* Under the lock */
void nm_fn_reset_locked(struct nm_fn *fn);
void nm_fn_fatal(struct nm_fn *fn, u8 synd, bool rfr);
void nm_fn_raise(struct nm_fn *fn, unsigned int vec);

/* Engine */
int nm_engine_start(struct nm_model *m);
void nm_engine_stop(struct nm_model *m);
void nm_engine_kick(struct nm_model *m);
bool nm_engine_poll(struct nm_model *m);
bool nm_db_full(struct nm_fn *fn);
void nm_db_push(struct nm_fn *fn, enum nm_db_type type, u32 page, u64 val);

#endif /* NM_MODEL_H */
