/* printed.c -- lines with a prefix, so that none looks like one of this daemon's.
 *
 * Nothing waits for whoever reads the log: what it has no room for is left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/printed.h"

#include "common/base/log.h"

#include <poll.h>
#include <unistd.h>

static bool log_has_room(void)
{
    struct pollfd log = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&log, 1, 0) == 1 && (log.revents & POLLOUT) != 0;
}

static void say_left_out(struct printed *p)
{
    if (p->left_out > 0)
        log_warn("program: %llu bytes of what it has printed were left out",
                 (unsigned long long)p->left_out);
    p->left_out = 0;
}

static void end_line(struct printed *p, uint64_t now_us)
{
    const uint64_t minute = now_us / 60000000;

    p->line[p->n] = 0;
    if (minute != p->minute)
        p->shown = 0;
    p->minute = minute;
    if (p->shown + p->n > PRINTED_MINUTE_MAX || !log_has_room()) {
        p->left_out += p->n;
    } else {
        say_left_out(p);
        log_info("program: %s", p->line);
        p->shown += p->n + 1;
    }
    p->n = 0;
}

void printed_take(struct printed *p, const char *bytes, size_t n, uint64_t now_us)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n' || p->n == PRINTED_LINE_MAX)
            end_line(p, now_us);
        if (bytes[i] != '\n')
            p->line[p->n++] = bytes[i] != 0 ? bytes[i] : '?';
    }
}

void printed_end(struct printed *p, uint64_t now_us)
{
    if (p->n > 0)
        end_line(p, now_us);
    if (log_has_room())
        say_left_out(p);
}
