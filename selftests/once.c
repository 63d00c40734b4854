// SPDX-License-Identifier: GPL-2.0
/*
 * Torture of "one (key, packet number), one content": threads send with one context
 * and the same next packet number, by MSG_ZEROCOPY, io_uring SENDMSG_ZC and plain
 * sendmsg on a small socket buffer, while others rewrite the payload in their
 * buffers without end, one updates the key, and one splices ordinary datagrams from
 * the same memory. A number that was refused is tried again with what the buffer
 * holds by then. Whoever runs this changes the path underneath and captures;
 * once_check judges the captures.
 *
 *	once NETNS ADDRESS PROGRESS	until stdin ends; PROGRESS: a file, 8 bytes: sends so far
 */
#include <time.h>
#include <linux/errqueue.h>
#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "once.h"
#include "qoff_test.h"

#define SENDERS		4
#define SCRIBBLERS	2
#define SEGS		24
#define BUF		65536
#define UPDATE_EVERY	60	/* super-packets; the kernel wants the newest key used first */
#define PAUSE_US	5000	/* a capture has to keep up */

enum how { ZEROCOPY, URING, PLAIN };

static const char * const how_names[] = { "zerocopy", "uring", "plain" };

/**
 * struct sender - a sending thread
 * @how: which call
 * @thread: its thread
 * @sock: attached, of the one group
 * @buf: payload, which the scribblers write to
 * @control: control messages of a send
 * @segs: lengths, always the same, so that the scribblers know where they may write
 * @len: their sum
 * @seed: of the lengths
 * @ring: for URING
 * @sent: super-packets
 * @copied: notifications that say the payload was copied
 * @not_copied: others
 */
struct sender {
	enum how how;
	pthread_t thread;
	struct qoff_sock *sock;
	uint8_t *buf;
	char control[QOFF_TX_CONTROL_SIZE] __attribute__((aligned(8)));
	struct qoff_tx_seg segs[SEGS];
	size_t len;
	uint64_t seed;
	struct io_uring ring;
	unsigned long sent, copied, not_copied;
};

static struct sender senders[SENDERS];
static struct qoff_ctx_id ctx;
static struct sockaddr_storage dst;
static atomic_uint gen;			/* newest key */
static atomic_ulong next_pn, total, stale, again, old_phase, gone, odd, spliced, updates;
static atomic_ulong *progress;
static atomic_bool stop;

/* Only between header and tag: these stay what the sender wrote */
static void *scribble(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	while (!stop) {
		for (int i = 0; i < SENDERS; i++) {
			uint8_t *p = senders[i].buf;

			for (int s = 0; s < SEGS; s++) {
				uint64_t v = rnd(&state) & 0x7f7f7f7f7f7f7f7fULL;
				size_t room = senders[i].segs[s].len - ONCE_HDR - QOFF_TAG_SIZE - 8;

				memcpy(p + ONCE_HDR + v % room, &v, sizeof(v));
				p += senders[i].segs[s].len;
			}
		}
		/* Two processors have more to do than this */
		usleep(50);
	}
	return NULL;
}

/* Headers for a send that starts at @pn with key @g */
static void headers(struct sender *s, unsigned long pn, unsigned int g)
{
	uint8_t *p = s->buf;

	for (int i = 0; i < SEGS; i++, pn++) {
		p[0] = 0x43 | (g & 1) << 2;
		memset(p + 1, 0x11, ONCE_DCID);
		for (int b = 0; b < 4; b++)
			p[ONCE_PN_OFF + b] = pn >> 8 * (3 - b);
		p += s->segs[i].len;
	}
}

