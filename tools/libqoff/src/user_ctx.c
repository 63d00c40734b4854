// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending contexts in user space.
 */
#include <stdlib.h>

#include "user.h"

/* Keys are uniform, so their first bytes are a hash. */
static struct user_key **bucket(struct qoff *q, const struct qoff_keys *k)
{
	return &q->keys[(k->key[0] | k->key[1] << 8) % QOFF_KEY_BUCKETS];
}

/* One key under two contexts would use packet numbers twice. */
static int publish(struct qoff *q, struct user_key *key)
{
	const struct qoff_keys *k = qoff_cipher_keys(key->c);
	struct user_key **head = bucket(q, k), *i;
	int err = 0;

	pthread_mutex_lock(&q->key_lock);
	for (i = *head; i && !err; i = i->next) {
		const struct qoff_keys *o = qoff_cipher_keys(i->c);

		if (o->cipher == k->cipher && !memcmp(o->key, k->key, k->key_len))
			err = -EEXIST;
	}
	if (!err) {
		key->next = *head;
		*head = key;
	}
	pthread_mutex_unlock(&q->key_lock);
	return err ? qoff_fail(EEXIST, "this key is installed already") : 0;
}

static void free_key(struct qoff *q, struct user_key *key)
{
	struct user_key **p;

	if (!key)
		return;
	pthread_mutex_lock(&q->key_lock);
	for (p = bucket(q, qoff_cipher_keys(key->c)); *p && *p != key; p = &(*p)->next)
		;
	if (*p)
		*p = key->next;
	pthread_mutex_unlock(&q->key_lock);
	qoff_cipher_free(key->c);
	free(key);
}

/* @hp: NULL, or the key whose header protection the new one shares. */
static int new_key(struct qoff *q, const struct qoff_keys *keys, const struct user_key *hp,
		   uint32_t seq, struct user_key **res)
{
	struct user_key *key;
	int err;

	key = calloc(1, sizeof(*key));
	if (!key)
		return qoff_fail(ENOMEM, "no memory");
	key->seq = seq;
	key->c = hp ? qoff_cipher_update(hp->c, keys) : qoff_cipher_new(keys);
	if (!key->c) {
		err = -errno;
		free(key);
		return err;
	}
	err = publish(q, key);
	if (err) {
		qoff_cipher_free(key->c);
		free(key);
		return err;
	}
	*res = key;
	return 0;
}

static int check_param(const struct qoff_ctx_param *p)
{
	/* ERANGE where the netlink policy has the limit. */
	if (!qoff_cipher_info(p->keys->cipher))
		return qoff_fail(ERANGE, "cipher %u is not known", p->keys->cipher);
	if (p->dcid_len > QOFF_MAX_DCID)
		return qoff_fail(ERANGE, "a connection ID has at most %u bytes", QOFF_MAX_DCID);
	if (p->phase > 1)
		return qoff_fail(ERANGE, "a key phase is 0 or 1");
	if (p->flags & ~QUIC_OFFLOAD_CTX_FLAG_GREASE_FIXED_BIT)
		return qoff_fail(EINVAL, "unknown context flags %#x", p->flags);
	if (p->path_id)
		return qoff_fail(EOPNOTSUPP, "path ids are reserved");
	if (p->first_pn > QOFF_PN_MAX)
		return qoff_fail(ERANGE, "packet numbers end at 2^62-1");
	return qoff_keys_check(p->keys, true);
}

/* Under g->lock: a free index, or 0. */
static uint32_t free_index(struct user_group *g)
{
	struct user_ctx **grown;
	uint32_t i, size;

	for (i = 1; i < g->size; i++) {
		if (!g->ctx[i])
			return i;
	}
	size = g->size ? g->size * 2 : 16;
	grown = realloc(g->ctx, size * sizeof(*grown));
	if (!grown)
		return 0;
	memset(grown + g->size, 0, (size - g->size) * sizeof(*grown));
	i = g->size ? g->size : 1;
	g->ctx = grown;
	g->size = size;
	return i;
}

