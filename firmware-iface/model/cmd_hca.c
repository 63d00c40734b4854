// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Life of the function: enable, interface version, pages, init, teardown. */
#include <stdlib.h>

#include "cmd.h"
#include "mkey.h"
#include "trace.h"

#define PAGES_MAX	4096
#define PSID		"NM_0000000001"
#define TEARDOWN_FORCE	1

enum {
	PAGES_BOOT = 1,
	PAGES_INIT = 2,
	PAGES_REGULAR = 3,
};

enum {
	MANAGE_CANT_GIVE = 0,
	MANAGE_GIVE = 1,
	MANAGE_TAKE = 2,
};

void nm_cmd_enable_hca(struct nm_cmd *c)
{
	if (c->fn->state != NM_FN_RESET) {
		nm_cmd_fail(c, NM_ST_BAD_SYS_STATE, NM_SYN_ALREADY_ENABLED);
		return;
	}
	c->fn->state = NM_FN_ENABLED;
}

void nm_cmd_disable_hca(struct nm_cmd *c)
{
	if (c->fn->state != NM_FN_ENABLED) {
		nm_cmd_fail(c, NM_ST_BAD_SYS_STATE, NM_SYN_NOT_ENABLED);
		return;
	}
	c->fn->state = NM_FN_RESET;
	c->fn->pages.nr = 0;
}

void nm_cmd_query_issi(struct nm_cmd *c)
{
	NM_SET(query_issi_out, c->out, current_issi, c->fn->issi);
	NM_SET(query_issi_out, c->out, supported_issi_dw0, BIT(1) | BIT(0));
}

void nm_cmd_set_issi(struct nm_cmd *c)
{
	u32 issi = NM_GET(set_issi_in, c->in, current_issi);

	if (issi > 1) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	c->fn->issi = issi;
}

/* How many pages are still wanted before the next step. */
void nm_cmd_query_pages(struct nm_cmd *c)
{
	struct nm_pages *p = &c->fn->pages;
	u32 want = 0;

	switch (c->op_mod) {
	case PAGES_BOOT:
		want = p->want_boot;
		break;
	case PAGES_INIT:
		want = p->want_boot + p->want_init;
		break;
	case PAGES_REGULAR:
		want = p->nr;
		break;
	default:
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OP_MOD);
		return;
	}
	NM_SET(query_pages_out, c->out, num_pages, want > p->nr ? want - p->nr : 0);
}

static bool page_known(const struct nm_pages *p, u64 pa)
{
	u32 i;

	for (i = 0; i < p->nr; i++)
		if (p->pa[i] == pa)
			return true;
	return false;
}

static void pages_give(struct nm_cmd *c, u32 n)
{
	struct nm_pages *p = &c->fn->pages;
	u8 *pas = NM_PTR(manage_pages_in, c->in, pas);
	u32 i;

	if (n > (c->in_len - NM_BYTES(manage_pages_in)) / 8) {
		nm_cmd_fail(c, NM_ST_BAD_INP_LEN, NM_SYN_IN_LEN);
		return;
	}
	if (n > PAGES_MAX - p->nr) {
		nm_cmd_fail(c, NM_ST_LIM, NM_SYN_NO_MEMORY);
		return;
	}
	if (p->nr + n > p->cap) {
		u64 *pa = realloc(p->pa, (p->nr + n) * sizeof(*pa));

		if (!pa) {
			nm_cmd_fail(c, NM_ST_NO_RES, NM_SYN_NO_MEMORY);
			return;
		}
		p->pa = pa;
		p->cap = p->nr + n;
	}
	for (i = 0; i < n; i++) {
		u64 pa = nm_rd64(pas + i * 8);

		if (pa & (NM_PAGE_SIZE - 1) || page_known(p, pa)) {
			nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_PAGE_BAD);
			p->nr -= i;
			return;
		}
		p->pa[p->nr++] = pa;
	}
}