/* Zerocopy notifications: sealed payload is always copied */
static void reap(struct sender *s)
{
	char ctl[256] __attribute__((aligned(8)));
	struct sock_extended_err *ee;
	struct cmsghdr *c;

	for (;;) {
		struct msghdr msg = { .msg_control = ctl, .msg_controllen = sizeof(ctl) };

		if (recvmsg(qoff_sock_fd(s->sock), &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		c = CMSG_FIRSTHDR(&msg);
		if (!c || (c->cmsg_type != IP_RECVERR && c->cmsg_type != IPV6_RECVERR))
			continue;
		ee = (void *)CMSG_DATA(c);
		if (ee->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
			continue;
		if (ee->ee_code == SO_EE_CODE_ZEROCOPY_COPIED)
			s->copied++;
		else
			s->not_copied++;
	}
}

static int uring_send(struct sender *s, struct msghdr *msg)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);
	struct io_uring_cqe *cqe;
	bool more = true;
	int res = -EIO;

	io_uring_prep_sendmsg_zc(sqe, qoff_sock_fd(s->sock), msg, MSG_DONTWAIT);
	MUST(io_uring_submit(&s->ring) == 1);
	while (more) {
		MUST(!io_uring_wait_cqe(&s->ring, &cqe));
		if (!(cqe->flags & IORING_CQE_F_NOTIF))
			res = cqe->res;
		more = cqe->flags & IORING_CQE_F_MORE;
		io_uring_cqe_seen(&s->ring, cqe);
	}
	return res < 0 ? res : 0;
}

static int send_once(struct sender *s, unsigned long pn)
{
	struct iovec iov = { s->buf, s->len };
	struct qoff_tx_msg m = { .ctx = ctx, .pn = pn, .segs = s->segs, .nseg = SEGS, .iov = &iov,
				 .iovlen = 1, .tos = -1 };
	struct msghdr msg = { .msg_name = &dst, .msg_namelen = addr_len(&dst), .msg_iov = &iov,
			      .msg_iovlen = 1, .msg_control = s->control };
	ssize_t n = qoff_tx_control(&m, s->control, sizeof(s->control));

	MUST(n > 0);
	msg.msg_controllen = n;
	if (s->how == URING)
		return uring_send(s, &msg);
	n = sendmsg(qoff_sock_fd(s->sock), &msg,
		    MSG_DONTWAIT | (s->how == ZEROCOPY ? MSG_ZEROCOPY : 0));
	return n < 0 ? -errno : 0;
}

/* What became of a send that was to use @pn */
static void account(struct sender *s, unsigned long pn, int err)
{
	unsigned long seen = pn;

	switch (err) {
	case 0:
		s->sent++;
		*progress = ++total;
		/* fall through */
	case -ESTALE:
		/* Somebody was faster: then the numbers go on from there */
		stale += err != 0;
		atomic_compare_exchange_strong(&next_pn, &seen, pn + SEGS);
		break;
	case -EAGAIN:
	case -ENOBUFS:
		again++;
		break;
	case -EINVAL:
	case -ENOKEY:
		old_phase++;
		break;
	case -ENETUNREACH:
	case -ENETDOWN:
	case -EHOSTUNREACH:
	case -ENODEV:
		gone++;
		break;
	default:
		odd++;
		fprintf(stderr, "once: %s: %s\n", how_names[s->how], strerror(-err));
	}
}

static void *sending(void *arg)
{
	struct sender *s = arg;

	while (!stop) {
		unsigned long pn = next_pn;

		/* All threads want the same number; at most one of them gets it */
		headers(s, pn, gen);
		account(s, pn, send_once(s, pn));
		if (s->how == ZEROCOPY)
			reap(s);
		usleep(PAUSE_US);
	}
	return NULL;
}

static void *updating(void *arg)
{
	unsigned long at = 0;
	struct qoff_keys k;
	uint8_t secret[32];
	int err;

	once_next(0, secret);
	while (!stop && gen + 1 < ONCE_MAX_GEN) {
		usleep(1000);
		if (total < at + UPDATE_EVERY)
			continue;
		at = total;
		MUST(!once_next(gen + 1, secret) && !once_keys(secret, &k));
		/* -EBUSY: not used yet */
		do {
			err = qoff_ctx_update(senders[0].sock, ctx, (gen + 1) & 1, &k);
			if (err)
				usleep(1000);
		} while (err == -EBUSY && !stop);
		if (stop)
			break;
		MUST(!err);
		gen++;
		updates++;
	}
	return NULL;
}

/* Ordinary datagrams out of the very pages that others seal from */
static void *splicing(void *arg)
{
	int fd = qoff_sock_fd(senders[SENDERS - 1].sock), p[2];
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct iovec iov = { page, 600 };

	MUST(!pipe(p) && page != MAP_FAILED);
	while (!stop) {
		memcpy(page, ONCE_PLAIN, sizeof(ONCE_PLAIN) - 1);
		memcpy(page + 32, senders[0].buf + 32, 500);
		if (vmsplice(p[1], &iov, 1, 0) != (ssize_t)iov.iov_len ||
		    splice(p[0], NULL, fd, NULL, iov.iov_len, 0) < 0) {
			/* The path may be gone; what is left in the pipe is not sent later */
			close(p[0]);
			close(p[1]);
			MUST(!pipe(p));
		} else {
			spliced++;
		}
		usleep(10 * PAUSE_US);
	}
	return NULL;
}

static void set_up(struct sender *s, struct qoff *q, int i)
{
	static const enum how hows[SENDERS] = { ZEROCOPY, ZEROCOPY, URING, PLAIN };
	int one = 1, small = 1 << 17;
	struct sockaddr_storage any = { .ss_family = dst.ss_family };
	int fd = udp_socket(&any);

	s->how = hows[i];
	s->seed = i + 1;
	for (int k = 0; k < SEGS; k++) {
		s->segs[k].len = 60 + rnd(&s->seed) % 1200;
		s->len += s->segs[k].len;
	}
	s->buf = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		      -1, 0);
	MUST(s->buf != MAP_FAILED);
	for (size_t b = 0; b + 16 <= s->len; b += 16)
		memcpy(s->buf + b, ONCE_MARKER, 16);
	MUST(!connect(fd, (void *)&dst, addr_len(&dst)));
	MUST(!qoff_attach(q, fd, i ? qoff_sock_fd(senders[0].sock) : -1, ONCE_DCID, 0, &s->sock));
	if (s->how == ZEROCOPY)
		MUST(!setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)));
	if (s->how == PLAIN)
		MUST(!setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &small, sizeof(small)));
	if (s->how == URING)
		MUST(!io_uring_queue_init(8, &s->ring, 0));
}

