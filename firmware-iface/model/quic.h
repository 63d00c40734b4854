/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The QUIC extension of firmware-iface/README.md: contexts, sealing, opening,
 * coalescing. Engine thread, nm_model.lock.
 */
#ifndef NM_QUIC_H
#define NM_QUIC_H

#include <openssl/evp.h>
#include <qoff_mlx5_ifc.h>

#include "caps.h"
#include "genobj.h"
#include "pkt.h"
#include "tx.h"

#define NM_QUIC_MAX_HDR		(1 + QOFF_MLX5_MAX_DCID + 4)
#define NM_QUIC_SAMPLE		16
#define NM_QUIC_LOG_MAX_CTX	14
#define NM_QUIC_PURPOSES	16
#define NM_QUIC_LOOKUP_BUCKETS	4096

struct nm_rq;
struct nm_quic_sessions;

/**
 * struct nm_quic_slot - a payload key
 * @evp: the key, expanded once; NULL: the slot is empty
 * @dek: where it came from; NULL for a key that came in band
 * @packets: sealed or opened since it was filled
 * @limited: EV_LIMIT has been told
 */
struct nm_quic_slot {
	EVP_CIPHER_CTX *evp;
	struct nm_obj *dek;
	u64 packets;
	u8 iv[QOFF_MLX5_IV];
	u8 tag;
	bool limited;
};

/* What a packet is looked up by, for contexts with a match of their own */
struct nm_quic_match {
	u8 ip_ver;
	u8 dcid_len;
	u16 dst_port;
	u16 src_port;	/* 0: any remote */
	u16 zero;
	u8 dst[16];
	u8 src[16];
	u8 dcid[QOFF_MLX5_MAX_DCID];
};

/**
 * struct nm_quic_ctx - contents of a QUIC_CTX
 * @hp: the header-protection key, expanded once
 * @counted: the quota has it
 * @lookup_next: in nm_quic.lookup while @lookup
 */
struct nm_quic_ctx {
	struct nm_gen *gen;
	EVP_CIPHER_CTX *hp;
	struct nm_obj *hp_dek;
	struct nm_quic_slot slot[2];
	u64 next_pn;
	u64 limit;
	u64 auth_failures;
	u32 handle;
	u32 path_id;
	u8 dir;
	u8 cipher;
	u8 dcid_len;
	u8 fail_action;
	u8 phase;
	bool pn_check;
	bool gro;
	bool in_band;
	bool lookup;
	bool revoked;
	bool counted;
	struct nm_quic_match match;
	struct nm_quic_ctx *lookup_next;
};

/**
 * struct nm_quic - the extension's state of a function
 * @nr_ctx: objects by direction
 * @nr_dek: DEKs by purpose
 * @nr_lookup: contexts with a match of their own, by DCID length
 */
struct nm_quic {
	u32 nr_ctx[2];
	u32 nr_dek[NM_QUIC_PURPOSES];
	struct nm_quic_ctx *lookup[NM_QUIC_LOOKUP_BUCKETS];
	u32 nr_lookup[QOFF_MLX5_MAX_DCID + 1];
	struct nm_quic_sessions *sessions;
};

struct nm_quic *nm_quic_create(void);
void nm_quic_destroy(struct nm_quic *q);

/* quic_cap.c */
extern const struct nm_cap_row nm_quic_cap_rows[];
extern const u32 nm_quic_cap_nr;
bool nm_quic_on(const struct nm_fn *fn);
/* "off", "on", and "on,-field,field=value"; false: no such field */
bool nm_quic_caps_parse(const char *spec, u8 *cap);
#define NM_QUIC_CAP(fn, fld) \
	NM_GET(quic_cap, (fn)->caps->cur[NM_CAP_QUIC], fld)

