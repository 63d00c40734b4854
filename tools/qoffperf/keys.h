/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Keys of one connection and their updates, RFC 9001 sections 5 and 6. */
#ifndef QOFFPERF_KEYS_H
#define QOFFPERF_KEYS_H

#include <qoff.h>

#include "util.h"

/**
 * struct key_dir - keys of one direction
 * @secret: traffic secret that @keys come from
 * @keys: the present keys; keys.hp never changes
 * @gen: key updates so far; its lowest bit is the key phase
 */
struct key_dir {
	u8 secret[QOFF_MAX_SECRET];
	struct qoff_keys keys;
	u32 gen;
};

/**
 * struct opener - receiving keys for opening in this process
 * @cur: keys of the present phase
 * @next: one update ahead
 * @prev: one update behind, NULL when retired
 * @gen: of @cur
 */
struct opener {
	struct key_dir next_dir;
	struct qoff_cipher *cur;
	struct qoff_cipher *next;
	struct qoff_cipher *prev;
	u32 gen;
};

int key_dir_init(struct key_dir *d, u32 cipher, const u8 *secret, size_t len);
int key_dir_update(struct key_dir *d);

int opener_init(struct opener *o, u32 cipher, const u8 *secret, size_t len);
void opener_free(struct opener *o);
int opener_open(struct opener *o, u8 *pkt, size_t len, size_t pn_off,
		u64 largest, u64 *pn, unsigned int *pn_len, u32 *gen);
int opener_advance(struct opener *o);
void opener_retire(struct opener *o);

#endif /* QOFFPERF_KEYS_H */
