// SPDX-License-Identifier: GPL-2.0
/*
 * Bad requests: attach, contexts and flows with what they must refuse. The kernel and
 * libqoff's backend in user space answer with the same errno and with a sentence.
 */
#include "bad_input.h"

/* Requests: what is asked, and the errno. */
static void expect(struct world *w, const char *name, int got, int want)
{
	if (got != want)
		ksft_result(false, "request, %s: %s: %s (wanted %s)", backend_name(w->backend),
			    name, strerror(-got), strerror(-want));
	else
		ksft_result(*qoff_error(), "request, %s: %s: %s: \"%s\"", backend_name(w->backend),
			    name, strerror(-want), qoff_error());
}

static void attach_cases(struct world *w)
{
	struct sockaddr_storage sa = w->sa;
	int fd, other, one = 1, p[2];
	struct qoff_sock *s = NULL;

	((struct sockaddr_in *)&sa)->sin_port = 0;
	MUST(!pipe(p));
	expect(w, "attach: not a socket", qoff_attach(w->q, p[0], -1, 4, 0, &s), -ENOTSOCK);
	close(p[0]);
	close(p[1]);
	expect(w, "attach: closed descriptor", qoff_attach(w->q, p[0], -1, 4, 0, &s), -EBADF);
	expect(w, "attach: negative descriptor", qoff_attach(w->q, -1, -1, 4, 0, &s), -EBADF);
	fd = socket(sa.ss_family, SOCK_STREAM, 0);
	expect(w, "attach: TCP socket", qoff_attach(w->q, fd, -1, 4, 0, &s), -EPROTONOSUPPORT);
	close(fd);
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	expect(w, "attach: UNIX socket", qoff_attach(w->q, fd, -1, 4, 0, &s), -EPROTONOSUPPORT);
	close(fd);
	fd = socket(sa.ss_family, SOCK_DGRAM, IPPROTO_UDPLITE);
	if (fd >= 0)
		expect(w, "attach: UDP-Lite socket", qoff_attach(w->q, fd, -1, 4, 0, &s),
		       -EPROTONOSUPPORT);
	close(fd);

	fd = udp_socket(&sa);
	expect(w, "attach: DCID of 21 bytes", qoff_attach(w->q, fd, -1, 21, 0, &s), -ERANGE);
	expect(w, "attach: unknown flags", qoff_attach(w->q, fd, -1, 4, 1, &s), -EINVAL);
	expect(w, "attach: twice", qoff_attach(w->q, w->fa, -1, 4, 0, &s), -EBUSY);
	expect(w, "attach: join with another DCID length", qoff_attach(w->q, fd, w->fb, 5, 0, &s),
	       -EINVAL);
	sa = w->sa;
	((struct sockaddr_in *)&sa)->sin_port = 0;
	other = udp_socket(&sa);
	expect(w, "attach: join one that is not attached", qoff_attach(w->q, fd, other, 4, 0, &s),
	       -EINVAL);
	MUST(!setsockopt(fd, SOL_UDP, UDP_CORK, &one, sizeof(one)));
	expect(w, "attach: corked", qoff_attach(w->q, fd, -1, 4, 0, &s), -EBUSY);
	close(fd);
	close(other);
}

