/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One entry point, three ways in: libFuzzer (-DQOFF_LIBFUZZER, clang
 * -fsanitize=fuzzer), a single input on stdin (AFL, or to reproduce), or
 * --seed S --runs N: N generated inputs. A failure is an abort.
 */
#ifndef QOFF_FUZZ_H
#define QOFF_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Makes a likely input: random bytes hardly pass the first check. Return: its size. */
size_t fuzz_make(uint64_t *state, uint8_t *buf, size_t max);

#define CHECK(x) do {							\
	if (!(x)) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);	\
		abort();						\
	}								\
} while (0)

static inline uint64_t fuzz_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

#ifndef QOFF_LIBFUZZER
int main(int argc, char **argv)
{
	unsigned long runs = 0, i;
	static uint8_t buf[8192];
	uint64_t state = 0;
	ssize_t n;
	size_t len;

	for (int k = 1; k + 1 < argc; k += 2) {
		if (!strcmp(argv[k], "--seed"))
			state = strtoull(argv[k + 1], NULL, 0);
		else if (!strcmp(argv[k], "--runs"))
			runs = strtoul(argv[k + 1], NULL, 0);
		else
			return 2;
	}
	if (!runs) {
		for (len = 0; len < sizeof(buf); len += n) {
			n = read(0, buf + len, sizeof(buf) - len);
			if (n <= 0)
				break;
		}
		return LLVMFuzzerTestOneInput(buf, len);
	}
	for (i = 0; i < runs; i++) {
		uint64_t at = state;

		/* Exactly as large as the input, so that a sanitizer sees every step beyond. */
		len = fuzz_make(&state, buf, sizeof(buf));
		uint8_t *exact = malloc(len ? len : 1);

		CHECK(exact);
		memcpy(exact, buf, len);
		if (LLVMFuzzerTestOneInput(exact, len))
			fprintf(stderr, "run %lu, state %#llx\n", i, (unsigned long long)at);
		free(exact);
	}
	printf("ok %lu inputs\n", runs);
	return 0;
}
#endif

#endif /* QOFF_FUZZ_H */
