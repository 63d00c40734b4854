// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report.h"

struct counter {
	const char *name;
	size_t offset;
};

#define C(f)	{ #f, offsetof(struct side, f) }
static const struct counter counters[] = {
	C(ns), C(cpu_user_us), C(cpu_system_us), C(bytes), C(packets),
	C(dgrams_sent), C(dgrams_received), C(bytes_sent), C(bytes_received),
	C(sends), C(batches), C(send_calls), C(send_again), C(recv_calls),
	C(recv_again), C(polls), C(file_writes), C(acks_sent),
	C(acks_received), C(lost), C(spurious), C(timeouts),
	C(retransmits), C(retransmitted_bytes), C(duplicates), C(duplicate_bytes),
	C(key_updates), C(key_updates_seen), C(raw_opened), C(open_failed),
	C(bad_packets), C(close_received), C(hash_ns), C(srtt_us), C(cwnd),
	C(kernel),
};

static u64 *counter(struct side *s, unsigned int i)
{
	return (u64 *)((char *)s + counters[i].offset);
}

void side_put(const struct side *s, struct msg *m)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		msg_add(m, counters[i].name, "%" PRIu64,
			*counter((struct side *)s, i));
}

int side_get(struct side *s, const struct msg *m)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		err = msg_get_u64(m, counters[i].name, counter(s, i));
		if (err)
			return err;
	}
	return 0;
}

void json_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			fprintf(f, "\\u%04x", *s);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

void json_conditions(FILE *f, const struct params *p)
{
	unsigned int i;

	fputs("  \"conditions\": {", f);
	for (i = 0; i < param_count; i++) {
		const struct param *d = &param_table[i];
		u64 v = param_get(p, d);

		fprintf(f, "%s\n    \"%s\": ", i ? "," : "", d->name);
		if (d->kind == PARAM_NAME)
			json_string(f, param_name(d, v));
		else if (d->kind == PARAM_FLAG)
			fputs(v ? "true" : "false", f);
		else
			fprintf(f, "%" PRIu64, v);
	}
	fputs("\n  },\n", f);
}

static double ratio(u64 a, u64 b)
{
	return b ? (double)a / b : 0;
}

static void json_side(FILE *f, const char *name, const struct side *s)
{
	unsigned int i;

	fprintf(f, "  \"%s\": {", name);
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		fprintf(f, "%s\n    \"%s\": %" PRIu64, i ? "," : "",
			counters[i].name, *counter((struct side *)s, i));
	fputs("\n  }", f);
}

static u64 syscalls(const struct side *s)
{
	return s->send_calls + s->recv_calls + s->polls;
}

static void json_hashes(FILE *f, const struct result *r)
{
	unsigned int i;

	fprintf(f, "  \"sha256_ok\": %s,\n  \"sha256\": ",
		r->hash_ok < 0 ? "null" : r->hash_ok ? "true" : "false");
	if (r->hash_ok < 0) {
		fputs("null,\n", f);
		return;
	}
	if (r->p->parallel == 1) {
		json_string(f, r->hashes[0]);
	} else {
		for (i = 0; i < r->p->parallel; i++) {
			fputs(i ? ", " : "[", f);
			json_string(f, r->hashes[i]);
		}
		fputc(']', f);
	}
	fputs(",\n", f);
}

/**
 * report_json - the whole result as one JSON object
 * @f: where
 * @r: result
 *
 * packets_sent counts QUIC packets with data, sends the calls they took: with
 * super-packets the two differ by segments_per_send.
 */
