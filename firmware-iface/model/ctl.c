// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Control commands: state, counters, wire, faults, trace. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd.h"
#include "ctl.h"
#include "health.h"
#include "json.h"
#include "port.h"
#include "queue.h"
#include "trace.h"
#include "wire.h"

struct ctl {
	struct nm_model *m;
	struct nm_fn *fn;	/* of the request; NULL when it named none */
	const struct nm_json *req;
	char *out;
	size_t room;
	size_t len;
};

static void say(struct ctl *c, const char *fmt, ...)
	__printf(2, 3);

static void say(struct ctl *c, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(c->out + c->len, c->room - c->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		c->len += (size_t)n < c->room - c->len ? (size_t)n :
							 c->room - c->len - 1;
}

static void say_error(struct ctl *c, const char *what)
{
	c->len = 0;
	say(c, "{\"ok\":false,\"error\":\"%s\"}", what);
}

static u32 num(struct ctl *c, const char *key, u32 def)
{
	double v = nm_json_num(c->req, key, def);

	return v < 0 ? 0 : v > 4294967295.0 ? ~0u : (u32)v;
}

static void ctl_ping(struct ctl *c)
{
	say(c, "{\"ok\":true,\"functions\":%u}", c->m->nr_fn);
}

static void ctl_stats(struct ctl *c)
{
	static const char *const names[] = {
#define X(n) #n,
		NM_COUNTERS(X)
#undef X
	};
	unsigned int i;

	say(c, "{\"ok\":true");
	for (i = 0; i < NM_CNT_MAX; i++)
		say(c, ",\"%s\":%llu", names[i], (unsigned long long)c->fn->cnt[i]);
	say(c, "}");
}

static void ctl_state(struct ctl *c)
{
	static const char *const states[] = { "reset", "enabled", "ready", "dead" };
	struct nm_fn *fn = c->fn;
	unsigned int t;

	say(c, "{\"ok\":true,\"attached\":%s,\"state\":\"%s\",\"link\":%s,"
	    "\"admin_up\":%s,\"mtu\":%u,\"pages\":%u,\"dma_ranges\":%u,"
	    "\"faults\":%u,\"hits\":%llu,\"objects\":{",
	    fn->xport ? "true" : "false", states[fn->state],
	    nm_port_up(fn) ? "true" : "false",
	    fn->port.admin_up ? "true" : "false", fn->port.oper_mtu,
	    fn->pages.nr, fn->dma.nr, nm_fault_armed(&fn->faults),
	    (unsigned long long)fn->faults.hits);
	for (t = 0; t < NM_OBJ_MAX; t++)
		say(c, "%s\"%s\":%u", t ? "," : "", nm_obj_name(t),
		    nm_obj_count(fn, t));
	say(c, "}}");
}

static void ctl_link(struct ctl *c)
{
	c->fn->port.link_up = num(c, "up", 1);
	nm_port_update(c->m);
	say(c, "{\"ok\":true}");
}

static void ctl_wire(struct ctl *c)
{
	struct nm_impair *im = nm_wire_impair(c->fn);
	u32 ppm[4] = {
		num(c, "loss", im->loss), num(c, "dup", im->dup),
		num(c, "reorder", im->reorder), num(c, "corrupt", im->corrupt),
	};
	unsigned int i;

	for (i = 0; i < 4; i++)
		if (ppm[i] > 1000000) {
			say_error(c, "loss, dup, reorder and corrupt are of a million");
			return;
		}
	im->loss = ppm[0];
	im->dup = ppm[1];
	im->reorder = ppm[2];
	im->corrupt = ppm[3];
	im->delay_ns = num(c, "delay_us", im->delay_ns / 1000) * 1000ull;
	im->jitter_ns = num(c, "jitter_us", im->jitter_ns / 1000) * 1000ull;
	im->rate_bps = num(c, "rate_mbps", im->rate_bps / 1000000) * 1000000ull;
	say(c, "{\"ok\":true}");
}

static const struct {
	const char *name;
	u8 kind;
} cmd_faults[] = {
	{ "status", NM_CMD_FAULT_STATUS },
	{ "silent", NM_CMD_FAULT_SILENT },
	{ "delivery", NM_CMD_FAULT_DELIVERY },
	{ "corrupt", NM_CMD_FAULT_CORRUPT },
	{ "no-event", NM_CMD_FAULT_NO_EVENT },
	{ "no-irq", NM_CMD_FAULT_NO_IRQ },
	{ "delay", NM_CMD_FAULT_DELAY },
};

static const struct {
	const char *name;
	u16 off;
	const char *key;	/* member that says how many */
} count_faults[] = {
	{ "drop-eqe", offsetof(struct nm_faults, drop_eqe), "count" },
	{ "dup-eqe", offsetof(struct nm_faults, dup_eqe), "count" },
	{ "tx-error", offsetof(struct nm_faults, tx_err_cqe), "count" },
	{ "rx-error", offsetof(struct nm_faults, rx_err_cqe), "count" },
	{ "drop-irq", offsetof(struct nm_faults, drop_irq), "count" },
	{ "cqe-bad-owner", offsetof(struct nm_faults, cqe_bad_owner), "count" },
	{ "zero-strides", offsetof(struct nm_faults, zero_strides), "count" },
	{ "slow", offsetof(struct nm_faults, slow_us), "us" },
#define X(member, name) { name, offsetof(struct nm_faults, quic.member), "count" },
	NM_QUIC_FAULTS(X)
#undef X
};

/* "opcode" by name as the trace writes it, or by number; 0: any */
static bool fault_opcode(struct ctl *c, u16 *opcode)
{
	const char *name = nm_json_str(c->req, "opcode", NULL);
	u32 op;

	if (!name) {
		*opcode = num(c, "opcode", 0);
		return true;
	}
	for (op = 0; op < 0x10000; op++)
		if (nm_cmd_desc(op) && !strcmp(nm_cmd_name(op), name)) {
			*opcode = op;
			return true;
		}
	return false;
}

static void fault_cmd(struct ctl *c, u8 kind)
{
	struct nm_cmd_fault f = {
		.kind = kind, .status = num(c, "status", NM_ST_INT_ERR),
		.skip = num(c, "skip", 0), .count = num(c, "count", 1),
		.delay_ms = num(c, "ms", 100),
	};
	unsigned int i;

	if (!fault_opcode(c, &f.opcode)) {
		say_error(c, "no such opcode");
		return;
	}
	for (i = 0; i < NM_MAX_CMD_FAULTS; i++)
		if (c->fn->faults.cmd[i].kind == NM_CMD_FAULT_NONE) {
			c->fn->faults.cmd[i] = f;
			say(c, "{\"ok\":true}");
			return;
		}
	say_error(c, "too many command faults are armed");
}

static void ctl_fault(struct ctl *c)
{
	const char *kind = nm_json_str(c->req, "kind", "");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cmd_faults); i++)
		if (!strcmp(kind, cmd_faults[i].name)) {
			fault_cmd(c, cmd_faults[i].kind);
			return;
		}
	for (i = 0; i < ARRAY_SIZE(count_faults); i++)
		if (!strcmp(kind, count_faults[i].name)) {
			*(u32 *)((char *)&c->fn->faults + count_faults[i].off) =
				num(c, count_faults[i].key, 1);
			say(c, "{\"ok\":true}");
			return;
		}
	if (!strcmp(kind, "tx-stall")) {
		nm_sq_stall(c->fn, num(c, "count", 1));
		say(c, "{\"ok\":true}");
		return;
	}
	if (!strcmp(kind, "none")) {
		nm_sq_stall(c->fn, false);
		nm_fault_clear(&c->fn->faults);
		nm_cmd_late(c->fn);
		nm_queue_scan(c->fn);
		say(c, "{\"ok\":true}");
		return;
	}
	say_error(c, "no such fault");
}

