// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qoffctl dev, qoffctl monitor.
 */
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "out.h"

static const uint32_t features[] = {
	QUIC_OFFLOAD_FEATURE_GSO,
	QUIC_OFFLOAD_FEATURE_GRO,
	QUIC_OFFLOAD_FEATURE_TX_CRYPTO,
	QUIC_OFFLOAD_FEATURE_RX_CRYPTO,
};

#define N_FEATURES (sizeof(features) / sizeof(features[0]))

static const char *const policies[] = {
	[QUIC_OFFLOAD_TAP_POLICY_SEAL] = "seal",
	[QUIC_OFFLOAD_TAP_POLICY_ALLOW] = "allow",
};

void bits_to_ranges(uint32_t bits, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = 0;
	for (unsigned int i = 0; i < 32; i++) {
		unsigned int last = i;

		if (!(bits & 1U << i))
			continue;
		while (last < 31 && bits & 1U << (last + 1))
			last++;
		len += snprintf(buf + len, size - len, last > i ? "%s%u-%u" : "%s%u",
				len ? " " : "", i, last);
		if (len >= size)
			return;
		i = last;
	}
}

static void show_ciphers(const char *key, uint32_t bits)
{
	const char *names[32];
	size_t n = 0;

	for (unsigned int i = 0; i < 32; i++) {
		if (bits & 1U << i && qoff_cipher_name(i))
			names[n++] = qoff_cipher_name(i);
	}
	out_words(key, names, n);
}

void show_dev(const struct qoff_dev_info *d)
{
	char title[96], ranges[96];

	snprintf(title, sizeof(title), "%u: %s: id %u driver %s", d->ifindex, d->ifname, d->id,
		 d->driver);
	out_obj(NULL, title);
	if (out_is_json()) {
		out_u64("ifindex", d->ifindex);
		out_str("ifname", d->ifname);
		out_u64("id", d->id);
		out_str("driver", d->driver);
		out_obj("features", NULL);
	}
	for (size_t i = 0; i < N_FEATURES; i++) {
		if (out_is_json() && !(d->features_cap & features[i]))
			continue;
		out_switch(qoff_feature_name(features[i]), d->features & features[i],
			   d->features_cap & features[i] ? NULL : "[not supported]");
	}
	if (out_is_json())
		out_obj_end();
	out_str("tap-policy", d->tap_policy < 2 ? policies[d->tap_policy] : "?");
	out_str("switches", d->ethtool ? "ethtool -K" : "qoffctl dev set");
	show_ciphers("tx-ciphers", d->tx_ciphers);
	show_ciphers("rx-ciphers", d->rx_ciphers);
	out_u64("max-segs", d->max_segs);
	out_u64("max-bytes", d->max_bytes);
	out_u64("max-ctx", d->max_ctx);
	out_u64("max-flow", d->max_flow);
	bits_to_ranges(d->dcid_lens, ranges, sizeof(ranges));
	out_str("dcid-lens", ranges);
	out_obj_end();
}

void show_stats(const struct qoff_stats *st)
{
	for (unsigned int i = 1; i < 64; i++) {
		if (st->present & 1ULL << i && qoff_stat_name(i))
			out_u64(qoff_stat_name(i), st->v[i]);
	}
}

static int list_one(const struct qoff_dev_info *d, void *arg)
{
	(*(unsigned int *)arg)++;
	show_dev(d);
	return 0;
}

static int dev_list(void)
{
	unsigned int n = 0;
	int err;

	out_arr(NULL);
	err = qoff_dev_list(ctl(), list_one, &n);
	out_arr_end();
	out_done();
	if (err)
		return failed("dev list", err);
	if (!n && !out_is_json())
		fprintf(stderr, "no device of this network namespace offloads QUIC\n");
	return EXIT_OK;
}

static int dev_show(unsigned int ifindex, const char *name)
{
	struct qoff_dev_info d;
	int err;

	err = qoff_dev_get(ctl(), ifindex, &d);
	if (err)
		return failed(name, err);
	out_arr(NULL);
	show_dev(&d);
	out_arr_end();
	out_done();
	return EXIT_OK;
}

static int dev_stats(unsigned int ifindex, const char *name)
{
	char title[64];
	struct qoff_stats st;
	int err;

	err = qoff_dev_stats(ctl(), ifindex, &st);
	if (err)
		return failed(name, err);
	snprintf(title, sizeof(title), "%u: %s:", ifindex, name);
	out_arr(NULL);
	out_obj(NULL, title);
	if (out_is_json()) {
		out_u64("ifindex", ifindex);
		out_str("ifname", name);
		out_obj("stats", NULL);
	}
	show_stats(&st);
	if (out_is_json())
		out_obj_end();
	out_obj_end();
	out_arr_end();
	out_done();
	return EXIT_OK;
}

static uint32_t feature_by_name(const char *name)
{
	for (size_t i = 0; i < N_FEATURES; i++) {
		if (!strcmp(qoff_feature_name(features[i]), name))
			return features[i];
	}
	return 0;
}

