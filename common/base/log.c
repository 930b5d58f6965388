/* log.c -- log lines.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/log.h"

#include <stdio.h>
#include <time.h>

static const char *log_who = "vfl";
static enum log_level log_max = LOG_LEVEL_INFO;
static bool log_json;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_init(const char *who, enum log_level max, bool json)
{
    log_who = who;
    log_max = max;
    log_json = json;
}

/* Peers' words end up in log lines: control bytes and quotes are escaped as JSON wants them; the
 * plain form shows every byte outside printable ASCII as '?'. */
static void put_text(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++) {
        if (*c < 0x20 || *c == 0x7f)
            fputc('?', out);
        else if (log_json && (*c == '"' || *c == '\\'))
            fprintf(out, "\\%c", *c);
        else
            fputc(*c >= 0x80 && log_json ? '?' : *c, out);
    }
}

void log_write(enum log_level level, const char *fmt, ...)
{
    char text[1024], stamp[32];
    struct timespec now;
    struct tm utc;
    va_list args;

    if (level > log_max)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    flockfile(stderr);
    if (log_json)
        fprintf(stderr, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"who\":\"%s\",\"message\":\"",
                stamp, now.tv_nsec / 1000000, level_names[level], log_who);
    else
        fprintf(stderr, "%s.%03ldZ %s %s: ", stamp, now.tv_nsec / 1000000, log_who,
                level_names[level]);
    put_text(stderr, text);
    fputs(log_json ? "\"}\n" : "\n", stderr);
    funlockfile(stderr);
}
