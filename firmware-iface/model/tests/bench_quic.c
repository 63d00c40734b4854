// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the QUIC extension does outside a VM, beside a loop of OpenSSL in the same
 * process that does per 1350-byte packet what protection needs: IV, AAD, payload,
 * tag, one AES-ECB block. One thread, by its processor time; loop and model take
 * turns, and medians are told. Prints one JSON object.
 *
 * "seal": from the WQE to frames on a wire that ends there, gather, headers and
 * checksums included. "open": from the frame on the wire to plain bytes coalesced
 * in the host's buffer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "quic_h.h"

#define LOG_Q		8
#define PKT		1350
#define SEGS		47
#define DCID		8
#define TURNS		15

static u64 cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, u32 n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* --- OpenSSL alone: packets a second --- */

struct loop {
	EVP_CIPHER_CTX *aead, *hp;
	u8 pkt[PKT];
	u8 out[PKT];
};

static void loop_init(struct loop *l, bool seal)
{
	u8 key[16] = { 1 };

	l->aead = EVP_CIPHER_CTX_new();
	l->hp = EVP_CIPHER_CTX_new();
	must(EVP_CipherInit_ex(l->aead, EVP_aes_128_gcm(), NULL, key, NULL, seal) &&
	     EVP_EncryptInit_ex(l->hp, EVP_aes_128_ecb(), NULL, key, NULL), "OpenSSL");
	memset(l->pkt, 7, sizeof(l->pkt));
}

static double loop_run(struct loop *l, bool seal, double seconds)
{
	u32 hdr = 1 + DCID + 4, body = PKT - hdr - 16, i;
	u64 begin = cpu_ns(), now, n = 0;
	u8 nonce[12] = { }, mask[16], tag[16] = { };
	int got;

	do {
		for (i = 0; i < 256; i++, n++) {
			nm_wr64(nonce + 4, n);
			EVP_CipherInit_ex(l->aead, NULL, NULL, NULL, nonce, seal);
			EVP_CipherUpdate(l->aead, NULL, &got, l->pkt, hdr);
			EVP_CipherUpdate(l->aead, l->out + hdr, &got, l->pkt + hdr, body);
			if (!seal)
				EVP_CIPHER_CTX_ctrl(l->aead, EVP_CTRL_AEAD_SET_TAG, 16, tag);
			EVP_CipherFinal_ex(l->aead, l->out + hdr + got, &got);
			if (seal)
				EVP_CIPHER_CTX_ctrl(l->aead, EVP_CTRL_AEAD_GET_TAG, 16, tag);
			EVP_EncryptUpdate(l->hp, mask, &got, l->out + 1 + DCID + 4, 16);
		}
		now = cpu_ns();
	} while (now - begin < seconds * 1e9);
	return n * 1e9 / (now - begin);
}

/* AES-GCM over one long buffer: what the cipher alone could do */
static double stream(double seconds)
{
	u32 size = 1 << 20;
	u8 *p = malloc(size), key[16] = { 1 }, nonce[12] = { };
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	u64 begin, now, n = 0;
	int got;

	memset(p, 1, size);
	EVP_EncryptInit_ex(c, EVP_aes_128_gcm(), NULL, key, nonce);
	begin = cpu_ns();
	do {
		EVP_EncryptUpdate(c, p, &got, p, size);
		n += size;
		now = cpu_ns();
	} while (now - begin < seconds * 1e9);
	EVP_CIPHER_CTX_free(c);
	free(p);
	return n * 8e9 / (now - begin);
}

/* --- the model --- */

struct pair {
	struct h h;
	struct hq_ctx tx, rx;
	struct hq_super s;
	u8 hdr[64];
};

static void pair_open(struct pair *p)
{
	struct nm_opts o = { .seed = 1, .quic = "on" };
	u32 i;

	h_open(&p->h, &o);
	h_init(&p->h.f[0]);
	h_init(&p->h.f[1]);
	h_queues(&p->h.f[0], LOG_Q, 2048);
	p->h.f[1].striding = true;
	h_queues(&p->h.f[1], LOG_Q, 131072);
	p->tx = (struct hq_ctx){ .dcid_len = DCID, .valid = 1 };
	hq_keys(&p->tx.keys[0], 1, 3);
	p->rx = p->tx;
	p->rx.dir = QOFF_MLX5_RX;
	p->rx.handle = 5;
	p->rx.gro = true;
	must(!hq_ctx_create(&p->h.f[0], &p->tx) && !hq_ctx_create(&p->h.f[1], &p->rx) &&
	     !hq_rule(&p->h.f[1], 0, &p->rx, p->rx.id), "contexts");
	p->s = (struct hq_super){
		.n = SEGS, .mss = PKT, .bytes = SEGS * PKT, .ctx = p->tx.id, .hdr = p->hdr,
		.flags = QOFF_MLX5_TXF_SEAL | QOFF_MLX5_TXF_PN | QOFF_MLX5_TXF_TAG_ROOM,
		.payload = h_alloc(&p->h.f[0], SEGS * PKT, 4096),
	};
	p->s.hdr_len = h_frame(p->hdr, 4, 17, 0, 1234, 4433);
	for (i = 0; i < SEGS; i++)
		ref_plain(h_ptr(&p->h.f[0], p->s.payload + i * PKT), PKT, p->tx.dcid, DCID, i, 4,
			  0, i);
}