static void ctx_cases(struct world *w)
{
	struct qoff_keys k = rnd_keys(&w->seed, QUIC_OFFLOAD_CIPHER_AES_128_GCM), bad, next;
	struct qoff_ctx_param p = { .keys = &bad, .dcid_len = 4 };
	struct qoff_ctx_id id = { 0 }, none = { 77, 1 };
	struct qoff_ctx_info info;

	bad = k;
	bad.key_len = 32;
	expect(w, "ctx-add: key of 32 bytes for AES-128", qoff_ctx_add(w->a, &p, &id), -EINVAL);
	bad = k;
	bad.key_len = 0;
	expect(w, "ctx-add: empty key", qoff_ctx_add(w->a, &p, &id), -EINVAL);
	bad = k;
	bad.hp_len = 15;
	expect(w, "ctx-add: hp-key of 15 bytes", qoff_ctx_add(w->a, &p, &id), -EINVAL);
	bad = k;
	bad.cipher = 0;
	expect(w, "ctx-add: cipher 0", qoff_ctx_add(w->a, &p, &id), -ERANGE);
	bad.cipher = 5;
	expect(w, "ctx-add: cipher 5", qoff_ctx_add(w->a, &p, &id), -ERANGE);
	bad = k;
	p.dcid_len = 21;
	expect(w, "ctx-add: DCID of 21 bytes", qoff_ctx_add(w->a, &p, &id), -ERANGE);
	p.dcid_len = 4;
	p.phase = 2;
	expect(w, "ctx-add: phase 2", qoff_ctx_add(w->a, &p, &id), -ERANGE);
	p.phase = 0;
	p.flags = 2;
	expect(w, "ctx-add: unknown flag", qoff_ctx_add(w->a, &p, &id), -EINVAL);
	p.flags = 0;
	p.path_id = 1;
	expect(w, "ctx-add: path id", qoff_ctx_add(w->a, &p, &id), -EOPNOTSUPP);
	p.path_id = 0;
	p.first_pn = QOFF_PN_MAX + 1;
	expect(w, "ctx-add: first-pn 2^62", qoff_ctx_add(w->a, &p, &id), -ERANGE);
	p.first_pn = 0;
	p.keys = &w->keys;
	expect(w, "ctx-add: key that is installed", qoff_ctx_add(w->a, &p, &id), -EEXIST);
	expect(w, "ctx-add: key that another group has", qoff_ctx_add(w->b, &p, &id), -EEXIST);

	expect(w, "ctx-get: unknown", qoff_ctx_get(w->a, 77, &info), -ENOENT);
	expect(w, "ctx-get: 0", qoff_ctx_get(w->a, 0, &info), -ERANGE);
	expect(w, "ctx-get: another group's", qoff_ctx_get(w->b, w->ctx.id, &info), -ENOENT);
	expect(w, "ctx-del: unknown", qoff_ctx_del(w->a, none), -ENOENT);
	none = w->ctx;
	none.gen += 50;
	expect(w, "ctx-del: another generation", qoff_ctx_del(w->a, none), -ESTALE);
	expect(w, "ctx-update: another generation", qoff_ctx_update(w->a, none, 1, &k), -ESTALE);
	expect(w, "ctx-update: phase of the newest key", qoff_ctx_update(w->a, w->ctx, 0, &k),
	       -EINVAL);
	expect(w, "ctx-update: phase 2", qoff_ctx_update(w->a, w->ctx, 2, &k), -ERANGE);
	bad = k;
	bad.key_len = 32;
	expect(w, "ctx-update: key of 32 bytes", qoff_ctx_update(w->a, w->ctx, 1, &bad), -EINVAL);
	expect(w, "ctx-update: key that is installed",
	       qoff_ctx_update(w->a, w->ctx, 1, &w->keys), -EEXIST);
	MUST(!qoff_ctx_get(w->a, w->ctx.id, &info));
	ksft_result(!info.phase && info.key_used == info.stats.v[QUIC_OFFLOAD_A_STATS_TX_SEGS],
		    "request, %s: the context is as it was", backend_name(w->backend));

	/* A key update before the last one was used. */
	p.keys = &k;
	MUST(!qoff_ctx_add(w->a, &p, &id));
	next = rnd_keys(&w->seed, k.cipher);
	MUST(!qoff_ctx_update(w->a, id, 1, &next));
	next = rnd_keys(&w->seed, k.cipher);
	expect(w, "ctx-update: newest key not used yet", qoff_ctx_update(w->a, id, 0, &next),
	       -EBUSY);
	MUST(!qoff_ctx_del(w->a, id));
}

