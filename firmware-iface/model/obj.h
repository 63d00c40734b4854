/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Firmware objects: identity, ownership and life time.
 *
 * Every object has an owner, the uid of the command that created it: 0 is the
 * kernel driver, others are DEVX contexts. A command with a uid reaches only
 * that uid's objects, and the kernel's where the type is shared. An object that
 * another one uses cannot be destroyed (RES_BUSY). Closing a DEVX context
 * destroys what it owned, users first, and nobody else's.
 *
 * Context: nm_model.lock.
 */
#ifndef NM_OBJ_H
#define NM_OBJ_H

#include "ifc.h"

struct nm_fn;
struct nm_cmd;

enum nm_obj_type {
	NM_OBJ_UAR,
	NM_OBJ_PD,
	NM_OBJ_TD,
	NM_OBJ_XRCD,
	NM_OBJ_UCTX,
	NM_OBJ_UMEM,
	NM_OBJ_MKEY,
	NM_OBJ_EQ,
	NM_OBJ_CQ,
	NM_OBJ_SQ,
	NM_OBJ_RQ,
	NM_OBJ_QP,
	NM_OBJ_RMP,
	NM_OBJ_XRC_SRQ,
	NM_OBJ_RQT,
	NM_OBJ_TIR,
	NM_OBJ_TIS,
	NM_OBJ_FT,
	NM_OBJ_FG,
	NM_OBJ_FC,
	NM_OBJ_QCTR,
	NM_OBJ_GEN,
	NM_OBJ_MAX,
};

/* Number spaces. Queues share one, and so do the receive queues of SRQ kind. */
enum nm_space {
	NM_SPACE_UAR,
	NM_SPACE_PD,
	NM_SPACE_TD,
	NM_SPACE_XRCD,
	NM_SPACE_UCTX,
	NM_SPACE_UMEM,
	NM_SPACE_MKEY,
	NM_SPACE_EQ,
	NM_SPACE_CQ,
	NM_SPACE_QUEUE,
	NM_SPACE_SRQ,
	NM_SPACE_RQT,
	NM_SPACE_TIR,
	NM_SPACE_TIS,
	NM_SPACE_FT,
	NM_SPACE_FG,
	NM_SPACE_FC,
	NM_SPACE_QCTR,
	NM_SPACE_GEN,
	NM_SPACE_MAX,
};

#define NM_OBJ_REFS	8

/**
 * struct nm_obj - the head of every object
 * @destroy: releases what the object holds besides its references; may be NULL
 * @sever: lets go of what holds the object from inside (a flow group's entries),
 *	   before a flush looks at @users; may be NULL
 * @users: objects that hold a reference on this one
 * @ref: objects that this one holds
 */
struct nm_obj {
	struct nm_fn *fn;
	struct nm_obj *prev, *next;
	void (*destroy)(struct nm_obj *obj);
	void (*sever)(struct nm_obj *obj);
	u32 id;
	u32 users;
	u16 uid;
	u8 type;
	u8 nr_ref;
	struct nm_obj *ref[NM_OBJ_REFS];
};

struct nm_idtab {
	struct nm_obj **slot;
	u32 first;	/* lowest number given out */
	u32 limit;	/* numbers at and above are never given out */
	u32 cap;
	u32 hint;
	u32 used;
};

struct nm_objtab {
	struct nm_idtab tab[NM_SPACE_MAX];
	struct nm_obj *head, *tail;
};

void nm_objtab_init(struct nm_fn *fn);
void nm_objtab_flush(struct nm_fn *fn);

const char *nm_obj_name(enum nm_obj_type type);
u32 nm_obj_count(struct nm_fn *fn, enum nm_obj_type type);

/* Sets the command's status and returns NULL when there is no room. */
void *nm_obj_new(struct nm_cmd *c, enum nm_obj_type type, size_t size);
/* Undo of nm_obj_new(), also for an object whose set-up failed halfway */
void nm_obj_del(struct nm_obj *obj);

/* NULL without a status: data path */
struct nm_obj *nm_obj_lookup(struct nm_fn *fn, enum nm_obj_type type, u32 id);
/* Checks type and ownership; NULL sets BAD_RES in the command. */
void *nm_obj_find(struct nm_cmd *c, enum nm_obj_type type, u32 id);
/* nm_obj_find() and hold for the life of @user */
void *nm_obj_use(struct nm_cmd *c, struct nm_obj *user, enum nm_obj_type type,
		 u32 id);
void nm_obj_hold(struct nm_obj *obj);
void nm_obj_put(struct nm_obj *obj);
void nm_obj_unref(struct nm_obj *user, struct nm_obj *obj);

/* Everything that @uid still owns; called when its context is closed. */
void nm_obj_flush_uid(struct nm_fn *fn, u16 uid);

/* Next object of a type after @obj (NULL: the first), in order of creation */
struct nm_obj *nm_obj_next(struct nm_fn *fn, enum nm_obj_type type,
			   struct nm_obj *obj);

#endif /* NM_OBJ_H */