/* Numbers into the headers, as a host would write them with its packets */
static void number(struct pair *p, u64 pn)
{
	u32 i;

	p->s.pn = pn;
	for (i = 0; i < SEGS; i++)
		nm_wr32((u8 *)h_ptr(&p->h.f[0], p->s.payload + i * PKT) + 1 + DCID, pn + i);
}

/* The wire ends at the sender: what is measured is the sealing side. */
static double seal(struct pair *p, double seconds)
{
	u64 n = 0, pn = 0, spent = 0, begin, was = p->h.f[0].fn->cnt[NM_CNT_quic_tx_sealed];

	nm_wire_impair(p->h.f[0].fn)->loss = 1000000;
	do {
		number(p, pn);
		begin = cpu_ns();
		hq_post(&p->h, &p->h.f[0], &p->s);
		spent += cpu_ns() - begin;
		must(h_poll_tx(&p->h.f[0]) != NULL, "a completion");
		pn += SEGS;
		n += SEGS;
	} while (spent < seconds * 1e9);
	must(p->h.f[0].fn->cnt[NM_CNT_quic_tx_sealed] - was == n, "packets were not sealed");
	nm_wire_impair(p->h.f[0].fn)->loss = 0;
	return n * 1e9 / spent;
}

/* Frames sealed beforehand, straight into the receiving port */
static double open_frames(struct pair *p, double seconds)
{
	u32 len = p->s.hdr_len + PKT, i, rounds = 0;
	u64 spent = 0, begin, n = 0, was = p->h.f[1].fn->cnt[NM_CNT_quic_rx_opened];
	static u8 frame[SEGS][2048];
	struct nm_pkt pk;
	struct nm_cqe *c;

	do {
		for (i = 0; i < SEGS; i++) {
			u8 *q = frame[i] + p->s.hdr_len;

			if (rounds)
				continue;
			h_frame(frame[i], 4, 17, PKT, 1234, 4433);
			ref_plain(q, PKT, p->tx.dcid, DCID, i, 4, 0, i);
			must(ref_seal(&p->tx.keys[0], i, DCID, q, PKT), "reference");
			nm_pkt_parse(&pk, frame[i], len);
			nm_csum_set_ip(&pk, frame[i]);
			nm_csum_set_l4(&pk, frame[i]);
		}
		rounds++;
		begin = cpu_ns();
		for (i = 0; i < SEGS; i++)
			nm_rx_frame(p->h.f[1].fn, frame[i], len);
		h_run(&p->h);
		spent += cpu_ns() - begin;
		n += SEGS;
		while ((c = h_poll_rx(&p->h.f[1])))
			if (be32toh(c->byte_cnt) >> 31 ||
			    (be32toh(c->byte_cnt) >> 16 & 0x7fff) + be16toh(c->wqe_counter) >= 8)
				h_repost(&p->h.f[1]);
	} while (spent < seconds * 1e9);
	must(p->h.f[1].fn->cnt[NM_CNT_quic_rx_opened] - was == n, "packets were not opened");
	must(!p->h.f[1].fn->cnt[NM_CNT_rx_no_buffer], "buffers ran out");
	return n * 1e9 / spent;
}

/* Created with its two DEKs and destroyed with them: six commands, by the
 * register interface: command queue, mailboxes, doorbell.
 */