static void flow_cases(struct world *w)
{
	struct qoff_keys k = rnd_keys(&w->seed, QUIC_OFFLOAD_CIPHER_AES_128_GCM), bad = k;
	uint8_t id[21] = { 9 };
	struct qoff_flow_param p = { .local = (void *)&w->sb, .remote = (void *)&w->sa, .dcid = id,
				     .dcid_len = DCID_LEN, .keys = &bad,
				     .largest_pn = QOFF_PN_NONE };
	struct sockaddr_storage ss;
	struct qoff_flow_info info;
	struct qoff_sock *unbound;
	uint32_t f, g;
	int fd;

	p.dcid_len = DCID_LEN + 1;
	expect(w, "flow-add: DCID of another length", qoff_flow_add(w->b, &p, &f), -EINVAL);
	p.dcid_len = DCID_LEN;
	bad.key_len = 12;
	expect(w, "flow-add: key of 12 bytes", qoff_flow_add(w->b, &p, &f), -EINVAL);
	bad = k;
	bad.hp_len = 32;
	expect(w, "flow-add: hp-key of 32 bytes", qoff_flow_add(w->b, &p, &f), -EINVAL);
	bad = k;
	bad.cipher = 9;
	expect(w, "flow-add: cipher 9", qoff_flow_add(w->b, &p, &f), -ERANGE);
	bad = k;
	p.phase = 3;
	expect(w, "flow-add: phase 3", qoff_flow_add(w->b, &p, &f), -ERANGE);
	p.phase = 0;
	p.largest_pn = QOFF_PN_MAX + 1;
	expect(w, "flow-add: largest-pn 2^62", qoff_flow_add(w->b, &p, &f), -ERANGE);
	p.largest_pn = QOFF_PN_NONE;
	p.keys_of = w->flow;
	expect(w, "flow-add: keys and keys-of", qoff_flow_add(w->b, &p, &f), -EINVAL);
	p.keys = NULL;
	p.keys_of = 0x7ffffff0;
	expect(w, "flow-add: keys of an unknown flow", qoff_flow_add(w->b, &p, &f), -ENOENT);
	p.keys_of = 0;
	p.largest_pn = 5;
	expect(w, "flow-add: largest-pn without a key", qoff_flow_add(w->b, &p, &f), -EINVAL);
	p.largest_pn = QOFF_PN_NONE;
	p.dcid = dcid;
	expect(w, "flow-add: there is one", qoff_flow_add(w->b, &p, &f), -EEXIST);
	p.dcid = id;
	ss = w->sa;
	((struct sockaddr_in *)&ss)->sin_port = 0;
	p.remote = (void *)&ss;
	expect(w, "flow-add: remote port 0", qoff_flow_add(w->b, &p, &f), -EINVAL);
	ss = parse_addr(w->sa.ss_family == AF_INET ? "224.0.0.1" : "ff02::1");
	((struct sockaddr_in *)&ss)->sin_port = htons(5);
	expect(w, "flow-add: multicast remote", qoff_flow_add(w->b, &p, &f), -EINVAL);
	ss = parse_addr(w->sa.ss_family == AF_INET ? "fd00::1" : "10.0.0.1");
	((struct sockaddr_in *)&ss)->sin_port = htons(5);
	expect(w, "flow-add: two address families", qoff_flow_add(w->b, &p, &f), -EINVAL);
	p.remote = (void *)&w->sa;
	ss = parse_addr(w->sa.ss_family == AF_INET ? "10.77.77.77" : "fd77::77");
	p.local = (void *)&ss;
	expect(w, "flow-add: an address that the socket is not bound to",
	       qoff_flow_add(w->b, &p, &f), -EADDRNOTAVAIL);
	p.local = (void *)&w->sb;
	fd = socket(w->sb.ss_family, SOCK_DGRAM, 0);
	MUST(!qoff_attach(w->q, fd, -1, DCID_LEN, 0, &unbound));
	expect(w, "flow-add: socket that is not bound", qoff_flow_add(unbound, &p, &f), -EINVAL);
	expect(w, "flow-get: another group's", qoff_flow_get(unbound, w->flow, &info), -ENOENT);
	qoff_detach(unbound);
	close(fd);

	MUST(!qoff_flow_add(w->b, &p, &f));
	p.dcid = "\1\2\3\4";
	p.keys_of = f;
	expect(w, "flow-add: keys of a flow without", qoff_flow_add(w->b, &p, &g), -EINVAL);
	expect(w, "flow-retire: no keys", qoff_flow_retire(w->b, f, 0), -ENOENT);
	bad = k;
	bad.key_len = 1;
	expect(w, "flow-update: key of 1 byte", qoff_flow_update(w->b, f, &bad, 0, 1, QOFF_PN_NONE),
	       -EINVAL);
	MUST(!qoff_flow_update(w->b, f, &k, 0, 1, 9));
	expect(w, "flow-update: slot with a key", qoff_flow_update(w->b, f, &k, 0, 1, QOFF_PN_NONE),
	       -EBUSY);
	bad = k;
	bad.cipher = QUIC_OFFLOAD_CIPHER_AES_128_CCM;
	expect(w, "flow-update: another cipher",
	       qoff_flow_update(w->b, f, &bad, 1, 1, QOFF_PN_NONE),
	       -EINVAL);
	expect(w, "flow-update: largest-pn 2^62",
	       qoff_flow_update(w->b, f, &k, 1, 1, QOFF_PN_MAX + 1), -ERANGE);
	expect(w, "flow-retire: empty slot", qoff_flow_retire(w->b, f, 1), -ENOENT);
	MUST(!qoff_flow_get(w->b, f, &info));
	ksft_result(info.largest_pn == 9 && info.phase == 0 && info.key_gen == 1,
		    "request, %s: the flow is as it was", backend_name(w->backend));
	MUST(!qoff_flow_del(w->b, f));
	expect(w, "flow-del: twice", qoff_flow_del(w->b, f), -ENOENT);
	expect(w, "flow-get: 0", qoff_flow_get(w->b, 0, &info), -ERANGE);
}

static void run(enum qoff_backend backend, const char *addr, bool mtu)
{
	struct world w;

	world_open(&w, backend, addr);
	attach_cases(&w);
	ctx_cases(&w);
	flow_cases(&w);
	world_close(&w);
}

int main(int argc, char **argv)
{
	return bad_input_main(argc, argv, run);
}
