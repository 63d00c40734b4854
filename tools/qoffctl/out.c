// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause

#include <inttypes.h>
#include <stdio.h>

#include "out.h"

#define MAX_DEPTH 8

static bool json;
static unsigned int depth;
static bool filled[MAX_DEPTH + 1];	/* JSON: the level needs a comma */
static unsigned int arrays;		/* text: levels that are arrays, not indented */

void out_json(bool on)
{
	json = on;
}

bool out_is_json(void)
{
	return json;
}

static void quote(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

/* What stands before a value. */
static void lead(const char *key)
{
	if (!json) {
		for (unsigned int i = arrays; i < depth; i++)
			printf("    ");
		if (key)
			printf("%s: ", key);
		return;
	}
	if (filled[depth])
		putchar(',');
	filled[depth] = true;
	if (key) {
		quote(key);
		putchar(':');
	}
}

static void enter(char c)
{
	if (json)
		putchar(c);
	if (depth < MAX_DEPTH)
		depth++;
	filled[depth] = false;
}

void out_obj(const char *key, const char *title)
{
	if (json) {
		lead(key);
	} else if (title) {
		lead(NULL);
		printf("%s\n", title);
	}
	enter('{');
}

void out_obj_end(void)
{
	depth--;
	if (json)
		putchar('}');
}

void out_arr(const char *key)
{
	if (json)
		lead(key);
	enter('[');
	arrays++;
}

void out_arr_end(void)
{
	depth--;
	arrays--;
	if (json)
		putchar(']');
}

void out_str(const char *key, const char *value)
{
	lead(key);
	if (json)
		quote(value);
	else
		printf("%s\n", value);
}

void out_u64(const char *key, uint64_t value)
{
	lead(key);
	printf("%" PRIu64, value);
	if (!json)
		putchar('\n');
}

void out_switch(const char *key, bool on, const char *note)
{
	lead(key);
	if (json)
		printf(on ? "true" : "false");
	else
		printf("%s%s%s\n", on ? "on" : "off", note ? " " : "", note ? note : "");
}

void out_words(const char *key, const char *const *words, size_t n)
{
	lead(key);
	if (json)
		putchar('[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			putchar(json ? ',' : ' ');
		if (json)
			quote(words[i]);
		else
			printf("%s", words[i]);
	}
	if (!json && !n)
		printf("none");
	putchar(json ? ']' : '\n');
}

void out_done(void)
{
	if (json)
		putchar('\n');
	filled[0] = false;
	fflush(stdout);
}
