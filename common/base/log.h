/* log.h -- one line per event, for people or (with --log-json) one JSON object per line, on stderr.
 *
 * Never logged: keys, masks, shares, embeddings, gradients, features, labels, or hashes of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_LOG_H
#define COLONNADE_BASE_LOG_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* `who` (kept by reference) names the daemon in each line.  Default: INFO, for people. */
void log_init(const char *who, enum log_level max, bool json);
/* Lines go to this file as well, LOG_ALSO_MAX bytes at most; NULL: no more.  It stays the caller's,
 * and no other thread logs meanwhile. */
enum { LOG_ALSO_MAX = 1 << 20 };
void log_also(FILE *to);
void log_write(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* For lines that anybody can cause: LOG_FEW_MAX of them in a minute.  False: this one is too many.
 * The first one of a later minute is preceded by a line that says how many were. */
enum { LOG_FEW_MAX = 100 };
struct log_few {
    uint64_t minute, shown, left_out;
    const char *about; /* whom, kept by reference; NULL: strangers */
};
bool log_few_more(struct log_few *f, uint64_t now_us) MUST_USE;

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
