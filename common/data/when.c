/* when.c -- the calendar.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/when.h"

#include <math.h>

enum { MONTHS = 12, MINUTE = 60, DAY = 86400 };

/* `digits` digits at *at, which moves behind them. */
static bool scan_number(const char **at, const char *stop, int digits, int *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++, ++*at) {
        if (*at == stop || **at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool scan_char(const char **at, const char *stop, char c)
{
    if (*at == stop || **at != c)
        return false;
    ++*at;
    return true;
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days from 2000-01-01; false: there is no such day. */
static bool day_number(int year, int month, int day, int *out)
{
    static const int length[MONTHS] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int before = year - 1;

    if (year < 1 || month < 1 || month > MONTHS || day < 1 ||
        day > length[month - 1] + (month == 2 && is_leap(year)))
        return false;
    /* 730119 days lie between 0001-01-01 and 2000-01-01. */
    *out = before * 365 + before / 4 - before / 100 + before / 400 - 730119 + day - 1;
    for (int m = 1; m < month; m++)
        *out += length[m - 1] + (m == 2 && is_leap(year));
    return true;
}

static bool scan_clock(const char **at, const char *stop, int *seconds, double *part)
{
    int hour, minute, second = 0;
    double unit = 0.1;

    if (!scan_number(at, stop, 2, &hour) || !scan_char(at, stop, ':') ||
        !scan_number(at, stop, 2, &minute))
        return false;
    if (scan_char(at, stop, ':')) {
        if (!scan_number(at, stop, 2, &second))
            return false;
        if (scan_char(at, stop, '.'))
            for (; *at < stop && **at >= '0' && **at <= '9'; ++*at, unit /= 10)
                *part += unit * (**at - '0');
    }
    *seconds = (hour * 60 + minute) * MINUTE + second;
    return hour < 24 && minute < 60 && second <= 60;
}

/* Minutes to take off: nothing, Z, +HH:MM, +HHMM or +HH. */
static bool scan_zone(const char **at, const char *stop, int *minutes)
{
    int hour, minute = 0, sign;

    *minutes = 0;
    if (*at == stop || scan_char(at, stop, 'Z'))
        return true;
    sign = **at == '-' ? -1 : 1;
    if ((**at != '+' && **at != '-') || (++*at, !scan_number(at, stop, 2, &hour)))
        return false;
    scan_char(at, stop, ':');
    if (*at < stop && !scan_number(at, stop, 2, &minute))
        return false;
    *minutes = sign * (hour * 60 + minute);
    return hour <= 14 && minute < 60;
}

bool when_scan_seconds(const char *text, size_t n, double *seconds)
{
    const char *at = text, *stop = text + n;
    int year, month, day, number, clock = 0, zone = 0;
    double part = 0;

    if (!scan_number(&at, stop, 4, &year) || !scan_char(&at, stop, '-') ||
        !scan_number(&at, stop, 2, &month) || !scan_char(&at, stop, '-') ||
        !scan_number(&at, stop, 2, &day) || !day_number(year, month, day, &number))
        return false;
    if (at < stop) {
        if (*at != 'T' && *at != ' ')
            return false;
        at++;
        if (!scan_clock(&at, stop, &clock, &part) || !scan_zone(&at, stop, &zone))
            return false;
    }
    *seconds = (double)number * DAY + (clock - zone * MINUTE) + part;
    return at == stop;
}

bool when_scan(const char *text, size_t n, float *days)
{
    double seconds;

    if (!when_scan_seconds(text, n, &seconds))
        return false;
    *days = (float)(seconds / DAY);
    return true;
}

/* Of day 0 = 2000-01-01, in the calendar that day_number knows: eras of 400 years that begin in
 * March, so that a leap day is the last of its year. */
void when_take_apart(struct when_parts *p, float days)
{
    enum { ERA = 146097, FROM_MARCH_0 = 730425, WEEKDAY_0 = 2 };
    const double behind = 0.03; /* hours that a float of days may be short of what it stands for */
    const double cut = fmin(fmax((double)days, -FROM_MARCH_0), 20.0 * ERA);
    const double whole = floor(cut + behind / 24);
    const long n = (long)whole + FROM_MARCH_0;
    const long era = n / ERA, in_era = n % ERA;
    const long year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    const long in_year = in_era - (365 * year + year / 4 - year / 100);
    const long month = (5 * in_year + 2) / 153; /* 0: March */
    const long weekday = (n + WEEKDAY_0) % 7;

    p->part[0] = days;
    p->part[1] = (float)(year + era * 400 + (month >= 10));
    p->part[2] = (float)(month < 10 ? month + 3 : month - 9);
    p->part[3] = (float)(in_year - (153 * month + 2) / 5 + 1);
    p->part[4] = (float)weekday;
    p->part[5] = (float)fmax(floor((cut - whole) * 24 + behind), 0);
}
