// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The general object QUIC_CTX. Input is checked in full before anything of the
 * object changes; the expanded keys of a change are made before the old go.
 */
#include <stdlib.h>

#include "cmd.h"
#include "queue.h"
#include "quic.h"
#include "quic_gro.h"
#include "trace.h"

#define PN_MAX		((1ull << 62) - 1)
#define EV_OBJECT_CHANGE	0x27

#define OBJ(in, fld)	NM_GET(quic_ctx_obj, in, fld)
#define OBJ64(in, fld)	NM_GET64(quic_ctx_obj, in, fld)

struct quic_obj {
	struct nm_quic_ctx x;
	u8 raw[QOFF_MLX5_BYTES(quic_ctx_obj)];
};

/* Keys on their way into an object: both slots and the header's */
struct quic_keys {
	EVP_CIPHER_CTX *slot[2];
	EVP_CIPHER_CTX *hp;
	struct nm_obj *dek[2];
	struct nm_obj *hp_dek;
};

struct nm_quic *nm_quic_create(void)
{
	struct nm_quic *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->sessions = nm_quic_gro_create();
	if (!q->sessions) {
		free(q);
		return NULL;
	}
	return q;
}

void nm_quic_destroy(struct nm_quic *q)
{
	if (!q)
		return;
	nm_quic_gro_destroy(q->sessions);
	free(q);
}

static void fail(struct nm_cmd *c, enum nm_status st, enum qoff_mlx5_syndrome syn)
{
	nm_cmd_fail(c, st, (enum nm_syndrome)syn);
}

static struct nm_quic_ctx *ctx_of(struct nm_gen *g)
{
	return &((struct quic_obj *)g->data)->x;
}

struct nm_quic_ctx *nm_quic_ctx_of(struct nm_obj *obj)
{
	return ctx_of(container_of(obj, struct nm_gen, obj));
}

static struct nm_fn *ctx_fn(const struct nm_quic_ctx *x)
{
	return x->gen->obj.fn;
}

struct nm_quic_ctx *nm_quic_ctx_get(struct nm_fn *fn, u32 id, u16 uid)
{
	struct nm_obj *obj = nm_obj_lookup(fn, NM_OBJ_GEN, id);
	struct nm_gen *g;

	if (!obj)
		return NULL;
	g = container_of(obj, struct nm_gen, obj);
	if (g->ops != &nm_quic_gen_ops || obj->uid != uid)
		return NULL;
	return ctx_of(g);
}

void nm_quic_event(struct nm_quic_ctx *x, enum qoff_mlx5_event ev)
{
	u8 data[28] = { };

	if (!NM_QUIC_CAP(ctx_fn(x), object_change_event))
		return;
	nm_wr16(data + 2, QOFF_MLX5_OBJ_TYPE_CTX);
	nm_wr32(data + 4, x->gen->obj.id);
	nm_event(ctx_fn(x), EV_OBJECT_CHANGE, ev, data, sizeof(data));
}

void nm_quic_count(struct nm_quic_ctx *x, unsigned int n, u64 packets)
{
	struct nm_quic_slot *s = &x->slot[n];

	s->packets += packets;
	if (x->limit && s->packets >= x->limit && !s->limited) {
		s->limited = true;
		nm_quic_event(x, QOFF_MLX5_EV_LIMIT);
	}
}

void nm_quic_revoke(struct nm_quic_ctx *x)
{
	x->revoked = true;
	nm_quic_event(x, QOFF_MLX5_EV_REVOKED);
}

/* --- exclusion between crypto protocols --- */

bool nm_quic_dek_new(struct nm_cmd *c, u32 purpose)
{
	struct nm_quic *q = c->fn->quic;

	if (purpose == QOFF_MLX5_DEK_PURPOSE && !nm_quic_on(c->fn)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OBJ_VALUE);
		return false;
	}
	if (nm_quic_on(c->fn) && purpose != QOFF_MLX5_DEK_PURPOSE &&
	    (q->nr_ctx[0] || q->nr_ctx[1]) &&
	    !(NM_QUIC_CAP(c->fn, concurrent_protocols) & BIT(purpose))) {
		fail(c, NM_ST_RES_BUSY, QOFF_MLX5_SYN_EXCLUSIVE);
		return false;
	}
	q->nr_dek[purpose]++;
	return true;
}

