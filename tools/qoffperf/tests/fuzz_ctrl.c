// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Fuzz target: a control message, and the parameters in it. */
#include "fuzz.h"

#include "ctrl.h"
#include "params.h"
#include "report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct msg m;
	struct side side;
	struct params p;
	unsigned int i;
	const char *v, *why;
	u8 key[48];

	params_default(&p);
	if (msg_parse(&m, (const char *)data, size))
		return 0;
	CHECK(m.n && m.n <= CTRL_LINES_MAX);
	for (i = 0; i < param_count; i++) {
		const struct param *d = &param_table[i];

		v = msg_get(&m, d->name);
		if (v && !param_set(&p, d, v))
			CHECK(param_get(&p, d) >= d->lo &&
			      param_get(&p, d) <= d->hi);
	}
	params_check(&p, &why);
	CHECK(params_batch(&p) >= 1 && params_batch(&p) <= 128);
	side_get(&side, &m);
	msg_get_hex(&m, "up0", key, sizeof(key));
	return 0;
}

size_t fuzz_make(uint64_t *state, uint8_t *buf, size_t max)
{
	static const char *const values[] = {
		"0", "1", "super", "18446744073709551616", "-1", "9999G", "",
		"00ff", "0", "mixed", "1500", "aes-128-ccm",
	};
	const struct param *d;
	size_t len = 0;
	unsigned int i;

	for (i = 1 + fuzz_random(state) % 30; i; i--) {
		d = &param_table[fuzz_random(state) % param_count];
		len += snprintf((char *)buf + len, max - len, "%s %s\n",
				fuzz_random(state) % 8 ? d->name : "up0",
				values[fuzz_random(state) % ARRAY_SIZE(values)]);
	}
	for (i = fuzz_random(state) % 3; i; i--)
		buf[fuzz_random(state) % len] = fuzz_random(state);
	return len;
}
