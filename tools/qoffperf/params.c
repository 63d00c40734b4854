// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <qoff.h>

#include "params.h"
#include "recovery.h"

static const char *const tx_names[] = {
	[TX_SUPER] = "super", [TX_SEGMENT] = "segment", [TX_MMSG] = "mmsg",
	[TX_SINGLE] = "single", NULL
};

static const char *const rx_names[] = {
	[RX_SUPER] = "super", [RX_GRO] = "gro", [RX_MMSG] = "mmsg",
	[RX_SINGLE] = "single", NULL
};

static const char *const offload_names[] = {
	[QOFF_AUTO] = "auto", [QOFF_KERNEL] = "kernel", [QOFF_USER] = "user",
	NULL
};

static const char *const mix_names[] = {
	[MIX_PAPER] = "paper", [MIX_MIXED] = "mixed", NULL
};

static const char *const cipher_names[] = {
	"",
	[QUIC_OFFLOAD_CIPHER_AES_128_GCM] = "aes-128-gcm",
	[QUIC_OFFLOAD_CIPHER_AES_256_GCM] = "aes-256-gcm",
	[QUIC_OFFLOAD_CIPHER_CHACHA20_POLY1305] = "chacha20-poly1305",
	[QUIC_OFFLOAD_CIPHER_AES_128_CCM] = "aes-128-ccm",
	NULL
};

static const char *const cc_names[] = {
	[CC_NEWRENO] = "newreno", [CC_FIXED] = "fixed", NULL
};

static const char *const hash_names[] = {
	[HASH_NONE] = "none", [HASH_INLINE] = "inline", [HASH_AFTER] = "after",
	NULL
};

#define NUMBER(f, s, l, h, t) \
	{ .name = s, .offset = offsetof(struct params, f), \
	  .kind = PARAM_NUMBER, .lo = l, .hi = h, .help = t }
#define FLAG(f, s, t) \
	{ .name = s, .offset = offsetof(struct params, f), \
	  .kind = PARAM_FLAG, .hi = 1, .help = t }
#define NAME(f, s, n, t) \
	{ .name = s, .offset = offsetof(struct params, f), \
	  .kind = PARAM_NAME, .hi = ARRAY_SIZE(n) - 2, .names = n, .help = t }

const struct param param_table[] = {
	NUMBER(bytes, "bytes", 0, 1ULL << 50,
	       "payload to move, all connections together; 0: the sender's file, or 64M"),
	FLAG(reverse, "reverse", "the server sends, the client downloads"),
	NUMBER(parallel, "parallel", 1, MAX_PARALLEL,
	       "connections, each with its own sockets"),
	NAME(mode, "mode", tx_names,
	     "how to send: libqoff, UDP_SEGMENT, sendmmsg, a call per datagram"),
	FLAG(raw, "raw", "super: seal with OpenSSL here, send unsealed (RAW)"),
	NAME(rx, "rx", rx_names,
	     "how to receive: libqoff, UDP_GRO, recvmmsg, a call per datagram"),
	NAME(offload, "offload", offload_names,
	     "who seals and opens for the super modes"),
	NAME(mix, "mix", mix_names,
	     "paper: datagrams of the MTU; mixed: 200 bytes to the MTU, uniform"),
	NUMBER(mtu, "mtu", 1280, 9000, "IP MTU the datagrams are made for"),
	NUMBER(seed, "seed", 0, UINT64_MAX, "of lengths and generated payload"),
	NAME(cipher, "cipher", cipher_names, "packet protection"),
	NUMBER(dcid_len, "dcid-len", 0, QOFF_MAX_DCID,
	       "bytes of the connection IDs"),
	NUMBER(key_update_every, "key-update-every", 0, UINT64_MAX,
	       "sender updates its key after so many packets, 0: as few as it must"),
	NUMBER(batch, "batch", 0, QOFF_MAX_SEGS,
	       "datagrams of one send at most, 0: what the mode can"),
	NUMBER(window, "window", 65536, 1ULL << 28,
	       "flow-control window and upper limit of the congestion window"),
	NAME(cc, "cc", cc_names,
	     "newreno: RFC 9002; fixed: the congestion window is the window"),
	NUMBER(sockbuf, "socket-buffer", 0, 1ULL << 30,
	       "SO_SNDBUF and SO_RCVBUF, 0: four times the window"),
	NUMBER(ack_every, "ack-every", 1, 1024,
	       "packets that make an ACK due; decided once per receive"),
	NUMBER(pacing_rate, "pacing-rate", 0, 1ULL << 40,
	       "SO_MAX_PACING_RATE in bytes a second (qdisc fq), 0: none"),
	NAME(hash, "hash", hash_names,
	     "sha256 as data arrives (its time is reported), or of stored data, off the clock"),
	FLAG(ecn, "ecn", "send ECT(0), report the peer's counts in ACKs"),
	NUMBER(timeout, "timeout", 1, 86400,
	       "seconds without progress that end the run"),
};

