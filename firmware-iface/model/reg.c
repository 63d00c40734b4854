// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ACCESS_REG: the port and node registers that a NIC without eswitch needs. */
#include "cmd.h"
#include "port.h"

#define REG_WRITE	0
#define REG_READ	1

#define ETH_100GBASE_CR4	BIT(20)
#define HEALTH_POLL_MS		500

enum {
	REG_PMLP = 0x5002, REG_PMTU = 0x5003, REG_PTYS = 0x5004,
	REG_PAOS = 0x5006, REG_PFCC = 0x5007, REG_PPCNT = 0x5008,
	REG_NODE_DESC = 0x6001, REG_HOST_ENDIANNESS = 0x7004,
	REG_DTOR = 0xc00e,
};

enum {
	PPCNT_IEEE_802_3 = 0x0, PPCNT_RFC_2863 = 0x1, PPCNT_RFC_2819 = 0x2,
	PPCNT_RFC_3635 = 0x3, PPCNT_EXT_ETH = 0x5, PPCNT_PER_PRIO = 0x10,
	PPCNT_PER_TC = 0x11, PPCNT_PHYS = 0x12,
};

/*
 * A register access while it runs: @in as the driver gave it, @out copied from
 * it, so that what a register does not change is echoed.
 */
struct reg {
	struct nm_cmd *c;
	u8 *in;
	u8 *out;
	bool write;
};

static void reg_ptys(struct reg *r)
{
	if (r->write) {
		if (NM_GET(ptys_reg, r->in, eth_proto_admin) & ~ETH_100GBASE_CR4)
			nm_cmd_fail(r->c, NM_ST_BAD_PARAM, NM_SYN_REG_VALUE);
		return;
	}
	NM_SET(ptys_reg, r->out, an_disable_cap, 1);
	NM_SET(ptys_reg, r->out, eth_proto_capability, ETH_100GBASE_CR4);
	NM_SET(ptys_reg, r->out, eth_proto_admin, ETH_100GBASE_CR4);
	NM_SET(ptys_reg, r->out, eth_proto_oper,
	       nm_port_up(r->c->fn) ? ETH_100GBASE_CR4 : 0);
	NM_SET(ptys_reg, r->out, connector_type, 5);	/* direct attach */
}

static void reg_paos(struct reg *r)
{
	struct nm_fn *fn = r->c->fn;
	u32 admin = NM_GET(paos_reg, r->in, admin_status);

	if (r->write) {
		if (admin != 1 && admin != 2) {
			nm_cmd_fail(r->c, NM_ST_BAD_PARAM, NM_SYN_REG_VALUE);
			return;
		}
		fn->port.admin_up = admin == 1;
		nm_port_update(fn->model);
	}
	NM_SET(paos_reg, r->out, admin_status, fn->port.admin_up ? 1 : 2);
	NM_SET(paos_reg, r->out, oper_status, nm_port_up(fn) ? 1 : 2);
}

static void reg_pmtu(struct reg *r)
{
	struct nm_port *p = &r->c->fn->port;
	u32 mtu = NM_GET(pmtu_reg, r->in, admin_mtu);

	if (r->write) {
		if (mtu > NM_PORT_MAX_MTU || mtu < 64) {
			nm_cmd_fail(r->c, NM_ST_BAD_PARAM, NM_SYN_REG_VALUE);
			return;
		}
		p->admin_mtu = mtu;
		p->oper_mtu = mtu;
	}
	NM_SET(pmtu_reg, r->out, max_mtu, NM_PORT_MAX_MTU);
	NM_SET(pmtu_reg, r->out, admin_mtu, p->admin_mtu);
	NM_SET(pmtu_reg, r->out, oper_mtu, p->oper_mtu);
}

