/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The server's requests: files of one directory, and uploads that are hashed.
 */
#ifndef H3_FILES_H
#define H3_FILES_H

#include <nghttp3/nghttp3.h>
#include <stdint.h>

/**
 * struct files_totals - what was served
 * @requests: requests
 * @errors: of them, answered with a status of 400 or above
 * @bytes: of bodies sent
 * @uploaded: bytes of bodies received
 */
struct files_totals {
	uint64_t requests;
	uint64_t errors;
	uint64_t bytes;
	uint64_t uploaded;
};

extern struct files_totals files_totals;

/* Dies when @dir cannot be served. */
void files_open(const char *dir);
void files_callbacks(nghttp3_callbacks *cb);

#endif /* H3_FILES_H */
