/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The control connection: TCP, messages of lines "key value", an empty line ends
 * a message. It carries traffic secrets in the clear: a test tool's handshake.
 */
#ifndef QOFFPERF_CTRL_H
#define QOFFPERF_CTRL_H

#include "util.h"

#define CTRL_MSG_MAX	32768
#define CTRL_LINES_MAX	512

/**
 * struct msg - one message
 * @text: being written: the lines; received: keys and values, each terminated
 * @len: bytes of @text
 * @key: received: the keys
 * @value: received: their values
 * @n: received: how many
 */
struct msg {
	char text[CTRL_MSG_MAX];
	size_t len;
	const char *key[CTRL_LINES_MAX];
	const char *value[CTRL_LINES_MAX];
	unsigned int n;
};

struct ctrl {
	int fd;
	char buf[CTRL_MSG_MAX];
	size_t len;
};

void msg_init(struct msg *m, const char *type);
void __printf(3, 4) msg_add(struct msg *m, const char *key,
			    const char *fmt, ...);
int msg_parse(struct msg *m, const char *text, size_t len);
const char *msg_get(const struct msg *m, const char *key);
bool msg_is(const struct msg *m, const char *type);
int msg_get_u64(const struct msg *m, const char *key, u64 *val);
int msg_get_hex(const struct msg *m, const char *key, u8 *out, size_t len);

int ctrl_send(struct ctrl *c, struct msg *m);
int ctrl_poll(struct ctrl *c, struct msg *m);
int ctrl_recv(struct ctrl *c, struct msg *m, const char *type, u64 timeout_s);
void ctrl_close(struct ctrl *c);

#endif /* QOFFPERF_CTRL_H */