/* Flow control is not modelled: it reads as off and cannot be turned on. */
static void reg_pfcc(struct reg *r)
{
	if (r->write && (NM_GET(pfcc_reg, r->in, pptx) ||
			 NM_GET(pfcc_reg, r->in, pprx) ||
			 NM_GET(pfcc_reg, r->in, pfctx) ||
			 NM_GET(pfcc_reg, r->in, pfcrx)))
		nm_cmd_fail(r->c, NM_ST_BAD_PARAM, NM_SYN_REG_VALUE);
}

static u64 sum_pkts(const struct nm_port_counters *c)
{
	return c->uc_pkts + c->mc_pkts + c->bc_pkts;
}

static u64 sum_bytes(const struct nm_port_counters *c)
{
	return c->uc_bytes + c->mc_bytes + c->bc_bytes;
}

#define PUT(lay, p, fld, v) nm_wr64(NM_PTR(lay, p, fld##_high), v)

/* Octets on the wire count the FCS, as the standards' counters do. */
static void reg_ppcnt(struct reg *r)
{
	const struct nm_port *p = &r->c->fn->port;
	u64 txp = sum_pkts(&p->tx), rxp = sum_pkts(&p->rx);
	u64 txb = sum_bytes(&p->tx) + txp * NM_PORT_FCS;
	u64 rxb = sum_bytes(&p->rx) + rxp * NM_PORT_FCS;
	void *set = NM_PTR(ppcnt_reg, r->out, counter_set);

	switch (NM_GET(ppcnt_reg, r->in, grp)) {
	case PPCNT_IEEE_802_3:
		PUT(eth_802_3_cntrs_grp_data_layout, set, a_frames_transmitted_ok, txp);
		PUT(eth_802_3_cntrs_grp_data_layout, set, a_frames_received_ok, rxp);
		PUT(eth_802_3_cntrs_grp_data_layout, set, a_octets_transmitted_ok, txb);
		PUT(eth_802_3_cntrs_grp_data_layout, set, a_octets_received_ok, rxb);
		PUT(eth_802_3_cntrs_grp_data_layout, set,
		    a_multicast_frames_xmitted_ok, p->tx.mc_pkts);
		PUT(eth_802_3_cntrs_grp_data_layout, set,
		    a_broadcast_frames_xmitted_ok, p->tx.bc_pkts);
		PUT(eth_802_3_cntrs_grp_data_layout, set,
		    a_multicast_frames_received_ok, p->rx.mc_pkts);
		PUT(eth_802_3_cntrs_grp_data_layout, set,
		    a_broadcast_frames_received_ok, p->rx.bc_pkts);
		PUT(eth_802_3_cntrs_grp_data_layout, set,
		    a_frame_too_long_errors, p->rx_frames_over);
		break;
	case PPCNT_RFC_2863:
		PUT(eth_2863_cntrs_grp_data_layout, set, if_in_octets, rxb);
		PUT(eth_2863_cntrs_grp_data_layout, set, if_in_ucast_pkts, p->rx.uc_pkts);
		PUT(eth_2863_cntrs_grp_data_layout, set, if_out_octets, txb);
		PUT(eth_2863_cntrs_grp_data_layout, set, if_out_ucast_pkts, p->tx.uc_pkts);
		PUT(eth_2863_cntrs_grp_data_layout, set, if_in_multicast_pkts,
		    p->rx.mc_pkts);
		PUT(eth_2863_cntrs_grp_data_layout, set, if_in_broadcast_pkts,
		    p->rx.bc_pkts);
		PUT(eth_2863_cntrs_grp_data_layout, set, if_out_multicast_pkts,
		    p->tx.mc_pkts);
		PUT(eth_2863_cntrs_grp_data_layout, set, if_out_broadcast_pkts,
		    p->tx.bc_pkts);
		break;
	case PPCNT_RFC_2819:
		PUT(eth_2819_cntrs_grp_data_layout, set, ether_stats_octets, rxb);
		PUT(eth_2819_cntrs_grp_data_layout, set, ether_stats_pkts, rxp);
		PUT(eth_2819_cntrs_grp_data_layout, set, ether_stats_oversize_pkts,
		    p->rx_frames_over);
		break;
	case PPCNT_RFC_3635:
	case PPCNT_EXT_ETH:
	case PPCNT_PER_PRIO:
	case PPCNT_PER_TC:
	case PPCNT_PHYS:
		break;	/* events that cannot happen here: zero */
	default:
		nm_cmd_fail(r->c, NM_ST_BAD_PARAM, NM_SYN_REG_VALUE);
	}
}

