// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Reception: steering, hash, scatter into the queue, completion. */
#include "mkey.h"
#include "pkt.h"
#include "port.h"
#include "quic.h"
#include "quic_gro.h"
#include "rss.h"
#include "rx.h"
#include "steer.h"
#include "trace.h"
#include "wire.h"

/*
 * The payload is summed once: what the L4 check needs is a part of the sum that
 * the completion carries. Bytes behind an odd end count in the other half.
 */
static void rx_sums_of_parts(struct nm_rx_frame *f)
{
	const struct nm_pkt *p = &f->p;
	u16 l4 = f->l4_summed ? f->l4_sum :
		 nm_csum(p->data + p->l4_off, p->ip_end - p->l4_off);
	u16 pad = nm_csum_at(p->ip_end, nm_csum(p->data + p->ip_end,
						p->len - p->ip_end));

	f->sum = nm_csum_add(nm_csum_add(nm_csum(p->data + 14, p->l4_off - 14), l4),
			     pad);
	f->l4_ok = f->ip_ok && nm_csum_l4_verdict(p, l4);
}

static void rx_checksums(struct nm_fn *fn, struct nm_rx_frame *f)
{
	if (f->checked)
		return;
	f->checked = true;
	f->ip_ok = f->p.ip_ver && nm_csum_ip_ok(&f->p);
	if (f->p.l4_off)
		rx_sums_of_parts(f);
	else
		f->sum = nm_csum(f->p.data + 14, f->p.len - 14);
	if (f->p.ip_ver && (!f->ip_ok || (f->p.l4_off && !f->l4_ok)))
		nm_count(fn, NM_CNT_rx_csum_bad);
}

static u8 rx_l4_type(const struct nm_pkt *p)
{
	const u8 *l4 = p->data + p->l4_off;
	u32 hdr;

	if (!p->l4_off)
		return 0;
	if (p->l4_proto == NM_IP_UDP)
		return NM_CQE_L4_UDP;
	if (!(l4[13] & 0x10))
		return NM_CQE_L4_TCP_NO_ACK;
	hdr = (l4[12] >> 4) * 4;
	return p->l4_off + hdr < p->ip_end ? NM_CQE_L4_TCP_ACK_DATA :
					     NM_CQE_L4_TCP_ACK_ONLY;
}

/* The extension's fields of a completion */
static void rx_cqe_quic(struct nm_fn *fn, struct nm_cqe *cqe, const struct nm_rx_frame *f)
{
	struct qoff_mlx5_cqe *c = (void *)cqe;
	const struct nm_quic_rx *q = f->q;
	u32 pn_len = q->pn_len ? q->pn_len - 1 : 0;

	c->quic_flags = q->flags;
	c->pn_hi = htobe32((q->phase ? QOFF_MLX5_CQE_PHASE : 0) |
			   (u32)(q->pn >> 32));
	c->pn_lo = htobe32((u32)q->pn);
	c->quic_info = htobe16(pn_len << 14 | (f->segs > 1 ? QOFF_MLX5_CQE_LIST : 0) |
			       q->ctx->dcid_len << 8 | f->segs);
	c->tag_handle = htobe32((u32)q->tag << 24 | q->ctx->handle);
	if (nm_fault_take(fn, quic.handle))
		c->tag_handle ^= htobe32(0xabcdef);
	/* Of bytes that are not those that came, no sum is known. */
	if (f->segs > 1 || f->changed)
		cqe->check_sum = 0;
}

static void rx_cqe(struct nm_fn *fn, struct nm_rq *rq, struct nm_rx_frame *f,
		   struct nm_cqe *cqe, const struct nm_rx_place *pl, bool strip)
{
	u64 ts = fn->model->now_ns - fn->model->epoch_ns;
	const struct nm_pkt *p = &f->p;
	u16 sum = f->sum;

