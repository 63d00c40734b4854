/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Flow steering: tables of groups of entries. A group has one mask and a range
 * of indices; of the entries that match, the lowest index wins, so groups are
 * tried in order of their ranges. nm_model.lock.
 */
#ifndef NM_STEER_H
#define NM_STEER_H

#include "cmd.h"
#include "pkt.h"
#include "rss.h"

#define NM_MATCH_DW	(NM_BYTES(fte_match_param) / 4)
#define NM_FTE_MAX_DEST	32
#define NM_STEER_DEPTH	64

enum nm_ft_type {
	NM_FT_NIC_RX = 0,
	NM_FT_NIC_TX = 1,
};

struct nm_ft;
struct nm_quic_ctx;

/* An address in the match value where the group's mask is not zero */
struct nm_match_dw {
	u16 dw;
	u32 mask;
};

struct nm_fte {
	struct nm_fte *hash_next;
	struct nm_fte *next;	/* in nm_ft.by_index order of the bucket */
	struct nm_fg *fg;
	u32 index;
	u32 hash;
	u32 flow_tag;
	u16 action;
	u8 nr_dest;
	u8 nr_fc;
	struct nm_obj *dest[NM_FTE_MAX_DEST];	/* flow tables and TIRs */
	struct nm_obj *fc[4];
	struct nm_obj *quic;	/* context that opens, or NULL */
	bool quic_lookup;	/* the packet says which */
	u32 key[];		/* masked values, one a nm_fg.dw */
};

/**
 * struct nm_fg - flow group
 * @dw: the non-zero words of its mask
 * @bucket: entries by hash of their key; @nr_buckets a power of two
 */
struct nm_fg {
	struct nm_obj obj;
	struct nm_ft *ft;
	struct nm_fg *next;	/* by start index */
	u32 start, end;
	u8 criteria;
	u8 nr_dw;
	struct nm_match_dw *dw;
	struct nm_fte **bucket;
	u32 nr_buckets;
	u32 nr_fte;
};

struct nm_ft {
	struct nm_obj obj;
	struct nm_fg *groups;
	struct nm_ft *miss;
	u8 type;
	u8 level;
	u8 log_size;
	bool drop_miss;
	u32 nr_fte;
};

struct nm_fc {
	struct nm_obj obj;
	u64 packets;
	u64 octets;
};

/* What a frame looks like to the matcher, in the layout of the masks */
struct nm_match {
	u32 dw[NM_MATCH_DW];	/* big endian words */
	u32 len;
};

/**
 * struct nm_verdict - where steering sends a frame
 * @tir: destinations, in the order of the rules
 * @quic: context to open with, by destination; @lookup: it is to be found
 */
struct nm_verdict {
	struct nm_tir *tir[NM_FTE_MAX_DEST];
	u32 tag[NM_FTE_MAX_DEST];
	struct nm_quic_ctx *quic[NM_FTE_MAX_DEST];
	bool lookup[NM_FTE_MAX_DEST];
	u32 nr;
};

void nm_match_build(struct nm_match *m, const struct nm_pkt *p);
void nm_steer_rx(struct nm_fn *fn, const struct nm_match *m,
		 struct nm_verdict *v);
struct nm_fte *nm_fte_find(struct nm_ft *ft, u32 index);
void nm_fg_index(struct nm_fg *fg, struct nm_fte *fte);
void nm_fg_unindex(struct nm_fg *fg, struct nm_fte *fte);
u32 nm_key_hash(const u32 *key, u32 n);

#endif /* NM_STEER_H */