void report_json(FILE *f, const struct result *r)
{
	const struct side *tx = &r->sender, *rx = &r->receiver;

	fputs("{\n", f);
	json_conditions(f, r->p);
	fprintf(f, "  \"backend\": \"%s\",\n", tx->kernel ? "kernel" : "user");
	fprintf(f, "  \"bytes\": %" PRIu64 ",\n  \"seconds\": %.6f,\n",
		rx->bytes, rx->ns / 1e9);
	fprintf(f, "  \"bits_per_second\": %.0f,\n",
		rx->ns ? rx->bytes * 8 / (rx->ns / 1e9) : 0);
	json_hashes(f, r);
	fprintf(f, "  \"packets_sent\": %" PRIu64 ",\n", tx->packets);
	fprintf(f, "  \"sends\": %" PRIu64 ",\n", tx->sends);
	fprintf(f, "  \"receives\": %" PRIu64 ",\n", rx->batches);
	fprintf(f, "  \"segments_per_send\": %.2f,\n",
		ratio(tx->dgrams_sent, tx->sends));
	fprintf(f, "  \"segments_per_receive\": %.2f,\n",
		ratio(rx->dgrams_received, rx->batches));
	fprintf(f, "  \"acks_sent\": %" PRIu64 ",\n", rx->acks_sent);
	fprintf(f, "  \"retransmits\": %" PRIu64 ",\n", tx->retransmits);
	fprintf(f, "  \"key_updates\": %" PRIu64 ",\n", tx->key_updates);
	fprintf(f, "  \"syscalls_sender\": %" PRIu64 ",\n", syscalls(tx));
	fprintf(f, "  \"syscalls_receiver\": %" PRIu64 ",\n", syscalls(rx));
	fprintf(f, "  \"cpu_sender\": %.6f,\n",
		(tx->cpu_user_us + tx->cpu_system_us) / 1e6);
	fprintf(f, "  \"cpu_receiver\": %.6f,\n",
		(rx->cpu_user_us + rx->cpu_system_us) / 1e6);
	json_side(f, "sender", tx);
	fputs(",\n", f);
	json_side(f, "receiver", rx);
	fputs("\n}\n", f);
	fflush(f);
}

static void scaled(char *buf, size_t size, double v, double step,
		   const char *unit)
{
	static const char *const prefix[] = { "", "K", "M", "G", "T" };
	unsigned int i = 0;

	while (v >= step && i + 1 < ARRAY_SIZE(prefix)) {
		v /= step;
		i++;
	}
	snprintf(buf, size, "%.2f %s%s", v, prefix[i], unit);
}

static void put_rate(FILE *f, u64 bytes, double seconds)
{
	char amount[32], rate[32];

	scaled(amount, sizeof(amount), bytes, 1024, "Bytes");
	scaled(rate, sizeof(rate), seconds > 0 ? bytes * 8 / seconds : 0, 1000,
	       "bits/sec");
	fprintf(f, "%15s  %17s", amount, rate);
}

void report_interval(FILE *f, double from, double to, u64 bytes, u64 dgrams)
{
	fprintf(f, "%6.2f-%-6.2f sec  ", from, to);
	put_rate(f, bytes, to - from);
	fprintf(f, "  %8" PRIu64 " datagrams\n", dgrams);
	fflush(f);
}

static void text_side(FILE *f, const char *name, const struct side *s)
{
	fprintf(f, "%-9s cpu %.3f s user %.3f s system; %" PRIu64
		" syscalls (%" PRIu64 " send, %" PRIu64 " receive, %" PRIu64
		" poll)\n", name, s->cpu_user_us / 1e6, s->cpu_system_us / 1e6,
		syscalls(s), s->send_calls, s->recv_calls, s->polls);
	fprintf(f, "          %" PRIu64 " datagrams in %" PRIu64 " sends (%.1f a send), %"
		PRIu64 " in %" PRIu64 " receives (%.1f a receive)\n",
		s->dgrams_sent, s->sends, ratio(s->dgrams_sent, s->sends),
		s->dgrams_received, s->batches,
		ratio(s->dgrams_received, s->batches));
}

void report_text(FILE *f, const struct result *r)
{
	const struct side *tx = &r->sender, *rx = &r->receiver;
	unsigned int i;

	fprintf(f, "- - - - - - - - - - - - - - - - - - - - - - - - -\n");
	fprintf(f, "%6.2f-%-6.2f sec  ", 0.0, rx->ns / 1e9);
	put_rate(f, rx->bytes, rx->ns / 1e9);
	fprintf(f, "  mode %s, receive %s, sealed by the %s\n",
		param_value_name(r->p, "mode"), param_value_name(r->p, "rx"),
		tx->kernel ? "kernel" : "process");
	text_side(f, "sender", tx);
	text_side(f, "receiver", rx);
	fprintf(f, "acks %" PRIu64 ", lost %" PRIu64 ", timeouts %" PRIu64
		", repeated %" PRIu64 " packets with %" PRIu64 " bytes, duplicates %" PRIu64
		", not opened %" PRIu64 ", key updates %" PRIu64 "\n",
		rx->acks_sent, tx->lost, tx->timeouts, tx->retransmits,
		tx->retransmitted_bytes,
		rx->duplicates, rx->open_failed, tx->key_updates);
	for (i = 0; r->hash_ok >= 0 && i < r->p->parallel; i++)
		fprintf(f, "sha256 %s\n", r->hashes[i]);
	if (r->hash_ok >= 0)
		fprintf(f, "hash %s\n", r->hash_ok ? "equal at both ends" :
			"WRONG: the bytes received are not those sent");
	fflush(f);
}