static void report(struct sender *s)
{
	struct qoff_ctx_info info;

	MUST(!qoff_ctx_get(s->sock, ctx.id, &info));
	printf("{\"stale\": %lu, \"again\": %lu, \"old_phase\": %lu, \"gone\": %lu, \"odd\": %lu, "
	       "\"spliced\": %lu, \"updates\": %lu, \"copied\": %lu, \"not_copied\": %lu",
	       stale, again, old_phase, gone, odd, spliced, updates,
	       senders[0].copied + senders[1].copied,
	       senders[0].not_copied + senders[1].not_copied);
	for (int h = 0; h <= PLAIN; h++) {
		unsigned long n = 0;

		for (int i = 0; i < SENDERS; i++)
			n += senders[i].how == h ? senders[i].sent : 0;
		printf(", \"%s\": %lu", how_names[h], n);
	}
	for (int i = 0; i < SENDERS; i++) {
		struct qoff_sock_info si;

		MUST(!qoff_sock_get(senders[i].sock, &si));
		for (int v = 0; v < 64; v++)
			info.stats.v[v] = (i ? info.stats.v[v] : 0) + si.stats.v[v];
	}
	for (int v = 0; v < 64; v++)
		if (info.stats.v[v] && qoff_stat_name(v))
			printf(", \"%s\": %llu", qoff_stat_name(v),
			       (unsigned long long)info.stats.v[v]);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct qoff_ctx_param p = { .dcid_len = ONCE_DCID };
	pthread_t others[SCRIBBLERS + 2];
	struct qoff_keys k;
	uint8_t secret[32];
	struct qoff *q;
	int i, fd;
	char c;

	if (argc != 4) {
		fprintf(stderr, "usage: once NETNS ADDRESS PROGRESS\n");
		return 2;
	}
	fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && !ftruncate(fd, 4096));
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(progress != MAP_FAILED);
	enter_ns(argv[1]);
	dst = parse_addr(argv[2]);
	((struct sockaddr_in *)&dst)->sin_port = htons(ONCE_PORT);
	q = qoff_open(QOFF_KERNEL);
	MUST(q);
	for (i = 0; i < SENDERS; i++)
		set_up(&senders[i], q, i);
	MUST(!once_next(0, secret) && !once_keys(secret, &k));
	p.keys = &k;
	MUST(!qoff_ctx_add(senders[0].sock, &p, &ctx));
	for (i = 0; i < SENDERS; i++)
		MUST(!pthread_create(&senders[i].thread, NULL, sending, &senders[i]));
	for (i = 0; i < SCRIBBLERS; i++)
		MUST(!pthread_create(&others[i], NULL, scribble, (void *)(uintptr_t)(i + 1)));
	MUST(!pthread_create(&others[i++], NULL, updating, NULL));
	MUST(!pthread_create(&others[i++], NULL, splicing, NULL));
	printf("ready\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	stop = true;
	for (i = 0; i < SENDERS; i++)
		pthread_join(senders[i].thread, NULL);
	for (i = 0; i < SCRIBBLERS + 2; i++)
		pthread_join(others[i], NULL);
	reap(&senders[0]);
	reap(&senders[1]);
	report(&senders[0]);
	qoff_close(q);
	return 0;
}
