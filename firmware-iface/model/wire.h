/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The cable: who is at the other end, impairments, capture. nm_model.lock. */
#ifndef NM_WIRE_H
#define NM_WIRE_H

#include "model.h"

/**
 * struct nm_impair - what the cable does to frames that one port sends
 * @loss, @dup, @reorder, @corrupt: of a million frames
 * @delay_ns, @jitter_ns: added to every frame; reordered ones skip it
 * @rate_bps: bits per second, 0: no limit
 */
struct nm_impair {
	u32 loss;
	u32 dup;
	u32 reorder;
	u32 corrupt;
	u64 delay_ns;
	u64 jitter_ns;
	u64 rate_bps;
};

struct pollfd;

struct nm_wire *nm_wire_create(struct nm_model *m);
/* @fd carries a frame a read or write; the wire closes it. */
void nm_wire_set_tap(struct nm_wire *w, unsigned int port, int fd);
/* Descriptors that bring frames in; returns how many, at most NM_MAX_FN */
unsigned int nm_wire_fds(struct nm_wire *w, struct pollfd *pf);
void nm_wire_destroy(struct nm_wire *w);
struct nm_fn *nm_wire_peer(struct nm_fn *fn);
/* A frame leaves @fn; it is copied when it cannot arrive at once. */
void nm_wire_tx(struct nm_fn *fn, const u8 *frame, u32 len);
/* Deliver what is due; true when something was. */
bool nm_wire_poll(struct nm_wire *w);
u64 nm_wire_next(struct nm_wire *w);
struct nm_impair *nm_wire_impair(struct nm_fn *fn);

/* tap.c: a descriptor, or -errno */
int nm_tap_open(const char *name, u32 name_len);

/* pcapng.c */
struct nm_pcap;
struct nm_pcap *nm_pcap_open(const char *path, unsigned int ports);
void nm_pcap_close(struct nm_pcap *p);
enum nm_pcap_dir { NM_PCAP_IN = 1, NM_PCAP_OUT = 2 };
void nm_pcap_write(struct nm_pcap *p, unsigned int port, enum nm_pcap_dir dir,
		   const u8 *frame, u32 len, const char *comment);
int nm_pcap_flush(struct nm_pcap *p);

/* rx.c */
void nm_rx_frame(struct nm_fn *fn, const u8 *frame, u32 len);
/* A frame that @fn sends; true: it was for @fn itself, and has been received */
bool nm_rx_local(struct nm_fn *fn, const u8 *frame, u32 len);

#endif /* NM_WIRE_H */
