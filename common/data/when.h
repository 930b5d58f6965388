/* when.h -- dates and times as days.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_WHEN_H
#define COLONNADE_DATA_WHEN_H

#include <stdbool.h>
#include <stddef.h>

/* YYYY-MM-DD, and behind it T or a space, HH:MM, :SS, a fraction of the second, and Z or +HH:MM,
 * each of which may be missing (ISO 8601): days since 2000-01-01 00:00, of the calendar as it is
 * now.  A zone is taken into account, a missing one is none.  False: the text is no such time. */
bool when_scan(const char *text, size_t n, float *days);
/* The same in seconds, as exactly as a double has them: for comparing times. */
bool when_scan_seconds(const char *text, size_t n, double *seconds);

/* Days, year, month from 1, day from 1, weekday from 0 (Monday), hour: in the order of schema.h.  A
 * float of days has a minute or two; the hour is that of the nearest such time behind it. */
enum { WHEN_PARTS = 6 };
struct when_parts {
    float part[WHEN_PARTS];
};
void when_take_apart(struct when_parts *p, float days);

#endif
