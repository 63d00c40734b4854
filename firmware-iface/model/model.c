// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The model and its functions: creation, attach, reset, interrupts, clocks. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "bf.h"
#include "caps.h"
#include "health.h"
#include "pci.h"
#include "port.h"
#include "quic.h"
#include "quic_gro.h"
#include "trace.h"
#include "wire.h"

#define PAGES_BOOT	16
#define PAGES_INIT	64

static u64 clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

u64 nm_clock_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

u64 nm_real_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void nm_lock(struct nm_model *m)
{
	atomic_fetch_add(&m->want, 1);
	pthread_mutex_lock(&m->lock);
	atomic_fetch_sub(&m->want, 1);
}

void nm_unlock(struct nm_model *m)
{
	pthread_mutex_unlock(&m->lock);
	nm_engine_kick(m);
}

void nm_fn_raise(struct nm_fn *fn, unsigned int vec)
{
	if (!fn->xport || vec >= NM_MSIX_VECTORS)
		return;
	nm_count(fn, NM_CNT_irqs);
	fn->xport->raise(fn, vec);
}

/* As after power on, except for the cable and the counters of this model. */
void nm_fn_reset_locked(struct nm_fn *fn)
{
	static const u8 desc[] = "ConnectX-7 class device model";

	nm_quic_gro_drop(fn);
	nm_objtab_flush(fn);
	fn->state = NM_FN_RESET;
	fn->issi = 0;
	fn->ft_root_rx = 0;
	fn->ft_root_tx = 0;
	fn->cmd_pending = 0;
	fn->cmd_mute = 0;
	fn->cmd_owed = 0;
	fn->cmd_delayed = 0;
	fn->eq_cmd = NULL;
	fn->eq_pages = NULL;
	fn->regs.cmdq_hi = 0;
	fn->regs.cmdq_lo = 0;
	nm_health_reset(fn);
	fn->pages.nr = 0;
	fn->pages.want_boot = PAGES_BOOT;
	fn->pages.want_init = PAGES_INIT;
	fn->port.admin_up = false;
	fn->port.was_up = false;
	fn->port.admin_mtu = 1522;
	fn->port.oper_mtu = 1522;
	memset(&fn->vport, 0, sizeof(fn->vport));
	memcpy(fn->vport.mac, fn->port.mac, 6);
	memcpy(fn->vport.node_desc, desc, sizeof(desc));
	fn->vport.mtu = 1500;
	fn->vport.node_guid = 0x0200000000000000ull | (u64)fn->port.mac[5] << 8;
	nm_caps_reset(fn);
	nm_port_update(fn->model);
}

/* Doorbells rung before the reset mean nothing after it. */
void nm_fn_reset(struct nm_fn *fn)
{
	nm_lock(fn->model);
	atomic_store(&fn->db.tail, atomic_load(&fn->db.head));
	atomic_store(&fn->db.overflow, false);
	atomic_store(&fn->bf.tail, atomic_load(&fn->bf.head));
	nm_bf_reset(fn);
	nm_fn_reset_locked(fn);
	nm_trace(fn, NM_TR_CMD, "reset");
	nm_unlock(fn->model);
}

void nm_fn_attach(struct nm_fn *fn, const struct nm_xport_ops *ops, void *priv)
{
	nm_pci_reset(fn);
	nm_lock(fn->model);
	fn->xport = ops;
	fn->xport_priv = priv;
	fn->was_attached = true;
	nm_fn_reset_locked(fn);
	nm_unlock(fn->model);
}

void nm_fn_detach(struct nm_fn *fn)
{
	nm_lock(fn->model);
	fn->xport = NULL;
	atomic_store(&fn->db.tail, atomic_load(&fn->db.head));
	atomic_store(&fn->bf.tail, atomic_load(&fn->bf.head));
	nm_bf_reset(fn);
	nm_fn_reset_locked(fn);
	nm_dma_unmap_all(&fn->dma);
	nm_unlock(fn->model);
}

/* Firmware is dead: the health buffer says why, commands get no answer. */
void nm_fn_fatal(struct nm_fn *fn, u8 synd, bool rfr)
{
	fn->state = NM_FN_DEAD;
	nm_health_report(fn, synd, 0, NM_SEV_CRIT, rfr);
}

static struct nm_fn *fn_create(struct nm_model *m, unsigned int idx)
{
	struct nm_fn *fn = calloc(1, sizeof(*fn));

	if (!fn)
		return NULL;
	fn->model = m;
	fn->idx = idx;
	fn->port.link_up = true;
	/* Locally administered, a number a function */
	memcpy(fn->port.mac, (u8[]){ 0x02, 0x51, 0x4f, 0x46, 0x00, idx + 1 }, 6);
	nm_objtab_init(fn);
	nm_pci_init(fn);
	fn->quic = nm_quic_create();
	if (!fn->quic || nm_caps_init(fn)) {
		nm_quic_destroy(fn->quic);
		free(fn);
		return NULL;
	}
	return fn;
}

static void fn_destroy(struct nm_fn *fn)
{
	unsigned int i;

	nm_quic_gro_drop(fn);
	nm_objtab_flush(fn);
	nm_quic_destroy(fn->quic);
	nm_dma_unmap_all(&fn->dma);
	for (i = 0; i < NM_SPACE_MAX; i++)
		free(fn->objs.tab[i].slot);
	free(fn->pages.pa);
	free(fn->caps);
	free(fn);
}

void nm_model_destroy(struct nm_model *m)
{
	unsigned int i;

	if (!m)
		return;
	for (i = 0; i < m->nr_fn; i++)
		fn_destroy(m->fn[i]);
	nm_wire_destroy(m->wire);
	nm_trace_close(m->trace);
	if (m->kick_fd >= 0)
		close(m->kick_fd);
	free(m);
}

struct nm_model *nm_model_create(const struct nm_opts *opts)
{
	struct nm_model *m = calloc(1, sizeof(*m));
	unsigned int i;

	if (!m)
		return NULL;
	m->opts = *opts;
	m->epoch_ns = nm_clock_ns();
	m->now_ns = m->epoch_ns;
	pthread_mutex_init(&m->lock, NULL);
	m->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->kick_fd < 0)
		goto err;
	if (opts->trace) {
		m->trace = nm_trace_open(opts->trace);
		if (!m->trace)
			goto err;
	}
	for (i = 0; i < opts->nr_fn; i++) {
		m->fn[i] = fn_create(m, i);
		if (!m->fn[i])
			goto err;
		m->nr_fn++;
	}
	m->wire = nm_wire_create(m);
	if (!m->wire)
		goto err;
	for (i = 0; i < m->nr_fn; i++)
		nm_fn_reset_locked(m->fn[i]);
	return m;
err:
	nm_model_destroy(m);
	return NULL;
}
