/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the torture of "one (key, packet number), one content" and its checker must
 * agree on: the connection's secrets and the shape of its packets.
 */
#ifndef ONCE_H
#define ONCE_H

#include <string.h>

#include <qoff.h>

#define ONCE_PORT	4433
#define ONCE_DCID	8
#define ONCE_PN_OFF	(1 + ONCE_DCID)
#define ONCE_HDR	(ONCE_PN_OFF + 4)
#define ONCE_MAX_GEN	512
#define ONCE_MARKER	"qoff-plaintext-!"
/* First bytes of the datagrams that a splicing thread sends in the clear */
#define ONCE_PLAIN	"\x0fspliced"

/* Secret of key generation @gen, from that before; @secret is 32 bytes */
static inline int once_next(unsigned int gen, uint8_t *secret)
{
	if (!gen) {
		memset(secret, 0x42, 32);
		return 0;
	}
	return qoff_derive_next_secret(QOFF_QUIC_V1, QUIC_OFFLOAD_CIPHER_AES_128_GCM, secret, 32,
				       secret);
}

static inline int once_keys(const uint8_t *secret, struct qoff_keys *k)
{
	return qoff_derive_keys(QOFF_QUIC_V1, QUIC_OFFLOAD_CIPHER_AES_128_GCM, secret, 32, k);
}

#endif /* ONCE_H */