static void pages_take(struct nm_cmd *c, u32 n)
{
	struct nm_pages *p = &c->fn->pages;
	u32 room = (c->out_len - NM_BYTES(manage_pages_out)) / 8;
	u8 *pas = NM_PTR(manage_pages_out, c->out, pas);
	u32 i;

	/* Pages of the running function stay until TEARDOWN_HCA. */
	if (n > p->nr)
		n = p->nr;
	if (n > room)
		n = room;
	for (i = 0; i < n; i++)
		nm_wr64(pas + i * 8, p->pa[--p->nr]);
	NM_SET(manage_pages_out, c->out, output_num_entries, n);
}

void nm_cmd_manage_pages(struct nm_cmd *c)
{
	u32 n = NM_GET(manage_pages_in, c->in, input_num_entries);

	if (NM_GET(manage_pages_in, c->in, function_id)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_VPORT);
		return;
	}
	switch (c->op_mod) {
	case MANAGE_CANT_GIVE:
		break;
	case MANAGE_GIVE:
		pages_give(c, n);
		break;
	case MANAGE_TAKE:
		pages_take(c, n);
		break;
	default:
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OP_MOD);
	}
}

void nm_cmd_init_hca(struct nm_cmd *c)
{
	struct nm_fn *fn = c->fn;

	if (fn->state != NM_FN_ENABLED) {
		nm_cmd_fail(c, NM_ST_BAD_SYS_STATE, NM_SYN_NOT_ENABLED);
		return;
	}
	if (fn->pages.nr < fn->pages.want_boot + fn->pages.want_init) {
		nm_cmd_fail(c, NM_ST_BAD_RES_STATE, NM_SYN_PAGES_SHORT);
		return;
	}
	fn->state = NM_FN_READY;
}

void nm_cmd_teardown_hca(struct nm_cmd *c)
{
	struct nm_fn *fn = c->fn;
	u32 profile = NM_GET(teardown_hca_in, c->in, profile);

	if (fn->state != NM_FN_READY) {
		nm_cmd_fail(c, NM_ST_BAD_SYS_STATE, NM_SYN_NOT_ENABLED);
		return;
	}
	/* Fast teardown is not served (capability "fast_teardown" is 0). */
	if (profile > TEARDOWN_FORCE) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_FIELD);
		return;
	}
	nm_objtab_flush(fn);
	fn->ft_root_rx = 0;
	fn->ft_root_tx = 0;
	fn->port.admin_up = false;
	fn->state = NM_FN_ENABLED;
	NM_SET(teardown_hca_out, c->out, state, 0);
}

void nm_cmd_query_adapter(struct nm_cmd *c)
{
	void *a = NM_PTR(query_adapter_out, c->out, query_adapter_struct);

	NM_SET(query_adapter_param_block, a, ieee_vendor_id, 0x2c9);
	NM_SET(query_adapter_param_block, a, vsd_vendor_id, 0x15b3);
	memcpy(NM_PTR(query_adapter_param_block, a, vsd_contd_psid), PSID,
	       sizeof(PSID));
}

void nm_cmd_set_driver_version(struct nm_cmd *c)
{
	const char *v = NM_PTR(set_driver_version_in, c->in, driver_version);

	nm_trace(c->fn, NM_TR_CMD, "driver version \"%.*s\"",
		 (int)strnlen(v, 64), v);
}

void nm_cmd_query_special_contexts(struct nm_cmd *c)
{
	NM_SET(query_special_contexts_out, c->out, resd_lkey, NM_RESD_LKEY);
	NM_SET(query_special_contexts_out, c->out, null_mkey, NM_RESD_LKEY + 0x100);
	NM_SET(query_special_contexts_out, c->out, dump_fill_mkey,
	       NM_RESD_LKEY + 0x200);
	NM_SET(query_special_contexts_out, c->out, terminate_scatter_list_mkey,
	       NM_LKEY_TERMINATE);
}