/* Words NAME VALUE ... become what is to be set and cleared. */
static int parse_settings(int argc, char **argv, uint32_t *on, uint32_t *off, int *policy)
{
	for (; argc; argc -= 2, argv += 2) {
		uint32_t f = feature_by_name(argv[0]);

		if (argc == 1)
			return usage_error("%s needs a value", argv[0]);
		if (!strcmp(argv[0], "tap-policy")) {
			*policy = !strcmp(argv[1], "allow") ? QUIC_OFFLOAD_TAP_POLICY_ALLOW :
				  !strcmp(argv[1], "seal") ? QUIC_OFFLOAD_TAP_POLICY_SEAL : -1;
			if (*policy < 0)
				return usage_error("tap-policy is seal or allow, not %s", argv[1]);
			continue;
		}
		if (!f)
			return usage_error("unknown setting %s", argv[0]);
		if ((*on | *off) & f)
			return usage_error("%s is given twice", argv[0]);
		if (!strcmp(argv[1], "on"))
			*on |= f;
		else if (!strcmp(argv[1], "off"))
			*off |= f;
		else
			return usage_error("%s is on or off, not %s", argv[0], argv[1]);
	}
	return EXIT_OK;
}

static int dev_set(unsigned int ifindex, const char *name, int argc, char **argv)
{
	uint32_t on = 0, off = 0, want, pol;
	struct qoff_dev_info d;
	int policy = -1;
	int err;

	if (!argc)
		return usage_error("dev set %s: nothing to set", name);
	err = parse_settings(argc, argv, &on, &off, &policy);
	if (err)
		return err;
	err = qoff_dev_get(ctl(), ifindex, &d);
	if (err)
		return failed(name, err);
	want = (d.features | on) & ~off;
	pol = policy;
	err = qoff_dev_set(ctl(), ifindex, on || off ? &want : NULL, policy >= 0 ? &pol : NULL);
	return err ? failed(name, err) : EXIT_OK;
}

int cmd_dev(int argc, char **argv)
{
	const char *verb = argc ? argv[0] : "list";
	unsigned int ifindex;

	if (!strcmp(verb, "list"))
		return argc > 1 ? usage_error("dev list takes no argument") : dev_list();
	if (strcmp(verb, "show") && strcmp(verb, "set") && strcmp(verb, "stats"))
		return usage_error("unknown command: dev %s", verb);
	if (argc < 2)
		return usage_error("dev %s needs a device", verb);
	ifindex = if_nametoindex(argv[1]);
	if (!ifindex) {
		fprintf(stderr, "qoffctl: %s: no such device in this network namespace (ip link)\n",
			argv[1]);
		return EXIT_FAILED;
	}
	if (!strcmp(verb, "set"))
		return dev_set(ifindex, argv[1], argc - 2, argv + 2);
	if (argc > 2)
		return usage_error("dev %s takes one device", verb);
	return !strcmp(verb, "show") ? dev_show(ifindex, argv[1]) :
				       dev_stats(ifindex, argv[1]);
}

static void show_event(const struct qoff_event *ev)
{
	static const char *const names[] = {
		[QOFF_EVENT_DEV_ADD] = "dev-add",
		[QOFF_EVENT_DEV_DEL] = "dev-del",
		[QOFF_EVENT_DEV_CHANGE] = "dev-change",
		[QOFF_EVENT_KEY_LIMIT] = "key-limit",
	};

	out_obj(NULL, names[ev->type]);
	if (out_is_json())
		out_str("event", names[ev->type]);
	if (ev->type == QOFF_EVENT_KEY_LIMIT) {
		out_u64("group", ev->group);
		out_str("direction", ev->direction == QUIC_OFFLOAD_DIRECTION_TX ? "tx" : "rx");
		out_u64("id", ev->id);
		out_u64("used", ev->used);
		out_u64("limit", ev->limit);
	} else {
		out_arr("devices");
		show_dev(&ev->dev);
		out_arr_end();
	}
	out_obj_end();
	out_done();
}

int cmd_monitor(int argc, char **argv)
{
	uint64_t count = UINT64_MAX;
	struct qoff_event ev;
	struct pollfd p = { .events = POLLIN };
	int err;

	if (argc == 2 && !strcmp(argv[0], "--count")) {
		if (!parse_u64(argv[1], UINT64_MAX, &count))
			return usage_error("--count needs a number, not %s", argv[1]);
	} else if (argc) {
		return usage_error("monitor takes nothing but --count N");
	}
	p.fd = qoff_events_fd(ctl());
	if (p.fd < 0)
		return failed("monitor", p.fd);
	if (!out_is_json()) {
		printf("listening\n");
		fflush(stdout);
	}
	while (count) {
		err = qoff_event_next(ctl(), &ev);
		if (!err) {
			show_event(&ev);
			count--;
		} else if (err == -ENOBUFS) {
			fprintf(stderr, "qoffctl: events were lost\n");
		} else if (err != -EAGAIN) {
			return failed("monitor", err);
		} else if (poll(&p, 1, -1) < 0 && errno != EINTR) {
			return failed("monitor", -errno);
		}
	}
	return EXIT_OK;
}
