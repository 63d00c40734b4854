/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One writer for text and JSON: a command says what it has, --json decides how it
 * looks. Text is "key: value", a line each, indented by depth.
 */
#ifndef QOFFCTL_OUT_H
#define QOFFCTL_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* To be set once, before anything is written. */
void out_json(bool on);
bool out_is_json(void);

/* @key NULL: an element of an array. In text, @title is the line above. */
void out_obj(const char *key, const char *title);
void out_obj_end(void);
/* In text an array of objects has no line of its own. */
void out_arr(const char *key);
void out_arr_end(void);

void out_str(const char *key, const char *value);
void out_u64(const char *key, uint64_t value);
/* on or off in text, true or false in JSON; @note follows in text, or NULL */
void out_switch(const char *key, bool on, const char *note);
/* Words: a list in text, an array of strings in JSON. */
void out_words(const char *key, const char *const *words, size_t n);

/* Ends the document (JSON: with a line feed). */
void out_done(void);

#endif /* QOFFCTL_OUT_H */
