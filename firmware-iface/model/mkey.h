/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory keys and user memory. Context: nm_model.lock. */
#ifndef NM_MKEY_H
#define NM_MKEY_H

#include "model.h"

/* Index 1 with key byte 0 is the terminating lkey; 7 is the reserved one. */
#define NM_MKEY_FIRST	0x200
#define NM_RESD_LKEY	0x700u
/* The UMR QP has no protection domain: it reads lists under any key. */
#define NM_PD_ANY	~0u

enum nm_mkey_mode {
	NM_MKEY_PA	= 0,
	NM_MKEY_MTT	= 1,
	NM_MKEY_KLM	= 2,
	NM_MKEY_KSM	= 3,
};

struct nm_klm {
	u32 len;
	u32 key;
	u64 va;
};

/**
 * struct nm_mkey - a memory key
 * @len: bytes from @start; the whole address space when @len64
 * @octwords: room for translations, 16 bytes each, as created
 * @mtt, @klm: translations by mode; @nr of them are set up
 */
struct nm_mkey {
	struct nm_obj obj;
	u8 mode;
	u8 key;
	bool free;
	bool umr_en;
	bool local_write;
	bool len64;
	u8 log_page;
	u32 pd;
	u64 start;
	u64 len;
	u32 octwords;
	u32 nr;
	u64 *mtt;
	struct nm_klm *klm;
};

struct nm_umem {
	struct nm_obj obj;
	u64 *pas;
	u32 nr;
	u32 off;
	u8 log_page;
	u64 size;
};

/*
 * Host pieces of @len bytes at @va under a key. Returns their number, or -1:
 * no such key, wrong protection domain, no right, out of bounds, not mapped,
 * or more than @max pieces.
 */
int nm_mkey_iov(struct nm_fn *fn, u32 lkey, u32 pd, u64 va, u32 len, u8 prot,
		struct nm_iov *iov, int max);
/* Room for @nr translations of the key's mode; false: more than it was made for */
bool nm_mkey_reserve(struct nm_mkey *mk, u32 nr);

#endif /* NM_MKEY_H */