static int insert(struct user_group *g, struct user_ctx *ctx)
{
	int err = 0;

	pthread_mutex_lock(&g->lock);
	if (g->nctx >= USER_MAX_CTX) {
		err = qoff_fail(ENOSPC, "a group has at most %u contexts", USER_MAX_CTX);
	} else {
		ctx->id.id = free_index(g);
		if (!ctx->id.id)
			err = qoff_fail(ENOMEM, "no memory");
	}
	if (!err) {
		ctx->id.gen = ++g->next_gen;
		g->ctx[ctx->id.id] = ctx;
		g->nctx++;
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}

int user_ctx_add(struct qoff_sock *s, const struct qoff_ctx_param *p, struct qoff_ctx_id *id)
{
	struct user_ctx *ctx;
	int err;

	err = check_param(p);
	if (err)
		return err;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return qoff_fail(ENOMEM, "no memory");
	ctx->ref = 1;
	ctx->cipher = p->keys->cipher;
	ctx->flags = p->flags;
	ctx->dcid_len = p->dcid_len;
	ctx->next_pn = p->first_pn;
	ctx->cur = 1;
	ctx->newest = 1;
	pthread_mutex_init(&ctx->lock, NULL);
	err = new_key(s->q, p->keys, NULL, 1, &ctx->slot[p->phase]);
	if (!err)
		err = insert(s->user->group, ctx);
	if (err) {
		user_ctx_put(s->q, ctx);
		return err;
	}
	*id = ctx->id;
	return 0;
}

void user_ctx_put(struct qoff *q, struct user_ctx *ctx)
{
	if (atomic_fetch_sub(&ctx->ref, 1) != 1)
		return;
	free_key(q, ctx->slot[0]);
	free_key(q, ctx->slot[1]);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

/* @gen 0: any. Under g->lock. */
static struct user_ctx *lookup(struct user_group *g, struct qoff_ctx_id id, int *err)
{
	struct user_ctx *ctx = id.id && id.id < g->size ? g->ctx[id.id] : NULL;

	if (!id.id) {
		*err = qoff_fail(ERANGE, "context 0 is none");
		return NULL;
	}
	if (!ctx) {
		*err = qoff_fail(ENOENT, "no context %u", id.id);
		return NULL;
	}
	if (id.gen && ctx->id.gen != id.gen) {
		*err = qoff_fail(ESTALE, "context %u has another generation", id.id);
		return NULL;
	}
	return ctx;
}

static struct user_ctx *get_ctx(struct user_group *g, struct qoff_ctx_id id, int *err)
{
	struct user_ctx *ctx;

	pthread_mutex_lock(&g->lock);
	ctx = lookup(g, id, err);
	if (ctx)
		atomic_fetch_add(&ctx->ref, 1);
	pthread_mutex_unlock(&g->lock);
	return ctx;
}

struct user_ctx *user_ctx_find(struct user_group *g, struct qoff_ctx_id id, int *err)
{
	/* Generation 0 is never given out. */
	if (!id.gen)
		id.gen = UINT32_MAX;
	return get_ctx(g, id, err);
}

int user_ctx_update(struct qoff_sock *s, struct qoff_ctx_id id, unsigned int phase,
		    const struct qoff_keys *keys)
{
	struct user_key *key, *newest, *old;
	struct user_ctx *ctx;
	int err = 0;

	if (phase > 1)
		return qoff_fail(ERANGE, "a key phase is 0 or 1");
	ctx = user_ctx_find(s->user->group, id, &err);
	if (!ctx)
		return err;

	pthread_mutex_lock(&ctx->lock);
	newest = ctx->slot[!phase];
	if (keys->key_len != qoff_cipher_info(ctx->cipher)->key_len)
		err = qoff_fail(EINVAL, "the key of %s has another length",
				qoff_cipher_name(ctx->cipher));
	else if (!newest || newest->seq != ctx->newest)
		err = qoff_fail(EINVAL, "the newest key has phase %u already", phase);
	else if (ctx->slot[phase] && ctx->cur != ctx->newest)
		err = qoff_fail(EBUSY, "the newest key was not used yet, the older one still is");
	else
		err = new_key(s->q, keys, newest, ctx->newest + 1, &key);
	if (!err) {
		old = ctx->slot[phase];
		ctx->slot[phase] = key;
		ctx->newest++;
		free_key(s->q, old);
	}
	pthread_mutex_unlock(&ctx->lock);
	user_ctx_put(s->q, ctx);
	return err;
}

int user_ctx_del(struct qoff_sock *s, struct qoff_ctx_id id)
{
	struct user_group *g = s->user->group;
	struct user_ctx *ctx;
	int err = 0;

	if (!id.gen)
		id.gen = UINT32_MAX;
	pthread_mutex_lock(&g->lock);
	ctx = lookup(g, id, &err);
	if (ctx) {
		g->ctx[id.id] = NULL;
		g->nctx--;
	}
	pthread_mutex_unlock(&g->lock);
	if (!ctx)
		return err;
	pthread_mutex_lock(&ctx->lock);
	ctx->dead = true;
	pthread_mutex_unlock(&ctx->lock);
	user_ctx_put(s->q, ctx);
	return 0;
}

int user_ctx_get(struct qoff_sock *s, uint32_t id, struct qoff_ctx_info *info)
{
	struct user_key *key;
	struct user_ctx *ctx;
	int err = 0;

	memset(info, 0, sizeof(*info));
	ctx = get_ctx(s->user->group, (struct qoff_ctx_id){ .id = id }, &err);
	if (!ctx)
		return err;
	pthread_mutex_lock(&ctx->lock);
	info->id = ctx->id;
	info->cipher = ctx->cipher;
	info->flags = ctx->flags;
	info->dcid_len = ctx->dcid_len;
	info->next_pn = ctx->next_pn;
	info->phase = ctx->slot[1] && ctx->slot[1]->seq == ctx->newest;
	key = ctx->slot[info->phase];
	info->key_used = key->used;
	info->key_limit = qoff_cipher_info(ctx->cipher)->seal_limit;
	user_stats_get(&ctx->stats, &info->stats);
	pthread_mutex_unlock(&ctx->lock);
	user_ctx_put(s->q, ctx);
	return 0;
}

void user_ctx_drop_all(struct qoff *q, struct user_group *g)
{
	for (uint32_t i = 1; i < g->size; i++) {
		if (g->ctx[i])
			user_ctx_put(q, g->ctx[i]);
	}
	free(g->ctx);
}
