/* status.c -- the status table and error texts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/status.h"

#include <stdio.h>
#include <string.h>

static const struct {
    enum status_kind kind;
    const char *words;
} status_table[] = {
#define X(name, kind, words) [STATUS_##name] = {STATUS_KIND_##kind, words},
    STATUS_LIST(X)
#undef X
};

enum status_kind status_kind(enum status s)
{
    return status_table[s].kind;
}

const char *status_words(enum status s)
{
    return status_table[s].words;
}

int status_exit_code(enum status s)
{
    switch (status_kind(s)) {
    case STATUS_KIND_NONE: return 0;
    case STATUS_KIND_CONFIG: return 2;
    case STATUS_KIND_PEER: return 3;
    case STATUS_KIND_NET: return 4;
    case STATUS_KIND_POLICY: return 5;
    case STATUS_KIND_LOCAL: return 6;
    }
    return 6;
}

enum status error_set(struct error *err, enum status s, const char *fmt, ...)
{
    if (err != NULL) {
        va_list args;
        err->status = s;
        va_start(args, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, args);
        va_end(args);
    }
    return s;
}

enum status error_wrap(struct error *err, const char *fmt, ...)
{
    char old[ERROR_TEXT_MAX];
    va_list args;
    int n;

    if (err == NULL)
        return STATUS_OK;
    memcpy(old, err->text, sizeof old);
    va_start(args, fmt);
    n = vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n + 2 < sizeof err->text) {
        char *end = err->text + n;
        size_t room = sizeof err->text - (size_t)n - 3, kept = strnlen(old, room);

        memcpy(end, ": ", 2);
        memcpy(end + 2, old, kept);
        end[2 + kept] = 0;
    }
    return err->status;
}
