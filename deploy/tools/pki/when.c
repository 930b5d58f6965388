/* when.c -- dates without a locale.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { YEAR_FIRST = 1970, YEAR_LAST = 9999, COUNT_DIGITS = 6, UTC_TIME_YEARS = 2050 };

/* n digits as a number; false when they are none. */
static bool digits(int *out, const char **at, size_t n)
{
    *out = 0;
    for (size_t i = 0; i < n; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

/* timegm takes February 30 for March 2; here it is no date. */
static bool moment(int64_t *out, struct tm *tm)
{
    const struct tm asked = *tm;

    *out = (int64_t)timegm(tm);
    return tm->tm_year == asked.tm_year && tm->tm_mon == asked.tm_mon &&
           tm->tm_mday == asked.tm_mday && tm->tm_hour == asked.tm_hour &&
           tm->tm_min == asked.tm_min && tm->tm_sec == asked.tm_sec &&
           tm->tm_year >= YEAR_FIRST - 1900 && tm->tm_year <= YEAR_LAST - 1900;
}

static bool read_date(int64_t *out, const char *at)
{
    struct tm tm = {0};
    int year, month;

    if (!digits(&year, &at, 4) || *at++ != '-' || !digits(&month, &at, 2) || *at++ != '-' ||
        !digits(&tm.tm_mday, &at, 2))
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    if (*at == ' ' || *at == 'T') {
        at++;
        if (!digits(&tm.tm_hour, &at, 2) || *at++ != ':' || !digits(&tm.tm_min, &at, 2))
            return false;
        if (*at == ':') {
            at++;
            if (!digits(&tm.tm_sec, &at, 2))
                return false;
        }
    }
    if (*at == 'Z')
        at++;
    return *at == 0 && moment(out, &tm);
}

static bool read_distance(int64_t *out, const char *text, int64_t now)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {
        {"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 7 * 86400}};
    const size_t n = strspn(text, "0123456789");
    int64_t count;

    if (n == 0 || n > COUNT_DIGITS || text[n] != ' ')
        return false;
    count = strtol(text, NULL, 10);
    text += n + 1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t length = strlen(units[i].name);
        const char *rest = text + length;

        if (strncmp(text, units[i].name, length) != 0)
            continue;
        if (*rest == 's')
            rest++;
        *out = now + (strcmp(rest, " ago") == 0 ? -count : count) * units[i].seconds;
        return (*rest == 0 || strcmp(rest, " ago") == 0) && *out >= 0;
    }
    return false;
}

bool when_read(int64_t *out, const char *text, int64_t now)
{
    if (strcmp(text, "now") == 0) {
        *out = now;
        return true;
    }
    return read_distance(out, text, now) || read_date(out, text);
}

static struct tm parts_of(int64_t when)
{
    const time_t t = (time_t)when;
    struct tm tm = {0};

    gmtime_r(&t, &tm);
    return tm;
}

void when_index(char out[WHEN_INDEX_CHARS + 1], int64_t when)
{
    const struct tm tm = parts_of(when);

    char whole[WHEN_INDEX_CHARS + 1] = "";

    strftime(whole, sizeof whole, "%Y%m%d%H%M%SZ", &tm);
    snprintf(out, WHEN_INDEX_CHARS + 1, "%s", whole + (tm.tm_year + 1900 < UTC_TIME_YEARS ? 2 : 0));
}

bool when_from_index(int64_t *out, const char *text)
{
    const size_t n = strspn(text, "0123456789");
    struct tm tm = {0};
    int year, month;

    if ((n != 12 && n != 14) || text[n] != 'Z' || !digits(&year, &text, n - 10) ||
        !digits(&month, &text, 2) || !digits(&tm.tm_mday, &text, 2) ||
        !digits(&tm.tm_hour, &text, 2) || !digits(&tm.tm_min, &text, 2) ||
        !digits(&tm.tm_sec, &text, 2))
        return false;
    tm.tm_year = n == 14 ? year - 1900 : year < UTC_TIME_YEARS - 2000 ? year + 100 : year;
    tm.tm_mon = month - 1;
    return moment(out, &tm);
}

void when_show(char out[WHEN_SHOWN_CHARS + 1], int64_t when)
{
    const struct tm tm = parts_of(when);

    out[0] = 0;
    strftime(out, WHEN_SHOWN_CHARS + 1, "%Y-%m-%d %H:%M:%S UTC", &tm);
}