void nm_quic_dek_gone(struct nm_fn *fn, u32 purpose)
{
	fn->quic->nr_dek[purpose]--;
}

static bool exclusive_ok(struct nm_cmd *c)
{
	u32 i;

	for (i = 0; i < NM_QUIC_PURPOSES; i++)
		if (i != QOFF_MLX5_DEK_PURPOSE && c->fn->quic->nr_dek[i] &&
		    !(NM_QUIC_CAP(c->fn, concurrent_protocols) & BIT(i))) {
			fail(c, NM_ST_RES_BUSY, QOFF_MLX5_SYN_EXCLUSIVE);
			return false;
		}
	return true;
}

/* --- keys --- */

static void keys_free(struct nm_quic_ctx *x, struct quic_keys *k)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		EVP_CIPHER_CTX_free(k->slot[i]);
		if (k->dek[i])
			nm_obj_unref(&x->gen->obj, k->dek[i]);
	}
	EVP_CIPHER_CTX_free(k->hp);
	if (k->hp_dek)
		nm_obj_unref(&x->gen->obj, k->hp_dek);
}

/* The key bytes of a DEK; NULL: the command has failed. A 128-bit key is in the
 * second half of its field.
 */
static const u8 *dek_key(struct nm_cmd *c, struct nm_quic_ctx *x, u32 id,
			 u32 key_len, struct nm_obj **hold)
{
	struct nm_obj *obj = nm_obj_find(c, NM_OBJ_GEN, id);
	struct nm_gen *g;

	if (obj) {
		g = container_of(obj, struct nm_gen, obj);
		if (g->ops->type == MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY &&
		    NM_GET(encryption_key_obj, g->data, key_purpose) ==
		    QOFF_MLX5_DEK_PURPOSE &&
		    NM_GET(encryption_key_obj, g->data, key_size) == (key_len == 32) &&
		    nm_obj_use(c, &x->gen->obj, NM_OBJ_GEN, id)) {
			*hold = obj;
			return (u8 *)NM_PTR(encryption_key_obj, g->data, key) +
			       (key_len == 32 ? 0 : 16);
		}
	}
	fail(c, NM_ST_BAD_RES, QOFF_MLX5_SYN_DEK);
	return NULL;
}

/* @d: keys in band; NULL: @id is a DEK */
static bool key_make(struct nm_cmd *c, struct nm_quic_ctx *x, u8 cipher, u32 id,
		     const u8 *inl, bool hp, EVP_CIPHER_CTX **evp,
		     struct nm_obj **hold)
{
	const u8 *key = inl ? inl : dek_key(c, x, id, nm_quic_key_len(cipher), hold);

	if (!key)
		return false;
	*evp = hp ? nm_quic_hp_new(cipher, key) :
		    nm_quic_aead_new(cipher, x->dir == QOFF_MLX5_TX, key);
	if (!*evp)
		nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
	return *evp;
}

static u32 in_dekn(const void *in, unsigned int n)
{
	return n ? OBJ(in, dekn_1) : OBJ(in, dekn_0);
}

static bool keys_slot(struct nm_cmd *c, struct nm_quic_ctx *x, u8 cipher,
		      const void *in, const struct qoff_mlx5_wqe_ctx_data *d,
		      unsigned int n, struct quic_keys *k)
{
	return key_make(c, x, cipher, in_dekn(in, n), d ? d->key[n] : NULL, false,
			&k->slot[n], &k->dek[n]);
}

/* Takes a made key over. */
static void slot_fill(struct nm_quic_ctx *x, unsigned int n, const void *in,
		      struct quic_keys *k)
{
	struct nm_quic_slot *s = &x->slot[n];