/* quic_ctx.c: rows of genobj.c and what DEKs owe the contexts */
extern const struct nm_gen_ops nm_quic_gen_ops;
bool nm_quic_dek_new(struct nm_cmd *c, u32 purpose);
void nm_quic_dek_gone(struct nm_fn *fn, u32 purpose);
/* A context by number, of @uid; NULL: there is none */
struct nm_quic_ctx *nm_quic_ctx_get(struct nm_fn *fn, u32 id, u16 uid);
/* Of an object that is known to be one */
struct nm_quic_ctx *nm_quic_ctx_of(struct nm_obj *obj);
void nm_quic_event(struct nm_quic_ctx *x, enum qoff_mlx5_event ev);
/* One packet more in slot @n; raises the event at the limit. */
void nm_quic_count(struct nm_quic_ctx *x, unsigned int n, u64 packets);
void nm_quic_revoke(struct nm_quic_ctx *x);

/* quic_wqe.c: context control in band; returns a completion syndrome */
u8 nm_quic_ctx_wqe(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w);
/* quic_ctx.c, for it; the command's status tells */
void nm_quic_write(struct nm_cmd *c, struct nm_quic_ctx *x,
		   const struct qoff_mlx5_wqe_ctx_data *d);
void nm_quic_modify(struct nm_cmd *c, struct nm_quic_ctx *x, const void *in,
		    const struct qoff_mlx5_wqe_ctx_data *d);
void nm_quic_clear(struct nm_quic_ctx *x);

/* quic_crypto.c */
EVP_CIPHER_CTX *nm_quic_aead_new(u8 cipher, bool seal, const u8 *key);
EVP_CIPHER_CTX *nm_quic_hp_new(u8 cipher, const u8 *key);
u32 nm_quic_key_len(u8 cipher);
void nm_quic_nonce(const struct nm_quic_ctx *x, unsigned int slot, u64 pn, u8 *nonce);
/* @tag is written; @in and @out may be the same */
bool nm_quic_seal(const struct nm_quic_ctx *x, unsigned int slot, u64 pn,
		  const u8 *aad, u32 aad_len, const u8 *in, u32 len, u8 *out,
		  u8 *tag);
/* False: not authentic; what is in @out then is not to be used. */
bool nm_quic_open(const struct nm_quic_ctx *x, unsigned int slot, u64 pn,
		  const u8 *aad, u32 aad_len, const u8 *in, u32 len, u8 *out,
		  const u8 *tag);
/* Masks of @n samples, 16 bytes each, of which five are the mask */
bool nm_quic_masks(const struct nm_quic_ctx *x, const u8 *samples, u32 n, u8 *masks);

/* quic_tx.c */
u8 nm_quic_tx_seg(struct nm_fn *fn, struct nm_wqe *w, u32 *off);
u8 nm_quic_tx(struct nm_fn *fn, struct nm_sq *sq, struct nm_wqe *w);

/**
 * struct nm_quic_rx - what became of a received packet
 * @flags: enum qoff_mlx5_rx_flags
 * @data: the UDP payload as it is to be delivered, @len bytes
 * @drop: not to be delivered
 */
struct nm_quic_rx {
	struct nm_quic_ctx *ctx;
	const u8 *data;
	u32 len;
	u64 pn;
	u8 flags;
	u8 phase;
	u8 pn_len;
	u8 tag;
	bool drop;
};

/* quic_rx.c: @buf has room for the payload */
void nm_quic_rx_packet(struct nm_quic_ctx *x, const u8 *payload, u32 len, u8 *buf,
		       struct nm_quic_rx *r);
struct nm_quic_ctx *nm_quic_lookup(struct nm_fn *fn, const struct nm_pkt *p);
void nm_quic_lookup_add(struct nm_quic *q, struct nm_quic_ctx *x);
void nm_quic_lookup_del(struct nm_quic *q, struct nm_quic_ctx *x);
struct nm_quic_ctx *nm_quic_lookup_same(struct nm_quic *q,
					const struct nm_quic_match *m);

#endif /* NM_QUIC_H */
