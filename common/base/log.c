/* log.c -- log lines.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *log_who = "vfl";
static enum log_level log_max = LOG_LEVEL_INFO;
static bool log_json;
static FILE *log_other;
static size_t log_room; /* in it */

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_init(const char *who, enum log_level max, bool json)
{
    log_who = who;
    log_max = max;
    log_json = json;
}

void log_also(FILE *to)
{
    log_other = to;
    log_room = LOG_ALSO_MAX;
}

/* A line is put together here and written at once: daemons that share a terminal or a file do not
 * write into each other's lines. */
enum { LOG_TEXT_MAX = 1024, LOG_LINE_MAX = 3072 };

struct line {
    size_t len;
    char bytes[LOG_LINE_MAX];
};

static void put(struct line *l, const char *text)
{
    size_t n = strlen(text), room = sizeof l->bytes - l->len;

    n = n < room ? n : room;
    memcpy(l->bytes + l->len, text, n);
    l->len += n;
}

/* Peers' words end up in log lines: bytes outside printable ASCII become '?', and in JSON quotes
 * and backslashes are escaped. */
static void put_foreign(struct line *l, const char *text)
{
    for (; *text != 0; text++) {
        char one[3] = {*text, 0, 0};

        if (*text < 0x20 || *text >= 0x7f) {
            one[0] = '?';
        } else if (log_json && (*text == '"' || *text == '\\')) {
            one[0] = '\\';
            one[1] = *text;
        }
        put(l, one);
    }
}

static void put_time(struct line *l)
{
    struct timespec now;
    struct tm utc;
    char stamp[32], thousandths[8];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(thousandths, sizeof thousandths, ".%03dZ", (int)(now.tv_nsec / 1000000));
    put(l, stamp);
    put(l, thousandths);
}

void log_write(enum log_level level, const char *fmt, ...)
{
    char text[LOG_TEXT_MAX];
    struct line l = {.len = 0};
    va_list args;

    if (level > log_max)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put(&l, log_json ? "{\"time\":\"" : "");
    put_time(&l);
    put(&l, log_json ? "\",\"level\":\"" : " ");
    if (log_json) {
        put(&l, level_names[level]);
        put(&l, "\",\"who\":\"");
        put_foreign(&l, log_who);
    } else {
        put_foreign(&l, log_who);
        put(&l, " ");
        put(&l, level_names[level]);
    }
    put(&l, log_json ? "\",\"message\":\"" : ": ");
    put_foreign(&l, text);
    put(&l, log_json ? "\"}\n" : "\n");
    fwrite(l.bytes, 1, l.len, stderr);
    if (log_other == NULL || l.len > log_room)
        return;
    log_room -= l.len;
    fwrite(l.bytes, 1, l.len, log_other);
    fflush(log_other);
}

bool log_few_more(struct log_few *f, uint64_t now_us)
{
    uint64_t minute = now_us / 60000000;

    if (minute != f->minute) {
        if (f->left_out > 0)
            log_warn("%llu lines about %s were left out, so that they do not fill the log",
                     (unsigned long long)f->left_out, f->about == NULL ? "strangers" : f->about);
        *f = (struct log_few){.minute = minute, .about = f->about};
    }
    if (f->shown < LOG_FEW_MAX) {
        f->shown++;
        return true;
    }
    f->left_out++;
    return false;
}
