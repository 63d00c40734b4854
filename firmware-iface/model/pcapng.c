// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * pcapng writer (draft-ietf-opsawg-pcapng): one section, one interface a port,
 * nanosecond time stamps, direction in epb_flags, comments on odd frames.
 */
#include <stdio.h>
#include <stdlib.h>

#include "wire.h"

enum {
	BLOCK_SHB = 0x0a0d0d0a, BLOCK_IDB = 1, BLOCK_EPB = 6,
	OPT_END = 0, OPT_COMMENT = 1, OPT_IF_NAME = 2, OPT_EPB_FLAGS = 2,
	OPT_IF_TSRESOL = 9,
	LINKTYPE_ETHERNET = 1,
};

struct nm_pcap {
	FILE *f;
};

struct pcap_block {
	u8 buf[NM_PAGE_SIZE * 4];
	u32 len;
};

static void put(struct pcap_block *b, const void *p, u32 len)
{
	static const u8 zero[4];
	u32 pad = -len & 3;

	memcpy(b->buf + b->len, p, len);
	memcpy(b->buf + b->len + len, zero, pad);
	b->len += len + pad;
}

static void put32(struct pcap_block *b, u32 v)
{
	put(b, &v, 4);
}

static void put_opt(struct pcap_block *b, u16 code, const void *p, u16 len)
{
	u16 head[2] = { code, len };

	put(b, head, 4);
	if (len)
		put(b, p, len);
}

static void block_begin(struct pcap_block *b, u32 type)
{
	b->len = 0;
	put32(b, type);
	put32(b, 0);
}

static void block_end(struct pcap_block *b, FILE *f)
{
	u32 total = b->len + 4;

	memcpy(b->buf + 4, &total, 4);
	put32(b, total);
	fwrite(b->buf, 1, b->len, f);
}

struct nm_pcap *nm_pcap_open(const char *path, unsigned int ports)
{
	struct nm_pcap *p = calloc(1, sizeof(*p));
	static const u8 tsresol = 9;
	struct pcap_block b;
	unsigned int i;

	if (!p)
		return NULL;
	p->f = fopen(path, "we");
	if (!p->f) {
		free(p);
		return NULL;
	}
	block_begin(&b, BLOCK_SHB);
	put32(&b, 0x1a2b3c4d);
	put32(&b, 1);			/* version 1.0 */
	put32(&b, 0xffffffff);		/* section length not told */
	put32(&b, 0xffffffff);
	block_end(&b, p->f);
	for (i = 0; i < ports; i++) {
		char name[16];

		snprintf(name, sizeof(name), "port%u", i);
		block_begin(&b, BLOCK_IDB);
		put32(&b, LINKTYPE_ETHERNET);
		put32(&b, 0);
		put_opt(&b, OPT_IF_NAME, name, strlen(name));
		put_opt(&b, OPT_IF_TSRESOL, &tsresol, 1);
		put_opt(&b, OPT_END, NULL, 0);
		block_end(&b, p->f);
	}
	fflush(p->f);
	return p;
}

void nm_pcap_close(struct nm_pcap *p)
{
	fclose(p->f);
	free(p);
}

int nm_pcap_flush(struct nm_pcap *p)
{
	return fflush(p->f);
}

void nm_pcap_write(struct nm_pcap *p, unsigned int port, enum nm_pcap_dir dir,
		   const u8 *frame, u32 len, const char *comment)
{
	u64 now = nm_real_ns();
	struct pcap_block b;
	u32 flags = dir;

	block_begin(&b, BLOCK_EPB);
	put32(&b, port);
	put32(&b, now >> 32);
	put32(&b, now);
	put32(&b, len);
	put32(&b, len);
	put(&b, frame, len);
	if (comment)
		put_opt(&b, OPT_COMMENT, comment, strlen(comment));
	put_opt(&b, OPT_EPB_FLAGS, &flags, 4);
	put_opt(&b, OPT_END, NULL, 0);
	block_end(&b, p->f);
}