	/* A stripped tag is not in the data, so not in its sum either. */
	if (strip)
		sum = nm_csum_add(sum, ~nm_csum(p->data + 14, 4));
	*cqe = (struct nm_cqe){
		.wqe_id = htobe16(pl->wqe_id),
		.rss_hash = htobe32(f->hash),
		.rss_hash_type = f->hash_type,
		.check_sum = htobe16(sum),
		.flags_rqpn = htobe32(rq->obj.id),
		.hds_ip_ext = NM_CQE_L2_OK | (f->ip_ok ? NM_CQE_L3_OK : 0) |
			      (f->l4_ok ? NM_CQE_L4_OK : 0),
		.l4_l3_hdr_type = rx_l4_type(p) |
			(p->ip_ver == 4 ? NM_CQE_L3_IPV4 :
			 p->ip_ver == 6 ? NM_CQE_L3_IPV6 : 0) |
			(strip ? NM_CQE_HAS_VLAN : 0),
		.vlan_info = htobe16(strip ? p->vlan_tci : 0),
		.srqn = htobe32(rq->user_index),
		.byte_cnt = htobe32((u32)pl->consumed << 16 |
				    (f->len - (strip ? 4 : 0))),
		.timestamp_h = htobe32(ts >> 32),
		.timestamp_l = htobe32(ts),
		.sop_drop_qpn = htobe32(f->tag),
		.wqe_counter = htobe16(pl->wqe_counter),
		.op_own = NM_CQE_RESP_SEND << 4,
	};
	if (f->q)
		rx_cqe_quic(fn, cqe, f);
}

u32 nm_rx_room(struct nm_fn *fn, struct nm_rq *rq)
{
	u32 mask = (1u << rq->log_size) - 1, off, room = 0;
	u64 at = (u64)(rq->pc & mask) << rq->log_wqe;

	if (rq->state != NM_WQ_RDY || !nm_rx_has_wqe(fn, rq))
		return 0;
	if (rq->wq_type == NM_WQ_LL_STRIDING)
		return nm_rx_mp_room(rq);
	for (off = 0; off < 1u << rq->log_wqe; off += sizeof(struct nm_wqe_data)) {
		struct nm_wqe_data d;
		u32 part;

		if (!nm_buf_read(fn, &rq->buf, at + off, &d, sizeof(d)))
			return 0;
		part = be32toh(d.byte_count) & ~NM_SEG_START_PAD;
		if (!part || be32toh(d.lkey) == NM_LKEY_TERMINATE)
			break;
		room = part > ~0u - room ? ~0u : room + part;
	}
	return room;
}

/* Host pieces of the WQE at the head of a cyclic queue, @len bytes at most */
static int rx_wqe_iov(struct nm_fn *fn, struct nm_rq *rq, u32 len,
		      struct nm_iov *iov)
{
	u32 mask = (1u << rq->log_size) - 1, size = 1u << rq->log_wqe, off;
	u64 at = (u64)(rq->pc & mask) << rq->log_wqe;
	int n = 0, got;

	for (off = 0; off < size && len; off += sizeof(struct nm_wqe_data)) {
		struct nm_wqe_data d;
		u32 part;

		if (!nm_buf_read(fn, &rq->buf, at + off, &d, sizeof(d)))
			return -NM_SYND_LOCAL_PROT;
		/* The top bit allows padding in front, which is not made. */
		part = be32toh(d.byte_count) & ~NM_SEG_START_PAD;
		if (!part || be32toh(d.lkey) == NM_LKEY_TERMINATE)
			break;
		if (part > len)
			part = len;
		got = nm_mkey_iov(fn, be32toh(d.lkey), rq->pd, be64toh(d.addr),
				  part, NM_DMA_W, iov + n, NM_RX_MAX_IOV - n);
		if (got < 0)
			return -NM_SYND_LOCAL_PROT;
		n += got;
		len -= part;
	}
	return len ? -NM_SYND_LOCAL_LENGTH : n;
}

static void rx_copy(const struct nm_iov *iov, const u8 *src, u32 len)
{
	while (len) {
		u32 part = iov->len < len ? iov->len : len;

		memcpy(iov->p, src, part);
		src += part;
		len -= part;
		iov++;
	}
}

/* The usual case is one piece: then the L4 part is summed on its way. */
static void rx_copy_frame(const struct nm_iov *iov, struct nm_rx_frame *f)
{
	const struct nm_pkt *p = &f->p;

	if (f->checked || !p->l4_off || iov->len < p->len) {
		rx_copy(iov, p->data, p->len);
		return;
	}
	memcpy(iov->p, p->data, p->l4_off);
	f->l4_sum = nm_csum_copy(iov->p + p->l4_off, p->data + p->l4_off,
				 p->ip_end - p->l4_off);
	f->l4_summed = true;
	memcpy(iov->p + p->ip_end, p->data + p->ip_end, p->len - p->ip_end);
}

/* @iov covers the frame less the tag, which is cut out while copying. */
static void rx_copy_strip(struct nm_iov *iov, const u8 *src, u32 len)
{
	u32 head = 12;

	while (head) {
		u32 part = iov->len < head ? iov->len : head;

		memcpy(iov->p, src, part);
		iov->p += part;
		iov->len -= part;
		src += part;
		head -= part;
		if (!iov->len)
			iov++;
	}
	rx_copy(iov, src + 4, len - 16);
}