	s->evp = k->slot[n];
	s->dek = k->dek[n];
	s->packets = 0;
	s->limited = false;
	s->tag = n ? OBJ(in, key_tag_1) : OBJ(in, key_tag_0);
	memcpy(s->iv, n ? NM_PTR(quic_ctx_obj, in, iv_1) :
			  NM_PTR(quic_ctx_obj, in, iv_0), sizeof(s->iv));
	k->slot[n] = NULL;
	k->dek[n] = NULL;
}

static void slot_empty(struct nm_quic_ctx *x, unsigned int n)
{
	struct nm_quic_slot *s = &x->slot[n];

	EVP_CIPHER_CTX_free(s->evp);
	if (s->dek)
		nm_obj_unref(&x->gen->obj, s->dek);
	explicit_bzero(s, sizeof(*s));
}

/* --- checks --- */

/* A context's contents, all but its keys */
static bool check_common(struct nm_cmd *c, const void *in, u8 dir)
{
	const struct nm_fn *fn = c->fn;
	u32 ciphers = dir ? NM_QUIC_CAP(fn, rx_ciphers) : NM_QUIC_CAP(fn, tx_ciphers);
	u32 cipher = OBJ(in, cipher);

	if (OBJ(in, reserved_at_5c) || OBJ(in, reserved_at_60) ||
	    OBJ(in, reserved_at_c0) || OBJ64(in, next_pn) > PN_MAX + 1)
		fail(c, NM_ST_BAD_PARAM, OBJ64(in, next_pn) > PN_MAX + 1 ?
		     QOFF_MLX5_SYN_PN : QOFF_MLX5_SYN_FIELD);
	else if (cipher ? cipher > QOFF_MLX5_AES_128_CCM || !(ciphers & BIT(cipher)) :
			  dir == QOFF_MLX5_TX || OBJ(in, hp_valid))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_CIPHER);
	else if (OBJ(in, dcid_len) > QOFF_MLX5_MAX_DCID ||
		 !(NM_QUIC_CAP(fn, dcid_len_supported) & BIT(OBJ(in, dcid_len))))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_DCID_LEN);
	else if (OBJ(in, path_id) && !NM_QUIC_CAP(fn, multipath_nonce))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_CAP);
	else if (OBJ(in, phase_valid) && !OBJ(in, hp_valid))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_SLOT);
	else if (dir == QOFF_MLX5_TX && OBJ(in, phase_valid) &&
		 !(OBJ(in, phase_valid) & BIT(OBJ(in, key_phase))))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_SLOT);
	return !c->status;
}

static bool fail_action_ok(struct nm_cmd *c, u32 action)
{
	const struct nm_fn *fn = c->fn;
	bool ok = false;

	switch (action) {
	case QOFF_MLX5_FAIL_DROP:
		ok = NM_QUIC_CAP(fn, fail_drop);
		break;
	case QOFF_MLX5_FAIL_MODIFIED:
		ok = NM_QUIC_CAP(fn, fail_modified);
		break;
	case QOFF_MLX5_FAIL_ORIGINAL:
		ok = NM_QUIC_CAP(fn, fail_original);
		break;
	}
	if (!ok)
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_CAP);
	return ok;
}

static bool gro_ok(struct nm_cmd *c)
{
	if (NM_QUIC_CAP(c->fn, gro_equal) || NM_QUIC_CAP(c->fn, gro_var))
		return true;
	fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_CAP);
	return false;
}

static bool check_tx(struct nm_cmd *c, const void *in)
{
	if (OBJ(in, fail_action) || OBJ(in, gro_en) || OBJ(in, lookup))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_DIRECTION);
	else if (OBJ(in, pn_check) && !NM_QUIC_CAP(c->fn, tx_pn_check))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_CAP);
	return !c->status;
}

