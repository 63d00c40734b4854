// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving flows in user space.
 */
#include <netinet/in.h>
#include <stdlib.h>

#include "user.h"

static _Atomic uint32_t next_id = 1;

static bool same_addr(const struct qoff_addr *a, const struct qoff_addr *b)
{
	return a->len == b->len && !memcmp(a->a, b->a, a->len);
}

/* FNV-1a; connection IDs are random, an attacker cannot choose ours. */
static unsigned int bucket(const struct user_group *g, const uint8_t *dcid, uint16_t port)
{
	uint32_t h = 2166136261U ^ port;

	for (unsigned int i = 0; i < g->dcid_len; i++)
		h = (h ^ dcid[i]) * 16777619U;
	return (h ^ h >> 16) % FLOW_BUCKETS;
}

static void free_rxkeys(struct user_rxkeys *k)
{
	if (!k || atomic_fetch_sub(&k->ref, 1) != 1)
		return;
	qoff_cipher_free(k->hp);
	qoff_cipher_free(k->slot[0]);
	qoff_cipher_free(k->slot[1]);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static int new_rxkeys(const struct qoff_keys *keys, unsigned int phase, uint32_t gen,
		      uint64_t largest_pn, struct user_rxkeys **res)
{
	struct user_rxkeys *k;

	k = calloc(1, sizeof(*k));
	if (!k)
		return qoff_fail(ENOMEM, "no memory");
	k->ref = 1;
	pthread_mutex_init(&k->lock, NULL);
	k->cipher = keys->cipher;
	k->phase = phase;
	k->gen[phase] = gen;
	k->next_pn = largest_pn + 1;	/* QOFF_PN_NONE: 0 */
	k->hp = qoff_cipher_new(keys);
	k->slot[phase] = k->hp ? qoff_cipher_new(keys) : NULL;
	if (!k->slot[phase]) {
		free_rxkeys(k);
		return qoff_fail(ENOMEM, "no memory");
	}
	*res = k;
	return 0;
}

bool user_flow_is(const struct user_group *g, const struct user_flow *f,
		  const struct qoff_addr *local, const struct qoff_addr *remote,
		  const uint8_t *dcid)
{
	return f->remote.port == remote->port && same_addr(&f->remote, remote) &&
	       !memcmp(f->dcid, dcid, g->dcid_len) &&
	       (!local->len || same_addr(&f->local, local));
}

struct user_flow *user_flow_find(struct user_group *g, const struct qoff_addr *local,
				 const struct qoff_addr *remote, const uint8_t *dcid)
{
	struct user_flow *f;

	pthread_mutex_lock(&g->lock);
	for (f = g->flow[bucket(g, dcid, remote->port)]; f; f = f->next) {
		if (user_flow_is(g, f, local, remote, dcid))
			break;
	}
	if (f)
		atomic_fetch_add(&f->ref, 1);
	pthread_mutex_unlock(&g->lock);
	return f;
}

void user_flow_put(struct user_flow *f)
{
	if (!f || atomic_fetch_sub(&f->ref, 1) != 1)
		return;
	free_rxkeys(f->keys);
	free(f);
}

/* Under g->lock: where the flow hangs. */
static struct user_flow **slot_of(struct user_group *g, uint32_t id)
{
	for (unsigned int i = 0; i < FLOW_BUCKETS; i++) {
		for (struct user_flow **p = &g->flow[i]; *p; p = &(*p)->next) {
			if ((*p)->id == id)
				return p;
		}
	}
	return NULL;
}

static struct user_flow *get_flow(struct user_group *g, uint32_t id, int *err)
{
	struct user_flow **p, *f = NULL;

	pthread_mutex_lock(&g->lock);
	p = slot_of(g, id);
	if (p) {
		f = *p;
		atomic_fetch_add(&f->ref, 1);
	}
	pthread_mutex_unlock(&g->lock);
	if (!f)
		*err = qoff_fail(id ? ENOENT : ERANGE, "no flow %u", id);
	return f;
}

static int check_keys(const struct qoff_keys *keys, unsigned int phase)
{
	if (!qoff_cipher_info(keys->cipher))
		return qoff_fail(ERANGE, "cipher %u is not known", keys->cipher);
	if (phase > 1)
		return qoff_fail(ERANGE, "a key phase is 0 or 1");
	return 0;
}

static int check_pn(uint64_t largest_pn)
{
	if (largest_pn != QOFF_PN_NONE && largest_pn > QOFF_PN_MAX)
		return qoff_fail(ERANGE, "packet numbers end at 2^62-1");
	return 0;
}

static bool is_any(const struct qoff_addr *a)
{
	static const uint8_t zero[16];

	return !memcmp(a->a, zero, a->len);
}

static bool is_host(const struct qoff_addr *a)
{
	return !is_any(a) && !qoff_addr_multicast(a);
}

/* Can the socket receive packets of this flow at all? */
static int check_sock(const struct qoff_sock *s, const struct qoff_addr *local)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct qoff_addr a;
	int v6only = 0;

	if (getsockname(s->fd, (void *)&ss, &len) || qoff_addr_from((void *)&ss, &a) || !a.port)
		return qoff_fail(EINVAL, "the socket has no local port, bind it first");
	if ((s->family == AF_INET || a.len == 4) && local->len != 4)
		return qoff_fail(EINVAL, "the socket does IPv4 only");
	len = sizeof(v6only);
	if (s->family == AF_INET6 && local->len == 4 &&
	    !getsockopt(s->fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, &len) && v6only)
		return qoff_fail(EINVAL, "the socket does IPv6 only");
	if (!is_any(&a) && !same_addr(&a, local))
		return qoff_fail(EADDRNOTAVAIL, "the socket is bound to another address");
	return 0;
}

