/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* JSON, as much of it as control messages need: read into a tree, written out. */
#ifndef NM_JSON_H
#define NM_JSON_H

#include "ifc.h"

enum nm_json_type {
	NM_JSON_NULL, NM_JSON_BOOL, NM_JSON_NUM, NM_JSON_STR, NM_JSON_ARR,
	NM_JSON_OBJ,
};

struct nm_json {
	enum nm_json_type type;
	double num;		/* also a BOOL's value */
	char *str;
	char *key;		/* as a member of an object */
	struct nm_json *child;
	struct nm_json *next;
};

/* NULL: not JSON, nested too deep, or no memory */
struct nm_json *nm_json_parse(const char *text, size_t len);
void nm_json_free(struct nm_json *j);
const struct nm_json *nm_json_get(const struct nm_json *obj, const char *key);
/* Defaults when the member is missing or of another type */
double nm_json_num(const struct nm_json *obj, const char *key, double def);
const char *nm_json_str(const struct nm_json *obj, const char *key,
			const char *def);

#endif /* NM_JSON_H */
