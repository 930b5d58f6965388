/* json_file.h -- a file of JSON that a run has written, for the tools that read it again.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_JSON_FILE_H
#define COLONNADE_METRICS_JSON_FILE_H

#include <jansson.h>
#include <stddef.h>

enum { JSON_FILE_MAX = 64 << 20 };

/* The document in `path`, a regular file of at most JSON_FILE_MAX bytes, with flags of jansson;
 * NULL when there is none, and *where (NULL: not asked for) says why.  The caller's to json_decref.
 */
json_t *json_file_load(const char *path, size_t flags, json_error_t *where);

#endif
