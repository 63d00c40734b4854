/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* General objects by type. nm_model.lock. */
#ifndef NM_GENOBJ_H
#define NM_GENOBJ_H

#include "cmd.h"

#define NM_GEN_MAX_LOG_RANGE	12

struct nm_gen;

/**
 * struct nm_gen_ops - one type of general object
 * @size: bytes of its layout, behind the command's header
 * @priv_size: bytes of nm_gen.data; 0: @size
 * @set: check and take over at creation; false: the command has failed
 * @destroy: let go of what @set took, all of it or a part; may be NULL
 */
struct nm_gen_ops {
	u16 type;
	const char *name;
	u32 size;
	u32 priv_size;
	bool (*set)(struct nm_cmd *c, struct nm_gen *g, const void *in);
	bool (*modify)(struct nm_cmd *c, struct nm_gen *g, const void *in);
	void (*query)(const struct nm_gen *g, void *out);
	void (*destroy)(struct nm_gen *g);
};

struct nm_gen {
	struct nm_obj obj;
	const struct nm_gen_ops *ops;
	u8 data[] __aligned(8);
};

#endif /* NM_GENOBJ_H */