static void rx_error(struct nm_fn *fn, struct nm_rq *rq, u8 synd)
{
	struct nm_err_cqe cqe = {
		.srqn = htobe32(rq->user_index),
		.syndrome = synd,
		.s_wqe_opcode_qpn = htobe32(rq->obj.id),
		.wqe_counter = htobe16(rq->pc),
		.op_own = NM_CQE_RESP_ERR << 4,
	};

	nm_count(fn, NM_CNT_rx_scatter_errors);
	nm_count(fn, NM_CNT_cqe_errors);
	nm_trace(fn, NM_TR_ERR, "rqn %#x wqe %#x: syndrome %#x", rq->obj.id,
		 rq->pc, synd);
	rq->pc++;
	nm_cq_post(rq->cq, (struct nm_cqe *)&cqe, true);
	nm_rq_error(rq);
	nm_event_queue(fn, synd == NM_SYND_LOCAL_PROT ? NM_EV_WQ_ACCESS :
		       NM_EV_WQ_CATAS, 1, rq->obj.id);
}

bool nm_rx_has_wqe(struct nm_fn *fn, struct nm_rq *rq)
{
	u32 pi;

	return nm_dbr_read(fn, &rq->dbr, 0, &pi) && rq->pc != (u16)pi;
}

static void rx_no_buffer(struct nm_fn *fn, struct nm_rq *rq)
{
	nm_count(fn, NM_CNT_rx_no_buffer);
	if (rq->qctr)
		container_of(rq->qctr, struct nm_qctr, obj)->out_of_buffer++;
}

/* Room for @len bytes; false: the frame is dropped, and why has been told. */
static bool rx_place(struct nm_fn *fn, struct nm_rq *rq, u32 len,
		     struct nm_rx_place *pl)
{
	u8 synd = 0;
	int n;

	if (!nm_rx_has_wqe(fn, rq)) {
		rx_no_buffer(fn, rq);
		return false;
	}
	if (nm_fault_take(fn, rx_err_cqe)) {
		synd = NM_SYND_LOCAL_QP_OP;
	} else if (rq->wq_type == NM_WQ_LL_STRIDING) {
		synd = nm_rx_mp_place(fn, rq, len, pl);
		if (!synd && !pl->consumed) {
			rx_no_buffer(fn, rq);
			return false;
		}
	} else {
		n = rx_wqe_iov(fn, rq, len, pl->iov);
		synd = n < 0 ? -n : 0;
		pl->wqe_counter = rq->pc;
	}
	if (synd)
		rx_error(fn, rq, synd);
	return !synd;
}

bool nm_rx_deliver(struct nm_fn *fn, struct nm_rq *rq, struct nm_rx_frame *f)
{
	bool strip = f->p.vlan && f->p.vlan_type == NM_ETH_VLAN && !rq->vsd;
	u32 len = f->total - (strip ? 4 : 0);
	struct nm_rx_place pl;
	struct nm_cqe cqe;

	if (rq->state != NM_WQ_RDY) {
		nm_count(fn, NM_CNT_rx_rq_not_ready);
		return false;
	}
	pl.wqe_id = 0;
	pl.consumed = 0;
	if (!rx_place(fn, rq, len, &pl))
		return false;
	if (strip)
		rx_copy_strip(pl.iov, f->data, f->len);
	else if (f->data == f->p.data && f->total == f->p.len)
		rx_copy_frame(pl.iov, f);
	else
		rx_copy(pl.iov, f->data, len);
	rx_checksums(fn, f);
	rx_cqe(fn, rq, f, &cqe, &pl, strip);
	if (pl.consumed && nm_fault_take(fn, zero_strides))
		cqe.byte_cnt &= htobe32(0xffff);
	if (rq->wq_type == NM_WQ_LL_STRIDING)
		nm_rx_mp_done(fn, rq, pl.consumed);
	else
		rq->pc++;
	if (!nm_cq_post(rq->cq, &cqe, false)) {
		nm_rq_error(rq);
		nm_event_queue(fn, NM_EV_WQ_CATAS, 1, rq->obj.id);
		return false;
	}
	nm_count(fn, NM_CNT_rx_delivered);
	return true;
}

/* The payload of a whole datagram; 0: there is none to look at */
static u32 rx_udp_payload(const struct nm_pkt *p)
{
	u32 hdr = p->l4_off + 8, len;

	if (!p->l4_off || p->l4_proto != NM_IP_UDP || p->frag || hdr > p->ip_end)
		return 0;
	len = nm_rd16(p->data + p->l4_off + 4);
	return len < 8 || p->l4_off + len > p->ip_end ? 0 : len - 8;
}

