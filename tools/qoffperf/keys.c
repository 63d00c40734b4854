// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <string.h>

#include "keys.h"

#define KEY_PHASE_BIT	0x04	/* RFC 9000 section 17.3.1 */

int key_dir_init(struct key_dir *d, u32 cipher, const u8 *secret, size_t len)
{
	if (len != qoff_secret_len(cipher))
		return -EINVAL;
	memcpy(d->secret, secret, len);
	d->gen = 0;
	return qoff_derive_keys(QOFF_QUIC_V1, cipher, secret, len, &d->keys);
}

/* One step of section 6.1; the header-protection key stays. */
int key_dir_update(struct key_dir *d)
{
	u32 cipher = d->keys.cipher;
	size_t len = qoff_secret_len(cipher);
	struct qoff_keys next;
	int err;

	err = qoff_derive_next_secret(QOFF_QUIC_V1, cipher, d->secret, len,
				      d->secret);
	if (!err)
		err = qoff_derive_keys(QOFF_QUIC_V1, cipher, d->secret, len,
				       &next);
	if (err)
		return err;
	memcpy(next.hp, d->keys.hp, sizeof(next.hp));
	d->keys = next;
	d->gen++;
	qoff_wipe(&next, sizeof(next));
	return 0;
}

int opener_init(struct opener *o, u32 cipher, const u8 *secret, size_t len)
{
	int err;

	memset(o, 0, sizeof(*o));
	err = key_dir_init(&o->next_dir, cipher, secret, len);
	if (err)
		return err;
	o->cur = qoff_cipher_new(&o->next_dir.keys);
	if (!o->cur)
		return -errno;
	err = key_dir_update(&o->next_dir);
	if (!err) {
		o->next = qoff_cipher_new(&o->next_dir.keys);
		err = o->next ? 0 : -errno;
	}
	if (err)
		opener_free(o);
	return err;
}

void opener_free(struct opener *o)
{
	qoff_cipher_free(o->cur);
	qoff_cipher_free(o->next);
	qoff_cipher_free(o->prev);
	qoff_wipe(o, sizeof(*o));
}

/* A packet opened by keys of the other phase than its header names is forged. */
static int try_open(struct qoff_cipher *c, u32 gen, u8 *pkt, size_t len,
		    size_t pn_off, u64 largest, u64 *pn, unsigned int *pn_len)
{
	int err;

	if (!c)
		return -EBADMSG;
	err = qoff_open_packet(c, pkt, len, pn_off, largest, pn, pn_len);
	if (!err && !!(pkt[0] & KEY_PHASE_BIT) != (gen & 1))
		err = -EPROTO;
	return err;
}

/**
 * opener_open - open a packet with whichever key fits
 * @o: keys
 * @pkt: packet; plain in place on success
 * @len: its bytes
 * @pn_off: where the packet number starts
 * @largest: largest packet number so far or QOFF_PN_NONE
 * @pn: result
 * @pn_len: result
 * @gen: result: generation of the key. One above @o->gen is the peer's update:
 *	the caller follows it with opener_advance()
 *
 * Return: 0, or -EBADMSG, -EINVAL, -EPROTO; the packet is to be dropped then.
 */
int opener_open(struct opener *o, u8 *pkt, size_t len, size_t pn_off,
		u64 largest, u64 *pn, unsigned int *pn_len, u32 *gen)
{
	int err;

	*gen = o->gen;
	err = try_open(o->cur, *gen, pkt, len, pn_off, largest, pn, pn_len);
	if (err != -EBADMSG)
		return err;
	*gen = o->gen + 1;
	err = try_open(o->next, *gen, pkt, len, pn_off, largest, pn, pn_len);
	if (err != -EBADMSG || !o->prev)
		return err;
	*gen = o->gen - 1;
	return try_open(o->prev, *gen, pkt, len, pn_off, largest, pn, pn_len);
}

/* The peer updated its key: @next becomes @cur, the old one stays as @prev. */
int opener_advance(struct opener *o)
{
	struct qoff_cipher *next;
	int err;

	err = key_dir_update(&o->next_dir);
	if (err)
		return err;
	next = qoff_cipher_new(&o->next_dir.keys);
	if (!next)
		return -errno;
	qoff_cipher_free(o->prev);
	o->prev = o->cur;
	o->cur = o->next;
	o->next = next;
	o->gen++;
	return 0;
}

void opener_retire(struct opener *o)
{
	qoff_cipher_free(o->prev);
	o->prev = NULL;
}