static void match_get(const void *in, struct nm_quic_match *m)
{
	u32 alen = OBJ(in, ip_version) == 4 ? 4 : 16;

	memset(m, 0, sizeof(*m));
	m->ip_ver = OBJ(in, ip_version);
	m->dcid_len = OBJ(in, dcid_len);
	m->dst_port = OBJ(in, dst_port);
	m->src_port = OBJ(in, src_port);
	memcpy(m->dst, NM_PTR(quic_ctx_obj, in, dst_ip), alen);
	if (m->src_port)
		memcpy(m->src, NM_PTR(quic_ctx_obj, in, src_ip), alen);
	memcpy(m->dcid, NM_PTR(quic_ctx_obj, in, dcid), m->dcid_len);
}

static bool check_lookup(struct nm_cmd *c, const void *in)
{
	struct nm_quic_match m;

	if (!OBJ(in, lookup))
		return true;
	match_get(in, &m);
	if (!NM_QUIC_CAP(c->fn, ctx_lookup))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_CAP);
	else if ((m.ip_ver != 4 && m.ip_ver != 6) || !m.dst_port)
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_FIELD);
	else if (nm_quic_lookup_same(c->fn->quic, &m))
		fail(c, NM_ST_RES_BUSY, QOFF_MLX5_SYN_MATCH);
	return !c->status;
}

static bool check_rx(struct nm_cmd *c, const void *in)
{
	if (OBJ(in, pn_check))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_DIRECTION);
	else if (!OBJ(in, handle))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_HANDLE);
	else if (!fail_action_ok(c, OBJ(in, fail_action)) ||
		 (OBJ(in, gro_en) && !gro_ok(c)))
		return false;
	return !c->status && check_lookup(c, in);
}

/* --- contents --- */

/* Fills an object that is empty; on failure it stays so. */
static bool ctx_fill(struct nm_cmd *c, struct nm_quic_ctx *x, const void *in,
		     const struct qoff_mlx5_wqe_ctx_data *d)
{
	u32 valid = OBJ(in, phase_valid), n;
	u8 cipher = OBJ(in, cipher);
	struct quic_keys k = { };

	if (!check_common(c, in, x->dir) ||
	    !(x->dir ? check_rx(c, in) : check_tx(c, in)))
		return false;
	if (!d && valid == 3 && in_dekn(in, 0) == in_dekn(in, 1)) {
		fail(c, NM_ST_RES_BUSY, QOFF_MLX5_SYN_KEY_REUSE);
		return false;
	}
	if (OBJ(in, hp_valid) &&
	    !key_make(c, x, cipher, OBJ(in, hp_dekn), d ? d->hp_key : NULL, true,
		      &k.hp, &k.hp_dek))
		goto err;
	for (n = 0; n < 2; n++)
		if (valid & BIT(n) && !keys_slot(c, x, cipher, in, d, n, &k))
			goto err;
	x->cipher = cipher;
	x->dcid_len = OBJ(in, dcid_len);
	x->fail_action = OBJ(in, fail_action);
	x->pn_check = OBJ(in, pn_check);
	x->phase = OBJ(in, key_phase);
	x->gro = OBJ(in, gro_en);
	x->handle = OBJ(in, handle);
	x->path_id = OBJ(in, path_id);
	x->next_pn = OBJ64(in, next_pn);
	x->limit = OBJ64(in, packet_limit);
	x->lookup = OBJ(in, lookup);
	if (x->lookup) {
		match_get(in, &x->match);
		nm_quic_lookup_add(c->fn->quic, x);
	}
	x->hp = k.hp;
	x->hp_dek = k.hp_dek;
	for (n = 0; n < 2; n++)
		if (valid & BIT(n))
			slot_fill(x, n, in, &k);
	return true;
err:
	keys_free(x, &k);
	return false;
}

