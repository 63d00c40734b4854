// SPDX-License-Identifier: GPL-2.0
/*
 * One (key, packet number), one content: opens every packet in captures with OpenSSL
 * and groups them by key generation and packet number. The same bytes may come twice;
 * other bytes under the same number, a packet that does not open, or plaintext, fail.
 *
 *	once_check CAPTURE...		pcap files; a line of JSON, exit status 1 on a failure
 *	once_check --forge KIND FILE	a capture for the test of this program: good, twice,
 *					key (one number under two keys), broken, plain
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "once.h"

#define PCAP_MAGIC	0xa1b2c3d4
#define LINK_ETHERNET	1
#define TABLE_BITS	20
#define TABLE_SIZE	(1u << TABLE_BITS)
#define MAX_FRAME	65536
#define SHOWN		10

struct pcap_file {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, sigfigs, snaplen, link;
};

struct pcap_frame {
	uint32_t sec, usec, caplen, len;
};

/**
 * struct number - what was seen under one packet number of one key
 * @hash: of the sealed bytes
 * @pn: packet number
 * @gen: key generation plus one, 0: free
 */
struct number {
	uint64_t hash;
	uint32_t pn;
	uint32_t gen;
};

static struct {
	unsigned int frames, plain, numbers, repeats, twice, unopened, leaks, cut, gens;
} r;

static struct qoff_keys keys[ONCE_MAX_GEN];
static struct qoff_cipher *ciphers[ONCE_MAX_GEN];
static struct number table[TABLE_SIZE];
static unsigned int newest;

static void die(const char *what)
{
	fprintf(stderr, "once_check: %s: %s (%s)\n", what, strerror(errno), qoff_error());
	exit(2);
}

static void make_keys(void)
{
	struct qoff_keys k;
	uint8_t secret[32];
	unsigned int g;

	for (g = 0; g < ONCE_MAX_GEN; g++) {
		if (once_next(g, secret) || once_keys(secret, &k))
			die("keys");
		/* A key update keeps the header-protection key */
		if (g)
			memcpy(k.hp, keys[0].hp, sizeof(k.hp));
		keys[g] = k;
		ciphers[g] = qoff_cipher_new(&k);
		if (!ciphers[g])
			die("cipher");
	}
}

static uint64_t hash(const uint8_t *p, size_t len)
{
	uint64_t h = 1469598103934665603ull ^ len;

	while (len--)
		h = (h ^ *p++) * 1099511628211ull;
	return h;
}

/* Try @gen on a copy, which is plain afterwards. Return: false when it is another key's. */
static bool try_gen(unsigned int gen, uint8_t *copy, const uint8_t *p, size_t len, uint64_t *pn)
{
	unsigned int pn_len;

	memcpy(copy, p, len);
	/* Four bytes of a number below 2^31: any base recovers it */
	return !qoff_open_packet(ciphers[gen], copy, len, ONCE_PN_OFF, QOFF_PN_NONE, pn, &pn_len);
}

/* Which key opens it? The newest ones first, then all. */
static int find_gen(uint8_t *copy, const uint8_t *p, size_t len, uint64_t *pn)
{
	unsigned int g;

	for (g = newest + 2; g-- > 0;)
		if (g < ONCE_MAX_GEN && try_gen(g, copy, p, len, pn))
			return g;
	for (g = newest + 2; g < ONCE_MAX_GEN; g++)
		if (try_gen(g, copy, p, len, pn))
			return g;
	return -1;
}

static void note(unsigned int gen, uint32_t pn, uint64_t h)
{
	uint32_t i = (pn * 2654435761u ^ gen * 40503u) >> (32 - TABLE_BITS);

	for (; table[i].gen; i = (i + 1) & (TABLE_SIZE - 1)) {
		if (table[i].gen != gen + 1 || table[i].pn != pn)
			continue;
		if (table[i].hash == h) {
			r.repeats++;
		} else if (r.twice++ < SHOWN) {
			fprintf(stderr, "once_check: two contents: key %u, packet number %u\n", gen, pn);
		}
		return;
	}
	if (++r.numbers >= TABLE_SIZE - 1)
		die("too many packets");
	table[i] = (struct number){ .hash = h, .pn = pn, .gen = gen + 1 };
}

/* One UDP payload */
static void packet(const uint8_t *p, size_t len)
{
	static uint8_t copy[MAX_FRAME];
	uint64_t pn;
	int gen;

	r.frames++;
	if (len >= sizeof(ONCE_PLAIN) - 1 && !memcmp(p, ONCE_PLAIN, sizeof(ONCE_PLAIN) - 1)) {
		r.plain++;
		return;
	}
	if (memmem(p, len, ONCE_MARKER, 16))
		r.leaks++;
	gen = find_gen(copy, p, len, &pn);
	if (gen < 0) {
		if (r.unopened++ < SHOWN)
			fprintf(stderr, "once_check: %zu bytes do not open, %02x%02x%02x...\n", len, p[0],
				p[1], p[2]);
		return;
	}
	if ((unsigned int)gen > newest)
		newest = gen;
	note(gen, pn, hash(p, len));
}

