// SPDX-License-Identifier: GPL-2.0
/*
 * Does on purpose what a test kernel must be caught doing. It proves that the lab
 * would see it: a harness that has never failed a guest shows nothing.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *how = "";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "oops, warn, refcount, hang, leak, uaf, deadlock");

static DEFINE_SPINLOCK(first);
static DEFINE_SPINLOCK(second);

static void read_nowhere(void)
{
	pr_info("%d\n", *(volatile int *)8);
}

static void over_put(void)
{
	refcount_t r = REFCOUNT_INIT(0);

	refcount_inc(&r);
}

static void hang_cpu(void)
{
	local_irq_disable();
	for (;;)
		cpu_relax();
}

/* The pointer is nowhere but in dead registers and stack slots afterwards. */
static noinline void leak_objects(void)
{
	int i;

	for (i = 0; i < 16; i++)
		if (!kmalloc(200 + i, GFP_KERNEL))
			return;
}

static void use_after_free(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	pr_info("%d\n", READ_ONCE(*p));
}

static void invert_locks(void)
{
	spin_lock(&first);
	spin_lock(&second);
	spin_unlock(&second);
	spin_unlock(&first);

	spin_lock(&second);
	spin_lock(&first);
	spin_unlock(&first);
	spin_unlock(&second);
}

static int __init misbehave_init(void)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} acts[] = {
		{ "oops", read_nowhere },
		{ "refcount", over_put },
		{ "hang", hang_cpu },
		{ "leak", leak_objects },
		{ "uaf", use_after_free },
		{ "deadlock", invert_locks },
	};
	int i;

	WARN(!strcmp(how, "warn"), "misbehaving as asked");
	for (i = 0; i < ARRAY_SIZE(acts); i++)
		if (!strcmp(how, acts[i].name))
			acts[i].act();
	return 0;
}

static void __exit misbehave_exit(void)
{
}

module_init(misbehave_init);
module_exit(misbehave_exit);
MODULE_DESCRIPTION("Proof that the lab catches a misbehaving kernel");
MODULE_LICENSE("GPL");