void nm_quic_clear(struct nm_quic_ctx *x)
{
	struct nm_fn *fn = ctx_fn(x);
	struct nm_gen *gen = x->gen;
	u8 dir = x->dir;

	nm_quic_gro_flush_ctx(fn, x);
	if (x->lookup)
		nm_quic_lookup_del(fn->quic, x);
	slot_empty(x, 0);
	slot_empty(x, 1);
	EVP_CIPHER_CTX_free(x->hp);
	if (x->hp_dek)
		nm_obj_unref(&gen->obj, x->hp_dek);
	explicit_bzero(container_of(x, struct quic_obj, x), sizeof(struct quic_obj));
	x->gen = gen;
	x->dir = dir;
	x->in_band = true;
	x->counted = true;
}

static void raw_keep(struct nm_quic_ctx *x, const void *in)
{
	memcpy(container_of(x, struct quic_obj, x)->raw, in,
	       QOFF_MLX5_BYTES(quic_ctx_obj));
}

static bool quic_set(struct nm_cmd *c, struct nm_gen *g, const void *in)
{
	static const u8 zero[QOFF_MLX5_BYTES(quic_ctx_obj)];
	struct nm_quic *q = c->fn->quic;
	struct nm_quic_ctx *x = ctx_of(g);
	u32 max;

	x->gen = g;
	x->dir = OBJ(in, direction);
	max = x->dir ? NM_QUIC_CAP(c->fn, max_rx_ctx) : NM_QUIC_CAP(c->fn, max_tx_ctx);
	if (!exclusive_ok(c))
		return false;
	if (q->nr_ctx[x->dir] >= max || nm_fault_take(c->fn, quic.full) ||
	    (u64)q->nr_ctx[0] + q->nr_ctx[1] >=
	    1ull << (NM_QUIC_CAP(c->fn, log_max_quic_ctx) & 31)) {
		fail(c, NM_ST_NO_RES, QOFF_MLX5_SYN_QUOTA);
		return false;
	}
	if (OBJ(in, in_band)) {
		u8 rest[sizeof(zero)];

		memcpy(rest, in, sizeof(rest));
		NM_SET(quic_ctx_obj, rest, in_band, 0);
		NM_SET(quic_ctx_obj, rest, direction, 0);
		if (!NM_QUIC_CAP(c->fn, ctx_wqe))
			fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_CAP);
		else if (memcmp(rest, zero, sizeof(zero)))
			fail(c, NM_ST_BAD_RES_STATE, QOFF_MLX5_SYN_STATE);
		if (c->status)
			return false;
		x->in_band = true;
	} else if (NM_GET(general_obj_in_cmd_hdr, c->in,
			  op_param.create.log_obj_range)) {
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_FIELD);
		return false;
	} else if (!ctx_fill(c, x, in, NULL)) {
		return false;
	}
	raw_keep(x, in);
	x->counted = true;
	q->nr_ctx[x->dir]++;
	return true;
}

static void quic_destroy(struct nm_gen *g)
{
	struct nm_quic_ctx *x = ctx_of(g);
	struct nm_fn *fn = g->obj.fn;
	unsigned int i;

	if (x->counted)
		fn->quic->nr_ctx[x->dir]--;
	nm_quic_gro_drop_ctx(fn, x);
	if (x->lookup)
		nm_quic_lookup_del(fn->quic, x);
	for (i = 0; i < 2; i++)
		EVP_CIPHER_CTX_free(x->slot[i].evp);
	EVP_CIPHER_CTX_free(x->hp);
}

/* One slot of a MODIFY: what it becomes, checked */
static bool modify_slot(struct nm_cmd *c, struct nm_quic_ctx *x, const void *in,
			const struct qoff_mlx5_wqe_ctx_data *d, unsigned int n,
			struct quic_keys *k)
{
	struct nm_quic_slot *other = &x->slot[!n];

	if (!(OBJ(in, phase_valid) & BIT(n)))
		return true;
	if (x->slot[n].evp) {
		fail(c, NM_ST_BAD_RES_STATE, QOFF_MLX5_SYN_SLOT_BUSY);
		return false;
	}
	if (!x->hp) {
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_SLOT);
		return false;
	}
	if (!d && other->dek && other->dek->id == in_dekn(in, n)) {
		fail(c, NM_ST_RES_BUSY, QOFF_MLX5_SYN_KEY_REUSE);
		return false;
	}
	return keys_slot(c, x, x->cipher, in, d, n, k);
}