/*
 * Datagrams with good checksums are opened, into the session that they will
 * join or into a buffer. True: the frame needs no more.
 */
static bool rx_quic(struct nm_fn *fn, struct nm_rq *rq, struct nm_rx_frame *f,
		    struct nm_quic_ctx *x, struct nm_quic_rx *q)
{
	static __thread u8 buf[NM_FRAME_MAX];
	u32 hdr = f->p.l4_off + 8, len = rx_udp_payload(&f->p);
	const u8 *payload = f->p.data + hdr;
	u8 *tail;

	if (!len)
		return false;
	rx_checksums(fn, f);
	*q = (struct nm_quic_rx){ .ctx = x, .data = payload, .len = len };
	f->q = q;
	if (f->ip_ok && f->l4_ok) {
		tail = nm_quic_gro_tail(fn, rq, x, len);
		nm_quic_rx_packet(x, payload, len, tail ? tail : buf + hdr, q);
	}
	if (q->drop) {
		nm_count(fn, NM_CNT_quic_rx_dropped);
		return true;
	}
	f->changed = q->data != payload;
	if (x->gro && nm_quic_gro_add(fn, rq, f, buf + hdr))
		return true;
	if (f->changed) {
		memcpy(buf, f->p.data, hdr);
		memcpy(buf + hdr + len, payload + len, f->p.len - hdr - len);
		f->data = buf;
	}
	return false;
}

static void rx_to_tir(struct nm_fn *fn, struct nm_tir *tir, struct nm_rx_frame *f,
		      struct nm_quic_ctx *x)
{
	struct nm_rq *rq = tir->rq;
	struct nm_quic_rx q;

	if (f->local && !(tir->self_lb & NM_TIR_SELF_LB_UNICAST)) {
		nm_count(fn, NM_CNT_rx_steer_drops);
		return;
	}
	f->hash = 0;
	f->hash_type = 0;
	if (tir->rqt) {
		f->hash = nm_rss_hash(tir, &f->p, &f->hash_type);
		rq = tir->rqt->size ? tir->rqt->rq[f->hash % tir->rqt->size] : NULL;
	}
	if (rq && x && rx_quic(fn, rq, f, x, &q))
		return;
	if (rq)
		nm_rx_deliver(fn, rq, f);
	else
		nm_count(fn, NM_CNT_rx_rq_not_ready);
}

static void rx_steer(struct nm_fn *fn, const u8 *frame, u32 len, bool local)
{
	struct nm_rx_frame f = { .local = local };
	struct nm_quic_ctx *x;
	struct nm_verdict v;
	struct nm_match m;
	u32 i;

	if (fn->state != NM_FN_READY)
		return;
	nm_pkt_parse(&f.p, frame, len);
	nm_match_build(&m, &f.p);
	nm_steer_rx(fn, &m, &v);
	nm_trace(fn, NM_TR_PKT, "rx len %u ethertype %#x proto %u tirs %u", len,
		 f.p.ethertype, f.p.l4_proto, v.nr);
	if (!v.nr)
		nm_count(fn, NM_CNT_rx_steer_drops);
	for (i = 0; i < v.nr; i++) {
		f.tag = v.tag[i];
		f.q = NULL;
		f.data = frame;
		f.len = len;
		f.total = len;
		f.changed = false;
		f.segs = 1;
		x = v.quic[i] ? v.quic[i] : v.lookup[i] ? nm_quic_lookup(fn, &f.p) : NULL;
		rx_to_tir(fn, v.tir[i], &f, x);
	}
}

void nm_rx_frame(struct nm_fn *fn, const u8 *frame, u32 len)
{
	nm_count(fn, NM_CNT_rx_packets);
	nm_count_add(fn, NM_CNT_rx_bytes, len);
	if (len > nm_port_frame_max(fn)) {
		nm_count(fn, NM_CNT_rx_mtu_drops);
		fn->port.rx_frames_over++;
		return;
	}
	nm_port_count(&fn->port.rx, frame, len);
	rx_steer(fn, frame, len, false);
}

/*
 * Local loopback: what a function sends to its own address never reaches the
 * port. Each TIR says whether it wants such frames.
 */
bool nm_rx_local(struct nm_fn *fn, const u8 *frame, u32 len)
{
	if (memcmp(frame, fn->vport.mac, 6) || fn->vport.disable_uc_lb)
		return false;
	nm_count(fn, NM_CNT_rx_local);
	rx_steer(fn, frame, len, true);
	return true;
}
