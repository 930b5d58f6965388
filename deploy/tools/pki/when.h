/* when.h -- points in time on the command line and in the CA's index.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_WHEN_H
#define COLONNADE_DEPLOY_PKI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

enum { WHEN_INDEX_CHARS = 15, WHEN_SHOWN_CHARS = 23 };

/* 'now', 'N UNIT' and 'N UNIT ago' (second, minute, hour, day, week, with or without s), 'YYYY-MM-
 * DD' and 'YYYY-MM-DD HH:MM[:SS]' (or T between them, Z behind), UTC.  False: none of these, or
 * before 1970 or after 9999. */
bool when_read(int64_t *out, const char *text, int64_t now);

/* As `openssl ca` writes its index: YYMMDDHHMMSSZ up to 2049, YYYYMMDDHHMMSSZ from then on. */
void when_index(char out[WHEN_INDEX_CHARS + 1], int64_t when);
bool when_from_index(int64_t *out, const char *text);
/* 2026-11-22 19:40:00 UTC */
void when_show(char out[WHEN_SHOWN_CHARS + 1], int64_t when);

#endif
