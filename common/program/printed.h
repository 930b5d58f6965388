/* printed.h -- what the program of a bottom prints, as lines of this daemon's log that say so: a
 * limited number of bytes in a minute, whatever it prints.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMMON_PROGRAM_PRINTED_H
#define COLONNADE_COMMON_PROGRAM_PRINTED_H

#include <stddef.h>
#include <stdint.h>

enum { PRINTED_LINE_MAX = 900, PRINTED_MINUTE_MAX = 64 << 10 };

struct printed {
    char line[PRINTED_LINE_MAX + 1];
    size_t n;                 /* bytes of a line that has not ended */
    uint64_t minute;          /* since when */
    uint64_t shown, left_out; /* bytes in it, and since one was shown */
};

/* n bytes have come.  A line that is too long is several. */
void printed_take(struct printed *p, const char *bytes, size_t n, uint64_t now_us);
/* There are no more: the last line, and how much was left out. */
void printed_end(struct printed *p, uint64_t now_us);

#endif