static bool modify_check(struct nm_cmd *c, struct nm_quic_ctx *x, const void *in, u64 sel)
{
	bool rx_only = sel & (QOFF_MLX5_SEL_FAIL_ACTION | QOFF_MLX5_SEL_GRO |
			      QOFF_MLX5_SEL_HANDLE);

	if (sel & ~(u64)QOFF_MLX5_SEL_ALL)
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_FIELD);
	else if (rx_only && x->dir == QOFF_MLX5_TX)
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_DIRECTION);
	else if (sel & QOFF_MLX5_SEL_HANDLE && !OBJ(in, handle))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_HANDLE);
	else if (sel & QOFF_MLX5_SEL_NEXT_PN &&
		 (OBJ64(in, next_pn) > PN_MAX + 1 ||
		  (x->pn_check && OBJ64(in, next_pn) < x->next_pn)))
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_PN);
	else if ((sel & QOFF_MLX5_SEL_FAIL_ACTION &&
		  !fail_action_ok(c, OBJ(in, fail_action))) ||
		 (sel & QOFF_MLX5_SEL_GRO && OBJ(in, gro_en) && !gro_ok(c)))
		return false;
	return !c->status;
}

/* On TX the current phase must have its key once any slot has one. */
static bool modify_phase_ok(struct nm_cmd *c, struct nm_quic_ctx *x, const void *in, u64 sel)
{
	u8 phase = sel & QOFF_MLX5_SEL_KEY_PHASE ? OBJ(in, key_phase) : x->phase;
	unsigned int n;
	u32 valid = 0;

	for (n = 0; n < 2; n++)
		if (sel & (QOFF_MLX5_SEL_SLOT0 << n) ? OBJ(in, phase_valid) & BIT(n) :
						       !!x->slot[n].evp)
			valid |= BIT(n);
	if (x->dir == QOFF_MLX5_RX || !valid || valid & BIT(phase) ||
	    !(sel & QOFF_MLX5_SEL_KEY_PHASE))
		return true;
	fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_SLOT);
	return false;
}

void nm_quic_modify(struct nm_cmd *c, struct nm_quic_ctx *x, const void *in,
		    const struct qoff_mlx5_wqe_ctx_data *d)
{
	u64 sel = OBJ64(in, modify_field_select);
	struct quic_keys k = { };
	unsigned int n;

	if (x->revoked) {
		fail(c, NM_ST_BAD_RES_STATE, QOFF_MLX5_SYN_STATE);
		return;
	}
	if (!modify_check(c, x, in, sel) || !modify_phase_ok(c, x, in, sel))
		return;
	for (n = 0; n < 2; n++)
		if (sel & (QOFF_MLX5_SEL_SLOT0 << n) &&
		    !modify_slot(c, x, in, d, n, &k)) {
			keys_free(x, &k);
			return;
		}
	nm_quic_gro_flush_ctx(c->fn, x);
	for (n = 0; n < 2; n++) {
		if (!(sel & (QOFF_MLX5_SEL_SLOT0 << n)))
			continue;
		if (OBJ(in, phase_valid) & BIT(n))
			slot_fill(x, n, in, &k);
		else
			slot_empty(x, n);
	}
	if (sel & QOFF_MLX5_SEL_NEXT_PN)
		x->next_pn = OBJ64(in, next_pn);
	if (sel & QOFF_MLX5_SEL_KEY_PHASE)
		x->phase = OBJ(in, key_phase);
	if (sel & QOFF_MLX5_SEL_FAIL_ACTION)
		x->fail_action = OBJ(in, fail_action);
	if (sel & QOFF_MLX5_SEL_GRO)
		x->gro = OBJ(in, gro_en);
	if (sel & QOFF_MLX5_SEL_HANDLE)
		x->handle = OBJ(in, handle);
	if (sel & QOFF_MLX5_SEL_LIMIT)
		x->limit = OBJ64(in, packet_limit);
}

