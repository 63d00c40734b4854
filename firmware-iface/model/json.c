// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* JSON reader (RFC 8259). Bounded depth; the text need not end with a zero. */
#include <math.h>
#include <stdlib.h>

#include "json.h"

#define JSON_MAX_DEPTH	16

struct reader {
	const char *p;
	const char *end;
	int depth;
};

static struct nm_json *read_value(struct reader *r);

static void skip_ws(struct reader *r)
{
	while (r->p < r->end && strchr(" \t\r\n", *r->p) && *r->p)
		r->p++;
}

static bool take(struct reader *r, char c)
{
	skip_ws(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static bool take_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n))
		return false;
	r->p += n;
	return true;
}

/* Escapes of one character only; \u is kept to the ASCII range. */
static int read_escape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char hex[5] = "", *e;
	const char *f;
	long v;

	if (r->p == r->end)
		return -1;
	f = *r->p ? strchr(from, *r->p) : NULL;
	if (f) {
		r->p++;
		return to[f - from];
	}
	if (*r->p != 'u' || r->end - r->p < 5)
		return -1;
	memcpy(hex, r->p + 1, 4);
	v = strtol(hex, &e, 16);
	if (*e || v < 1 || v > 127)
		return -1;
	r->p += 5;
	return v;
}

static char *read_string(struct reader *r)
{
	const char *q = r->p;
	char *s, *d;

	if (!take(r, '"'))
		return NULL;
	for (q = r->p; q < r->end && *q != '"'; q++)
		if (*q == '\\')
			q++;
	if (q >= r->end)
		return NULL;
	s = malloc(q - r->p + 1);
	if (!s)
		return NULL;
	d = s;
	while (*r->p != '"') {
		int c = (unsigned char)*r->p++;

		if (c == '\\')
			c = read_escape(r);
		else if (c < 0x20)
			c = -1;
		if (c < 0 || r->p >= r->end) {
			free(s);
			return NULL;
		}
		*d++ = c;
	}
	*d = 0;
	r->p++;
	return s;
}

static bool read_members(struct reader *r, struct nm_json *j, char close)
{
	struct nm_json **tail = &j->child;

	if (take(r, close))
		return true;
	do {
		char *key = NULL;

		if (close == '}') {
			skip_ws(r);
			key = read_string(r);
			if (!key || !take(r, ':')) {
				free(key);
				return false;
			}
		}
		*tail = read_value(r);
		if (!*tail) {
			free(key);
			return false;
		}
		(*tail)->key = key;
		tail = &(*tail)->next;
	} while (take(r, ','));
	return take(r, close);
}

static bool read_number(struct reader *r, struct nm_json *j)
{
	char buf[32], *e;
	size_t n = 0;

	while (r->p + n < r->end && n < sizeof(buf) - 1 && r->p[n] &&
	       strchr("+-0123456789.eE", r->p[n]))
		n++;
	if (!n)
		return false;
	memcpy(buf, r->p, n);
	buf[n] = 0;
	j->num = strtod(buf, &e);
	if (*e || !isfinite(j->num))
		return false;
	r->p += n;
	j->type = NM_JSON_NUM;
	return true;
}

static bool read_into(struct reader *r, struct nm_json *j)
{
	switch (*r->p) {
	case '{':
		j->type = NM_JSON_OBJ;
		r->p++;
		return read_members(r, j, '}');
	case '[':
		j->type = NM_JSON_ARR;
		r->p++;
		return read_members(r, j, ']');
	case '"':
		j->type = NM_JSON_STR;
		j->str = read_string(r);
		return j->str;
	case 't':
		j->type = NM_JSON_BOOL;
		j->num = 1;
		return take_word(r, "true");
	case 'f':
		j->type = NM_JSON_BOOL;
		return take_word(r, "false");
	case 'n':
		return take_word(r, "null");
	default:
		return read_number(r, j);
	}
}

static struct nm_json *read_value(struct reader *r)
{
	struct nm_json *j;
	bool ok;

	skip_ws(r);
	if (r->p == r->end || r->depth == JSON_MAX_DEPTH)
		return NULL;
	j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	r->depth++;
	ok = read_into(r, j);
	r->depth--;
	if (!ok) {
		nm_json_free(j);
		return NULL;
	}
	return j;
}

struct nm_json *nm_json_parse(const char *text, size_t len)
{
	struct reader r = { .p = text, .end = text + len };
	struct nm_json *j = read_value(&r);

	skip_ws(&r);
	if (j && r.p != r.end) {
		nm_json_free(j);
		return NULL;
	}
	return j;
}

void nm_json_free(struct nm_json *j)
{
	while (j) {
		struct nm_json *next = j->next;

		nm_json_free(j->child);
		free(j->str);
		free(j->key);
		free(j);
		j = next;
	}
}

const struct nm_json *nm_json_get(const struct nm_json *obj, const char *key)
{
	const struct nm_json *c;

	if (!obj || obj->type != NM_JSON_OBJ)
		return NULL;
	for (c = obj->child; c; c = c->next)
		if (!strcmp(c->key, key))
			return c;
	return NULL;
}

double nm_json_num(const struct nm_json *obj, const char *key, double def)
{
	const struct nm_json *c = nm_json_get(obj, key);

	if (!c || (c->type != NM_JSON_NUM && c->type != NM_JSON_BOOL))
		return def;
	return c->num;
}

const char *nm_json_str(const struct nm_json *obj, const char *key,
			const char *def)
{
	const struct nm_json *c = nm_json_get(obj, key);

	return c && c->type == NM_JSON_STR ? c->str : def;
}