/* One frame: IPv4 or IPv6 without extensions, UDP, our port */
static void frame(const uint8_t *p, size_t len)
{
	size_t off = 14, ulen;

	if (len < 14 + 28)
		return;
	if (p[12] == 8 && !p[13] && p[14] >> 4 == 4 && p[23] == IPPROTO_UDP)
		off += (p[14] & 15) * 4;
	else if (p[12] == 0x86 && p[13] == 0xdd && p[20] == IPPROTO_UDP)
		off += 40;
	else
		return;
	if (len < off + 8 || (p[off + 2] << 8 | p[off + 3]) != ONCE_PORT)
		return;
	ulen = p[off + 4] << 8 | p[off + 5];
	if (ulen < 8 || off + ulen > len) {
		r.cut++;
		return;
	}
	packet(p + off + 8, ulen - 8);
}

static void capture(const char *name)
{
	static uint8_t buf[MAX_FRAME];
	struct pcap_frame h;
	struct pcap_file f;
	FILE *in = fopen(name, "r");

	if (!in || fread(&f, sizeof(f), 1, in) != 1)
		die(name);
	if (f.magic != PCAP_MAGIC || f.link != LINK_ETHERNET) {
		errno = EPROTO;
		die(name);
	}
	while (fread(&h, sizeof(h), 1, in) == 1) {
		if (h.caplen > sizeof(buf) || fread(buf, h.caplen, 1, in) != 1) {
			errno = EPROTO;
			die(name);
		}
		if (h.caplen < h.len)
			r.cut++;
		frame(buf, h.caplen);
	}
	fclose(in);
}

static void forge_frame(FILE *out, unsigned int gen, uint32_t pn, uint8_t fill, const char *kind)
{
	uint8_t f[14 + 20 + 8 + 100] = { 0 }, *ip = f + 14, *udp = ip + 20, *p = udp + 8;
	struct pcap_frame h = { .caplen = sizeof(f), .len = sizeof(f) };

	f[12] = 8;
	ip[0] = 0x45;
	ip[9] = IPPROTO_UDP;
	udp[2] = ONCE_PORT >> 8;
	udp[3] = ONCE_PORT & 0xff;
	udp[5] = 8 + 100;
	memset(p, fill, 100);
	p[0] = 0x43 | (gen & 1) << 2;
	p[9] = pn >> 24;
	p[10] = pn >> 16;
	p[11] = pn >> 8;
	p[12] = pn;
	if (!strcmp(kind, "plain"))
		memcpy(p + ONCE_HDR, ONCE_MARKER, 16);
	else if (qoff_seal(ciphers[gen], p, 100, ONCE_PN_OFF, pn))
		die("seal");
	if (!strcmp(kind, "broken"))
		p[50] ^= 1;
	fwrite(&h, sizeof(h), 1, out);
	fwrite(f, sizeof(f), 1, out);
}

/* 20 packets, the fifth of them twice; then what @kind says */
static int forge(const char *kind, const char *name)
{
	struct pcap_file f = { .magic = PCAP_MAGIC, .major = 2, .minor = 4, .snaplen = MAX_FRAME,
			       .link = LINK_ETHERNET };
	FILE *out = fopen(name, "w");
	unsigned int i;

	if (!out)
		die(name);
	fwrite(&f, sizeof(f), 1, out);
	for (i = 0; i < 20; i++)
		forge_frame(out, 0, i, i, "");
	forge_frame(out, 0, 5, 5, "");
	if (!strcmp(kind, "twice"))
		forge_frame(out, 0, 7, 77, "");
	else if (!strcmp(kind, "key"))
		forge_frame(out, 1, 7, 77, "");
	else if (strcmp(kind, "good"))
		forge_frame(out, 0, 30, 30, kind);
	return fclose(out) ? 2 : 0;
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2 || (!strcmp(argv[1], "--forge") && argc != 4)) {
		fprintf(stderr, "usage: once_check CAPTURE... | --forge KIND FILE\n");
		return 2;
	}
	make_keys();
	if (!strcmp(argv[1], "--forge"))
		return forge(argv[2], argv[3]);
	for (i = 1; i < argc; i++)
		capture(argv[i]);
	for (i = 0; i < ONCE_MAX_GEN; i++)
		qoff_cipher_free(ciphers[i]);
	r.gens = newest + 1;
	printf("{\"frames\": %u, \"plain\": %u, \"numbers\": %u, \"repeats\": %u, \"twice\": %u, "
	       "\"unopened\": %u, \"leaks\": %u, \"cut\": %u, \"gens\": %u}\n", r.frames, r.plain,
	       r.numbers, r.repeats, r.twice, r.unopened, r.leaks, r.cut, r.gens);
	return r.twice || r.unopened || r.leaks || r.cut || !r.numbers;
}