void nm_quic_write(struct nm_cmd *c, struct nm_quic_ctx *x,
		   const struct qoff_mlx5_wqe_ctx_data *d)
{
	if (!x->in_band || x->cipher || x->handle) {
		fail(c, NM_ST_BAD_RES_STATE, QOFF_MLX5_SYN_STATE);
		return;
	}
	if (OBJ(d->obj, direction) != x->dir) {
		fail(c, NM_ST_BAD_PARAM, QOFF_MLX5_SYN_DIRECTION);
		return;
	}
	if (ctx_fill(c, x, d->obj, d))
		raw_keep(x, d->obj);
}

static bool quic_modify(struct nm_cmd *c, struct nm_gen *g, const void *in)
{
	struct nm_quic_ctx *x = ctx_of(g);

	if (x->in_band)
		fail(c, NM_ST_BAD_RES_STATE, QOFF_MLX5_SYN_STATE);
	else
		nm_quic_modify(c, x, in, NULL);
	return !c->status;
}

static void quic_query(const struct nm_gen *g, void *out)
{
	const struct quic_obj *o = (const void *)g->data;
	const struct nm_quic_ctx *x = &o->x;
	bool filled = x->slot[0].evp || x->slot[1].evp;
	unsigned int n;

	memcpy(out, o->raw, sizeof(o->raw));
	NM_SET64(quic_ctx_obj, out, modify_field_select, 0);
	NM_SET(quic_ctx_obj, out, in_band, x->in_band);
	NM_SET(quic_ctx_obj, out, direction, x->dir);
	NM_SET(quic_ctx_obj, out, state, x->revoked ? QOFF_MLX5_CTX_REVOKED :
	       filled ? QOFF_MLX5_CTX_READY : QOFF_MLX5_CTX_EMPTY);
	NM_SET(quic_ctx_obj, out, phase_valid, (x->slot[0].evp ? 1 : 0) |
	       (x->slot[1].evp ? 2 : 0));
	NM_SET(quic_ctx_obj, out, hp_valid, !!x->hp);
	NM_SET(quic_ctx_obj, out, key_phase, x->phase);
	NM_SET(quic_ctx_obj, out, fail_action, x->fail_action);
	NM_SET(quic_ctx_obj, out, gro_en, x->gro);
	NM_SET(quic_ctx_obj, out, handle, x->handle);
	NM_SET(quic_ctx_obj, out, dekn_0, x->slot[0].dek ? x->slot[0].dek->id : 0);
	NM_SET(quic_ctx_obj, out, dekn_1, x->slot[1].dek ? x->slot[1].dek->id : 0);
	NM_SET(quic_ctx_obj, out, key_tag_0, x->slot[0].tag);
	NM_SET(quic_ctx_obj, out, key_tag_1, x->slot[1].tag);
	/* An IV is half of a nonce's secret: not told either. */
	for (n = 0; n < 2; n++)
		memset(n ? NM_PTR(quic_ctx_obj, out, iv_1) :
			   NM_PTR(quic_ctx_obj, out, iv_0), 0, QOFF_MLX5_IV);
	NM_SET64(quic_ctx_obj, out, next_pn, x->next_pn);
	NM_SET64(quic_ctx_obj, out, packet_limit, x->limit);
	NM_SET64(quic_ctx_obj, out, packets_0, x->slot[0].packets);
	NM_SET64(quic_ctx_obj, out, packets_1, x->slot[1].packets);
	NM_SET64(quic_ctx_obj, out, auth_failures, x->auth_failures);
}

const struct nm_gen_ops nm_quic_gen_ops = {
	.type = QOFF_MLX5_OBJ_TYPE_CTX,
	.name = "quic_ctx",
	.size = QOFF_MLX5_BYTES(quic_ctx_obj),
	.priv_size = sizeof(struct quic_obj),
	.set = quic_set,
	.modify = quic_modify,
	.query = quic_query,
	.destroy = quic_destroy,
};