const unsigned int param_count = ARRAY_SIZE(param_table);

void params_default(struct params *p)
{
	*p = (struct params) {
		.parallel = 1,
		.mode = TX_SUPER,
		.rx = RX_SUPER,
		.offload = QOFF_AUTO,
		.mix = MIX_PAPER,
		.mtu = 1500,
		.seed = 1,
		.cipher = QUIC_OFFLOAD_CIPHER_AES_128_GCM,
		.dcid_len = 8,
		.window = 2 << 20,
		.cc = CC_NEWRENO,
		.ack_every = 2,
		.hash = HASH_INLINE,
		.timeout = 30,
	};
}

const struct param *param_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < param_count; i++)
		if (!strcmp(param_table[i].name, name))
			return &param_table[i];
	return NULL;
}

static u64 *param_ptr(struct params *p, const struct param *d)
{
	return (u64 *)((char *)p + d->offset);
}

u64 param_get(const struct params *p, const struct param *d)
{
	return *param_ptr((struct params *)p, d);
}

/* Name of value @v, NULL when the parameter is a number or has no such value. */
const char *param_name(const struct param *d, u64 v)
{
	if (d->kind != PARAM_NAME || v > d->hi || !*d->names[v])
		return NULL;
	return d->names[v];
}

const char *param_value_name(const struct params *p, const char *name)
{
	const struct param *d = param_find(name);

	return param_name(d, param_get(p, d));
}

/**
 * param_set - set one parameter from text
 * @p: parameters
 * @d: which
 * @value: a number with suffix, a name, or for a flag NULL, "0" or "1"
 *
 * Return: 0, -EINVAL (not of its kind), -ERANGE (outside of its bounds).
 */
int param_set(struct params *p, const struct param *d, const char *value)
{
	u64 v;
	int err;

	if (d->kind == PARAM_NAME) {
		for (v = 0; v <= d->hi; v++) {
			if (*value && !strcmp(d->names[v], value)) {
				*param_ptr(p, d) = v;
				return 0;
			}
		}
		return -EINVAL;
	}
	v = 1;
	if (value) {
		err = parse_size(value, &v);
		if (err)
			return err;
	}
	if (v < d->lo || v > d->hi)
		return -ERANGE;
	*param_ptr(p, d) = v;
	return 0;
}

/* Combinations that no single bound catches. */
int params_check(const struct params *p, const char **why)
{
	*why = NULL;
	if (p->raw && p->mode != TX_SUPER)
		*why = "--raw goes with --mode super only";
	else if (p->raw && p->offload == QOFF_USER)
		*why = "--raw needs the kernel: not with --offload user";
	else if (p->batch > 64 && p->mode == TX_SEGMENT)
		*why = "--batch: UDP_SEGMENT takes at most 64 datagrams";
	else if (p->bytes && p->bytes < p->parallel)
		*why = "--bytes: at least one byte per connection";
	else if ((p->mode == TX_SUPER || p->rx == RX_SUPER) &&
		 (p->mode != TX_SUPER || p->rx != RX_SUPER))
		*why = "--mode super and --rx super go together: one socket does both";
	return *why ? -EINVAL : 0;
}

u64 params_batch(const struct params *p)
{
	if (p->batch)
		return p->batch;
	switch ((enum tx_mode)p->mode) {
	case TX_SUPER:
		return QOFF_MAX_SEGS;
	case TX_SEGMENT:
	case TX_MMSG:
		return 64;
	case TX_SINGLE:
		return 1;
	}
	return 1;
}

u32 params_max_dgram(const struct params *p, bool ipv6)
{
	return p->mtu - 8 - (ipv6 ? 40 : 20);
}
