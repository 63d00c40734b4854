// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The command line side of the control socket. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl.h"

/* key=value words into JSON; a value that is not a number is a string. */
static int build_request(int argc, char **argv, char *out, size_t room)
{
	size_t n = snprintf(out, room, "{\"cmd\":\"%s\"", argv[0]);
	int i;

	for (i = 1; i < argc; i++) {
		char *eq = strchr(argv[i], '='), *end;
		bool number;

		if (!eq || strpbrk(argv[i], "\"\\") || n >= room)
			return -1;
		strtod(eq + 1, &end);
		number = eq[1] && !*end;
		n += snprintf(out + n, room - n, ",\"%.*s\":%s%s%s",
			      (int)(eq - argv[i]), argv[i], number ? "" : "\"",
			      eq + 1, number ? "" : "\"");
	}
	if (n + 2 >= room)
		return -1;
	snprintf(out + n, room - n, "}");
	return 0;
}

static int request(const char *path, const char *line)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char buf[NM_CTL_LINE];
	size_t got = 0;
	ssize_t n;

	if (fd < 0 || strlen(path) >= sizeof(sa.sun_path))
		return 1;
	strcpy(sa.sun_path, path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		perror(path);
		close(fd);
		return 1;
	}
	n = strlen(line);
	if (write(fd, line, n) != n || write(fd, "\n", 1) != 1)
		n = 0;
	while (n > 0 && got < sizeof(buf) - 1 && !memchr(buf, '\n', got)) {
		n = read(fd, buf + got, sizeof(buf) - 1 - got);
		if (n > 0)
			got += n;
	}
	close(fd);
	buf[got] = 0;
	fputs(buf, stdout);
	return strstr(buf, "\"ok\":true") ? 0 : 1;
}

int nm_ctl_main(int argc, char **argv)
{
	char line[NM_CTL_LINE];

	if (argc < 2) {
		fprintf(stderr, "usage: nicmodel ctl SOCKET CMD [KEY=VALUE]... | {JSON}\n");
		return 2;
	}
	if (argv[1][0] == '{')
		return request(argv[0], argv[1]);
	if (build_request(argc - 1, argv + 1, line, sizeof(line))) {
		fprintf(stderr, "nicmodel ctl: cannot read the arguments\n");
		return 2;
	}
	return request(argv[0], line);
}