static void reg_node_desc(struct reg *r)
{
	u8 *desc = r->c->fn->vport.node_desc;

	if (r->write)
		memcpy(desc, r->in, 64);
	else
		memcpy(r->out, desc, 64);
}

static void reg_pmlp(struct reg *r)
{
	if (r->write)
		nm_cmd_fail(r->c, NM_ST_BAD_PARAM, NM_SYN_REG_VALUE);
	else
		NM_SET(pmlp_reg, r->out, width, 4);
}

static void reg_host_endianness(struct reg *r)
{
	if (r->write && r->in[0])	/* 0: little endian */
		nm_cmd_fail(r->c, NM_ST_BAD_PARAM, NM_SYN_REG_VALUE);
}

/* Time-outs: 0 leaves the driver its own. Health is then polled faster, too. */
static void reg_dtor(struct reg *r)
{
	if (r->c->fn->model->opts.cmd_timeout_ms)
		nm_wr32(NM_PTR(dtor_reg, r->out, health_poll_to), HEALTH_POLL_MS);
}

static const struct {
	u16 id;
	u16 size;
	bool writable;
	bool early;	/* before INIT_HCA */
	void (*fn)(struct reg *r);
} regs[] = {
	{ REG_PMLP, NM_BYTES(pmlp_reg), false, false, reg_pmlp },
	{ REG_PMTU, NM_BYTES(pmtu_reg), true, false, reg_pmtu },
	{ REG_PTYS, NM_BYTES(ptys_reg), true, true, reg_ptys },
	{ REG_PAOS, NM_BYTES(paos_reg), true, false, reg_paos },
	{ REG_PFCC, 16, true, false, reg_pfcc },
	{ REG_PPCNT, NM_BYTES(ppcnt_reg), false, false, reg_ppcnt },
	{ REG_NODE_DESC, 64, true, false, reg_node_desc },
	{ REG_HOST_ENDIANNESS, 16, true, true, reg_host_endianness },
	{ REG_DTOR, NM_BYTES(dtor_reg), false, true, reg_dtor },
};

void nm_cmd_access_reg(struct nm_cmd *c)
{
	u32 id = NM_GET(access_register_in, c->in, register_id);
	u32 head = NM_BYTES(access_register_in);
	struct reg r = { .c = c, .write = c->op_mod == REG_WRITE };
	u8 in[1024] = { };
	u32 i, len;

	if (c->op_mod > REG_READ) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_OP_MOD);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(regs); i++)
		if (regs[i].id == id)
			break;
	if (i == ARRAY_SIZE(regs) || (r.write && !regs[i].writable)) {
		nm_cmd_fail(c, NM_ST_BAD_PARAM, NM_SYN_REG_UNKNOWN);
		return;
	}
	if (!regs[i].early && c->fn->state != NM_FN_READY) {
		nm_cmd_fail(c, NM_ST_BAD_SYS_STATE, NM_SYN_NOT_ENABLED);
		return;
	}
	/* A short register is as one whose end is zero. */
	len = c->in_len - head < sizeof(in) ? c->in_len - head : sizeof(in);
	memcpy(in, c->in + head, len);
	r.in = in;
	if (regs[i].size > sizeof(in) || c->out_len < head) {
		nm_cmd_fail(c, NM_ST_BAD_OUTP_LEN, NM_SYN_OUT_LEN);
		return;
	}
	r.out = in;
	regs[i].fn(&r);
	len = c->out_len - head < regs[i].size ? c->out_len - head : regs[i].size;
	if (!c->status)
		memcpy(c->out + head, in, len);
}