static double by_command(struct pair *p, double seconds)
{
	struct h_fn *f = &p->h.f[0];
	u8 in[16 + NM_BYTES(encryption_key_obj)] = { }, out[16];
	u64 begin = cpu_ns(), now, n = 0;
	u32 id[3], i;

	do {
		for (i = 0; i < 3; i++) {
			void *obj = in + 16;
			u32 len = 16 + (i < 2 ? NM_BYTES(encryption_key_obj) :
						QOFF_MLX5_BYTES(quic_ctx_obj));

			memset(in, 0, sizeof(in));
			nm_wr16(in, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
			NM_SET(general_obj_in_cmd_hdr, in, obj_type, i < 2 ?
			       MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY : QOFF_MLX5_OBJ_TYPE_CTX);
			if (i < 2) {
				NM_SET(encryption_key_obj, obj, key_purpose, QOFF_MLX5_DEK_PURPOSE);
				NM_SET(encryption_key_obj, obj, pd, f->pd);
			} else {
				struct hq_ctx x = p->tx;

				x.dek[0] = id[0];
				x.dek[2] = id[1];
				hq_obj(&x, obj);
			}
			must(!h_cmdq(f, 0, in, len, out, sizeof(out)), "create");
			id[i] = NM_GET(general_obj_out_cmd_hdr, out, obj_id);
		}
		for (i = 3; i--;) {
			memset(in, 0, 16);
			nm_wr16(in, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
			NM_SET(general_obj_in_cmd_hdr, in, obj_type, i < 2 ?
			       MLX5_GENERAL_OBJECT_TYPES_ENCRYPTION_KEY : QOFF_MLX5_OBJ_TYPE_CTX);
			NM_SET(general_obj_in_cmd_hdr, in, obj_id, id[i]);
			must(!h_cmdq(f, 0, in, 16, out, sizeof(out)), "destroy");
		}
		n++;
		now = cpu_ns();
	} while (now - begin < seconds * 1e9);
	return n * 1e9 / (now - begin);
}

/* Written and cleared by WQEs, sixteen of each behind a doorbell */
static double by_queue(struct pair *p, double seconds)
{
	struct h_fn *f = &p->h.f[0];
	struct hq_ctx x[16];
	u64 begin, now, n = 0;
	struct nm_cqe *c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(x); i++) {
		x[i] = p->tx;
		x[i].in_band = true;
		must(!hq_ctx_create(f, &x[i]), "an empty object");
	}
	begin = cpu_ns();
	do {
		for (i = 0; i < ARRAY_SIZE(x); i++)
			hq_post_ctx(NULL, f, QOFF_MLX5_CTX_WRITE, &x[i], 0);
		for (i = 0; i < ARRAY_SIZE(x); i++)
			hq_post_ctx(i + 1 == ARRAY_SIZE(x) ? &p->h : NULL, f,
				    QOFF_MLX5_CTX_CLEAR, &x[i], 0);
		for (i = 0; i < 2 * ARRAY_SIZE(x); i++) {
			c = h_poll_tx(f);
			must(c && !c->rsvd0, "context control");
		}
		n += ARRAY_SIZE(x);
		now = cpu_ns();
	} while (now - begin < seconds * 1e9);
	return n * 1e9 / (now - begin);
}

int main(int argc, char **argv)
{
	double t = argc > 1 ? atof(argv[1]) : 1.0, turn = t / TURNS;
	double ls[TURNS], ms[TURNS], lo[TURNS], mo[TURNS], rs[TURNS], ro[TURNS], raw, cmd, queue;
	struct loop seal_loop, open_loop;
	struct pair *p = calloc(1, sizeof(*p));
	u32 i;

	pair_open(p);
	loop_init(&seal_loop, true);
	loop_init(&open_loop, false);
	for (i = 0; i < TURNS; i++) {
		ls[i] = loop_run(&seal_loop, true, turn);
		ms[i] = seal(p, turn);
		lo[i] = loop_run(&open_loop, false, turn);
		mo[i] = open_frames(p, turn);
	}
	raw = stream(t / 4);
	cmd = by_command(p, t / 2);
	queue = by_queue(p, t / 2);
	/* Of turns side by side, as the machine may be shared. */
	for (i = 0; i < TURNS; i++) {
		rs[i] = ms[i] / ls[i];
		ro[i] = mo[i] / lo[i];
	}
	printf("{ \"packet\": %u, \"openssl_seal_pps\": %.0f, \"model_seal_pps\": %.0f, "
	       "\"seal_ratio\": %.2f, \"openssl_open_pps\": %.0f, \"model_open_pps\": %.0f, "
	       "\"open_ratio\": %.2f, \"stream_gbps\": %.1f, \"contexts_by_command\": %.0f, "
	       "\"contexts_by_queue\": %.0f }\n", PKT, median(ls, TURNS), median(ms, TURNS),
	       median(rs, TURNS), median(lo, TURNS), median(mo, TURNS),
	       median(ro, TURNS), raw / 1e9, cmd, queue);
	h_close(&p->h);
	free(p);
	return 0;
}