static int check_param(const struct qoff_sock *s, const struct qoff_flow_param *p)
{
	int err = 0;

	if (p->keys)
		err = check_keys(p->keys, p->phase);
	if (!err && p->dcid_len != s->user->group->dcid_len)
		err = qoff_fail(EINVAL, "connection IDs of this group have %u bytes, not %zu",
				s->user->group->dcid_len, p->dcid_len);
	if (!err && p->keys_of && (p->keys || p->largest_pn != QOFF_PN_NONE))
		err = qoff_fail(EINVAL, "keys-of excludes keys and largest-pn");
	if (!err && !p->keys && p->largest_pn != QOFF_PN_NONE)
		err = qoff_fail(EINVAL, "largest-pn needs a key");
	if (!err && p->keys)
		err = qoff_keys_check(p->keys, true);
	if (!err)
		err = check_pn(p->largest_pn);
	return err;
}

/* Under g->lock. */
static int insert(struct user_group *g, struct user_flow *f, uint32_t keys_of)
{
	struct user_flow **head = &g->flow[bucket(g, f->dcid, f->remote.port)], **other, *i;
	struct user_rxkeys *k;

	if (keys_of) {
		other = slot_of(g, keys_of);
		k = other ? (*other)->keys : NULL;
		if (!k)
			return qoff_fail(other ? EINVAL : ENOENT, "flow %u has no keys to share",
					 keys_of);
		atomic_fetch_add(&k->ref, 1);
		f->keys = k;
	}
	for (i = *head; i; i = i->next) {
		if (user_flow_is(g, i, &f->local, &f->remote, f->dcid))
			return qoff_fail(EEXIST, "this 4-tuple and connection ID has a flow");
	}
	if (g->nflow >= USER_MAX_FLOW)
		return qoff_fail(ENOSPC, "a group has at most %u flows", USER_MAX_FLOW);
	f->next = *head;
	*head = f;
	g->nflow++;
	return 0;
}

int user_flow_add(struct qoff_sock *s, const struct qoff_flow_param *p, uint32_t *id)
{
	struct user_group *g = s->user->group;
	struct user_rxkeys *k = NULL;
	struct user_flow *f;
	int err;

	err = check_param(s, p);
	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f)
		return qoff_fail(ENOMEM, "no memory");
	f->ref = 1;
	f->id = atomic_fetch_add(&next_id, 1);
	f->cookie = p->cookie;
	if (p->dcid_len)
		memcpy(f->dcid, p->dcid, p->dcid_len);
	err = qoff_addr_from(p->local, &f->local);
	if (!err)
		err = qoff_addr_from(p->remote, &f->remote);
	if (!err && (!is_host(&f->local) || !is_host(&f->remote)))
		err = qoff_fail(EINVAL, "not the address of one host");
	if (!err && !f->remote.port)
		err = qoff_fail(EINVAL, "port 0");
	if (!err && f->local.len != f->remote.len)
		err = qoff_fail(EINVAL, "addresses of two families");
	if (!err)
		err = check_sock(s, &f->local);
	if (!err && p->keys)
		err = new_rxkeys(p->keys, p->phase, p->key_gen, p->largest_pn, &k);
	if (!err) {
		f->keys = k;
		pthread_mutex_lock(&g->lock);
		err = insert(g, f, p->keys_of);
		pthread_mutex_unlock(&g->lock);
	}
	if (err) {
		user_flow_put(f);
		return err;
	}
	*id = f->id;
	return 0;
}

/* A key update. Under k->lock. */
static int next_key(struct user_rxkeys *k, const struct qoff_keys *keys, unsigned int phase,
		    uint32_t key_gen)
{
	struct qoff_cipher *c;

	if (keys->cipher != k->cipher)
		return qoff_fail(EINVAL, "the cipher of a connection does not change");
	if (k->slot[phase])
		return qoff_fail(EBUSY, "the slot of phase %u has a key, retire it first", phase);
	c = qoff_cipher_update(k->hp, keys);
	if (!c)
		return -errno;
	k->slot[phase] = c;
	k->gen[phase] = key_gen;
	k->phase = phase;
	return 0;
}