static void ctl_fatal(struct ctl *c)
{
	nm_fn_fatal(c->fn, num(c, "synd", 1), num(c, "rfr", 1));
	say(c, "{\"ok\":true}");
}

/* A syndrome that firmware lives with; 0 takes it back. */
static void ctl_health(struct ctl *c)
{
	nm_health_report(c->fn, num(c, "synd", 1), num(c, "ext_synd", 0),
			 num(c, "severity", NM_SEV_WARNING), false);
	say(c, "{\"ok\":true}");
}

/* The health counter stands still, or goes on. */
static void ctl_freeze(struct ctl *c)
{
	c->fn->regs.counter_frozen = num(c, "on", 1);
	say(c, "{\"ok\":true}");
}

/* Ask the driver for pages, or with a negative number give some back. */
static void ctl_pages(struct ctl *c)
{
	double n = nm_json_num(c->req, "count", 1);
	u8 data[28] = { };

	if (!c->fn->eq_pages || !(n <= 1024 && n >= -1024)) {
		say_error(c, "no queue for page requests, or too many pages");
		return;
	}
	nm_wr32(data + 4, (int)n);
	nm_eq_post(c->fn, c->fn->eq_pages, NM_EV_PAGE_REQUEST, 0, data,
		   sizeof(data));
	say(c, "{\"ok\":true}");
}

static void ctl_trace(struct ctl *c)
{
	int kinds = nm_trace_kinds(nm_json_str(c->req, "kinds", "all"));

	if (!c->m->trace || kinds < 0) {
		say_error(c, "no trace file, or no such kind");
		return;
	}
	nm_trace_set(c->m->trace, kinds);
	say(c, "{\"ok\":true}");
}

static void ctl_remove(struct ctl *c)
{
	/* Done by the caller once the lock is dropped. */
	say(c, "{\"ok\":true}");
}

static const struct {
	const char *name;
	void (*fn)(struct ctl *c);
	bool per_fn;
} cmds[] = {
	{ "ping", ctl_ping, false },
	{ "stats", ctl_stats, true },
	{ "state", ctl_state, true },
	{ "link", ctl_link, true },
	{ "wire", ctl_wire, true },
	{ "fault", ctl_fault, true },
	{ "fatal", ctl_fatal, true },
	{ "health", ctl_health, true },
	{ "freeze-health", ctl_freeze, true },
	{ "pages", ctl_pages, true },
	{ "remove", ctl_remove, true },
	{ "trace", ctl_trace, false },
};

void nm_ctl_handle(struct nm_model *m, const char *line, size_t len, char *out,
		   size_t room)
{
	struct nm_json *req = nm_json_parse(line, len);
	struct ctl c = { .m = m, .req = req, .out = out, .room = room };
	const char *name = nm_json_str(req, "cmd", "");
	unsigned int i;
	u32 idx;

	if (!req) {
		say_error(&c, "not JSON");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		if (!strcmp(name, cmds[i].name))
			break;
	idx = num(&c, "fn", 0);
	if (i == ARRAY_SIZE(cmds)) {
		say_error(&c, "no such command");
	} else if (cmds[i].per_fn && idx >= m->nr_fn) {
		say_error(&c, "no such function");
	} else {
		c.fn = cmds[i].per_fn ? m->fn[idx] : NULL;
		nm_lock(m);
		cmds[i].fn(&c);
		nm_unlock(m);
		if (cmds[i].fn == ctl_remove)
			nm_server_drop(c.fn);
	}
	nm_json_free(req);
}
