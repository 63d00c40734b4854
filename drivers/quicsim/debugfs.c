// SPDX-License-Identifier: GPL-2.0
/*
 * quicsim: faults on demand, /sys/kernel/debug/quicsim/<if>/.
 *
 * Knobs are plain numbers that the data path reads locklessly; what acts at
 * once (reset, lose, registered, release) is done by the write.  The folder has
 * the name that the port was made with; where two ports of different namespaces
 * had the same, the later one's has its ifindex appended.
 */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>

#include "quicsim.h"

static struct dentry *qsim_root;

/* Writing the seed starts the fault's sequence anew */
static int qsim_seed_get(void *data, u64 *val)
{
	struct qsim_every *e = data;

	*val = READ_ONCE(e->seed);
	return 0;
}

static int qsim_seed_set(void *data, u64 val)
{
	struct qsim_every *e = data;

	WRITE_ONCE(e->seed, val);
	WRITE_ONCE(e->rnd, val);
	WRITE_ONCE(e->seen, 0);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(qsim_seed_fops, qsim_seed_get, qsim_seed_set,
			 "%llu\n");

/* Holding stops the device before its next descriptor; 0 releases it */
static int qsim_hold_get(void *data, u64 *val)
{
	struct qsim_port *port = data;

	*val = READ_ONCE(port->flt.hold_tx);
	return 0;
}

static int qsim_hold_set(void *data, u64 val)
{
	struct qsim_port *port = data;

	WRITE_ONCE(port->flt.hold_tx, !!val);
	wake_up(&port->tx_wait);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(qsim_hold_fops, qsim_hold_get, qsim_hold_set,
			 "%llu\n");

static int qsim_reset_set(void *data, u64 val)
{
	qsim_qoff_reset(data);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(qsim_reset_fops, NULL, qsim_reset_set, "%llu\n");

static int qsim_lose_set(void *data, u64 val)
{
	qsim_tables_lose(data);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(qsim_lose_fops, NULL, qsim_lose_set, "%llu\n");

static int qsim_registered_get(void *data, u64 *val)
{
	struct qsim_port *port = data;

	*val = !!rcu_access_pointer(port->qd);
	return 0;
}

/* Under RTNL, as a driver that is removed or recovered is. The removal of this
 * file waits for this write with RTNL held, so never wait for RTNL here.
 */
static int qsim_registered_set(void *data, u64 val)
{
	struct qsim_port *port = data;
	int err = 0;

	if (qsim_mode_is_dumb(port->mode))
		return -EOPNOTSUPP;
	if (!rtnl_trylock())
		return restart_syscall();
	if (val)
		err = qsim_qoff_register(port);
	else
		qsim_qoff_unregister(port);
	rtnl_unlock();
	return err;
}

DEFINE_DEBUGFS_ATTRIBUTE(qsim_registered_fops, qsim_registered_get,
			 qsim_registered_set, "%llu\n");

static void qsim_debugfs_every(struct qsim_port *port, const char *name,
			       struct qsim_every *e)
{
	struct dentry *dir = debugfs_create_dir(name, port->dir);

	debugfs_create_u32("nth", 0600, dir, &e->nth);
	debugfs_create_u32("percent", 0600, dir, &e->pct);
	debugfs_create_file("seed", 0600, dir, e, &qsim_seed_fops);
}

static void qsim_debugfs_u32(struct qsim_port *port, const char *name, u32 *val)
{
	debugfs_create_u32(name, 0600, port->dir, val);
}

static void qsim_debugfs_act(struct qsim_port *port, const char *name,
			     umode_t mode, const struct file_operations *fops)
{
	debugfs_create_file_unsafe(name, mode, port->dir, port, fops);
}

void qsim_debugfs_add(struct qsim_port *port)
{
	struct qsim_faults *flt = &port->flt;
	char name[IFNAMSIZ + 16];

	strscpy(name, port->netdev->name, sizeof(name));
	port->dir = debugfs_lookup(name, qsim_root);
	if (port->dir) {
		dput(port->dir);
		snprintf(name, sizeof(name), "%s.%d", port->netdev->name,
			 port->netdev->ifindex);
	}
	port->dir = debugfs_create_dir(name, qsim_root);

	qsim_debugfs_every(port, "drop", &flt->drop);
	qsim_debugfs_every(port, "dup", &flt->dup);
	qsim_debugfs_every(port, "reorder", &flt->reorder);
	qsim_debugfs_every(port, "corrupt", &flt->corrupt);
	debugfs_create_bool("corrupt_keep_csum", 0600, port->dir,
			    &flt->corrupt_keep_csum);
	qsim_debugfs_u32(port, "reorder_gap", &flt->reorder_gap);
	qsim_debugfs_u32(port, "delay_us", &flt->delay_us);

	qsim_debugfs_u32(port, "busy_n", &flt->busy_n);
	qsim_debugfs_u32(port, "busy_m", &flt->busy_m);
	qsim_debugfs_act(port, "hold_tx", 0600, &qsim_hold_fops);
	if (qsim_mode_is_dumb(port->mode))
		return;

	qsim_debugfs_u32(port, "refuse_ctx", &flt->refuse_ctx);
	qsim_debugfs_u32(port, "refuse_key", &flt->refuse_key);
	qsim_debugfs_u32(port, "refuse_flow", &flt->refuse_flow);
	qsim_debugfs_u32(port, "table_limit", &flt->table_limit);
	qsim_debugfs_every(port, "tx_fail", &flt->tx_fail);
	qsim_debugfs_every(port, "rx_fail", &flt->rx_fail);
	qsim_debugfs_every(port, "rx_forge", &flt->rx_forge);
	qsim_debugfs_u32(port, "forge", &flt->forge);
	qsim_debugfs_u32(port, "broken", &flt->broken);
	qsim_debugfs_act(port, "reset", 0200, &qsim_reset_fops);
	qsim_debugfs_act(port, "lose", 0200, &qsim_lose_fops);
	qsim_debugfs_act(port, "registered", 0600, &qsim_registered_fops);
}

void qsim_debugfs_del(struct qsim_port *port)
{
	debugfs_remove(port->dir);
	port->dir = NULL;
}

void qsim_debugfs_init(void)
{
	qsim_root = debugfs_create_dir(QSIM_NAME, NULL);
}

void qsim_debugfs_exit(void)
{
	debugfs_remove(qsim_root);
}