static int first_keys(struct user_group *g, struct user_flow *f, const struct qoff_keys *keys,
		      unsigned int phase, uint32_t key_gen, uint64_t largest_pn)
{
	struct user_rxkeys *k;
	int err;

	err = qoff_keys_check(keys, true);
	if (!err)
		err = new_rxkeys(keys, phase, key_gen, largest_pn, &k);
	if (err)
		return err;
	pthread_mutex_lock(&g->lock);
	if (f->keys)
		err = qoff_fail(EBUSY, "another thread gave the flow its keys");
	else
		f->keys = k;
	pthread_mutex_unlock(&g->lock);
	if (err)
		free_rxkeys(k);
	return err;
}

int user_flow_update(struct qoff_sock *s, uint32_t id, const struct qoff_keys *keys,
		     unsigned int phase, uint32_t key_gen, uint64_t largest_pn)
{
	struct user_rxkeys *k;
	struct user_flow *f;
	int err;

	err = check_keys(keys, phase);
	if (err)
		return err;
	f = get_flow(s->user->group, id, &err);
	if (!f)
		return err;
	k = f->keys;
	err = check_pn(largest_pn);
	if (!err)
		err = qoff_keys_check(keys, !k);
	if (!err && !k) {
		err = first_keys(s->user->group, f, keys, phase, key_gen, largest_pn);
	} else if (!err) {
		pthread_mutex_lock(&k->lock);
		err = next_key(k, keys, phase, key_gen);
		if (!err && largest_pn != QOFF_PN_NONE && largest_pn >= k->next_pn)
			k->next_pn = largest_pn + 1;
		pthread_mutex_unlock(&k->lock);
	}
	user_flow_put(f);
	return err;
}

int user_flow_retire(struct qoff_sock *s, uint32_t id, unsigned int phase)
{
	struct user_rxkeys *k;
	struct user_flow *f;
	int err = 0;

	if (phase > 1)
		return qoff_fail(ERANGE, "a key phase is 0 or 1");
	f = get_flow(s->user->group, id, &err);
	if (!f)
		return err;
	k = f->keys;
	if (k) {
		pthread_mutex_lock(&k->lock);
		if (!k->slot[phase])
			err = qoff_fail(ENOENT, "the slot of phase %u is empty", phase);
		qoff_cipher_free(k->slot[phase]);
		k->slot[phase] = NULL;
		pthread_mutex_unlock(&k->lock);
	} else {
		err = qoff_fail(ENOENT, "flow %u has no keys", id);
	}
	user_flow_put(f);
	return err;
}

int user_flow_del(struct qoff_sock *s, uint32_t id)
{
	struct user_group *g = s->user->group;
	struct user_flow **p, *f = NULL;

	pthread_mutex_lock(&g->lock);
	p = slot_of(g, id);
	if (p) {
		f = *p;
		*p = f->next;
		g->nflow--;
	}
	pthread_mutex_unlock(&g->lock);
	if (!f)
		return qoff_fail(id ? ENOENT : ERANGE, "no flow %u", id);
	user_flow_put(f);
	return 0;
}

int user_flow_get(struct qoff_sock *s, uint32_t id, struct qoff_flow_info *info)
{
	struct user_rxkeys *k;
	struct user_flow *f;
	int err = 0;

	memset(info, 0, sizeof(*info));
	f = get_flow(s->user->group, id, &err);
	if (!f)
		return err;
	info->id = id;
	qoff_addr_to(&f->local, &info->local);
	qoff_addr_to(&f->remote, &info->remote);
	info->dcid_len = s->user->group->dcid_len;
	memcpy(info->dcid, f->dcid, info->dcid_len);
	info->cookie = f->cookie;
	info->largest_pn = QOFF_PN_NONE;
	k = f->keys;
	if (k) {
		pthread_mutex_lock(&k->lock);
		info->cipher = k->cipher;
		info->phase = k->phase;
		info->key_gen = k->gen[k->phase];
		info->largest_pn = k->next_pn - 1;	/* 0: QOFF_PN_NONE */
		info->failed = k->failed;
		info->failed_limit = qoff_cipher_info(k->cipher)->open_limit;
		pthread_mutex_unlock(&k->lock);
	}
	user_stats_get(&f->stats, &info->stats);
	user_flow_put(f);
	return 0;
}

void user_flow_drop_all(struct user_group *g)
{
	struct user_flow *f;

	for (unsigned int i = 0; i < FLOW_BUCKETS; i++) {
		while ((f = g->flow[i])) {
			g->flow[i] = f->next;
			user_flow_put(f);
		}
	}
}
