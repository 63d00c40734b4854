// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <stdio.h>

#include "prof.h"
#include "report.h"

static bool as_json;
static bool first;

void report_begin(bool json)
{
	as_json = json;
	first = true;
	if (json)
		putchar('{');
}

static void name_of(const char *name)
{
	if (as_json)
		printf("%s\"%s\": ", first ? "" : ", ", name);
	else
		printf("%-18s ", name);
	first = false;
}

/* Values are the programs' own words: nothing in them needs an escape. */
void report_text(const char *name, const char *value)
{
	name_of(name);
	printf(as_json ? "\"%s\"" : "%s\n", value);
}

void report_num(const char *name, uint64_t value)
{
	name_of(name);
	printf(as_json ? "%llu" : "%llu\n", (unsigned long long)value);
}

void report_real(const char *name, double value)
{
	name_of(name);
	printf(as_json ? "%.6f" : "%.6f\n", value);
}

static double mean(uint64_t sum, uint64_t n)
{
	return n ? (double)sum / n : 0;
}

void report_sock(const struct qng_stats *st)
{
	uint64_t sends = st->tx_calls - st->tx_again;

	report_num("tx_calls", st->tx_calls);
	report_num("tx_again", st->tx_again);
	report_num("tx_super", st->tx_super);
	report_num("tx_datagrams", st->tx_dgrams);
	report_num("tx_bytes", st->tx_bytes);
	report_num("tx_sealed_below", st->tx_deferred);
	report_num("tx_sealed_here", st->tx_sealed_here);
	report_num("tx_lost", st->tx_lost);
	report_real("segments_per_send", mean(st->tx_dgrams, sends));
	report_real("bytes_per_send", mean(st->tx_bytes, sends));
	report_num("rx_calls", st->rx_calls);
	report_num("rx_again", st->rx_again);
	report_num("rx_batches", st->rx_batches);
	report_num("rx_datagrams", st->rx_dgrams);
	report_num("rx_bytes", st->rx_bytes);
	report_num("rx_opened_below", st->rx_opened);
	report_num("rx_failed_below", st->rx_failed);
	report_real("segments_per_receive", mean(st->rx_dgrams, st->rx_batches));
	report_num("contexts", st->contexts);
	report_num("flows", st->flows);
	report_num("refused", st->refused);
	report_num("key_updates", st->key_updates);
}

void report_totals(void)
{
	report_num("connections", quic_totals.connections);
	report_num("handshakes", quic_totals.handshakes);
	report_num("connection_errors", quic_totals.errors);
	report_num("packets_sent", quic_totals.pkts_sent);
	report_num("packets_received", quic_totals.pkts_received);
	report_num("packets_lost", quic_totals.pkts_lost);
	report_num("packets_discarded", quic_totals.pkts_discarded);
}

void report_prof(void)
{
	char name[32];

	for (unsigned int i = 0; i < PROF_PHASES; i++) {
		snprintf(name, sizeof(name), "time_%s", prof_name[i]);
		report_real(name, prof_ns[i] / 1e9);
	}
}

void report_end(void)
{
	if (as_json)
		puts("}");
	fflush(stdout);
}

void report_add(struct qng_stats *sum, const struct qng_stats *st)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)st;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}
