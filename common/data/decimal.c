/* decimal.c -- decimal to float: one exact division in the common case, strtof otherwise.
 *
 * Up to 2^53 the digits, and up to 10^22 the power of ten, are exact doubles, so one multiplication
 * or division gives the correctly rounded double (Clinger, "How to read floating point numbers
 * accurately", PLDI 1990).  Rounding that once more to float gives the float nearest to the
 * decimal, unless the double fell precisely half-way between two floats and its own rounding may
 * have hidden on which side it came from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/decimal.h"

#include "common/base/check.h"

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POWER_MAX = 22, EXPONENT_MAX = 100000 };
static const uint64_t DIGITS_ROOM = ((UINT64_C(1) << 53) - 9) / 10; /* one more digit stays exact */

/* A double has 29 more mantissa bits than a float: 1 and 28 zeros is half-way. */
static const uint64_t BELOW_FLOAT = (UINT64_C(1) << 29) - 1;
static const uint64_t HALF_WAY = UINT64_C(1) << 28;

static const double POWER[POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

struct parsed {
    uint64_t digits;
    int exponent; /* the value is digits * 10^exponent, when exact */
    bool minus, exact;
};

/* Each digit taken moves the exponent by `step`: 0 before the point, -1 behind it. */
static const char *scan_digits(const char *p, struct parsed *d, int step)
{
    for (; *p >= '0' && *p <= '9'; p++) {
        if (d->digits > DIGITS_ROOM) {
            d->exact = false;
            continue;
        }
        d->digits = d->digits * 10 + (uint64_t)(*p - '0');
        d->exponent += step;
    }
    return p;
}

/* `p` is behind the e.  NULL when no digit follows. */
static const char *scan_exponent(const char *p, struct parsed *d)
{
    bool minus = *p == '-';
    const char *first;
    int e = 0;

    if (*p == '-' || *p == '+')
        p++;
    for (first = p; *p >= '0' && *p <= '9'; p++) {
        if (e < EXPONENT_MAX)
            e = e * 10 + (*p - '0');
    }
    d->exponent += minus ? -e : e;
    return p == first ? NULL : p;
}

static const char *scan(const char *p, struct parsed *d)
{
    const char *first, *behind;
    bool any;

    d->minus = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    first = p;
    p = scan_digits(p, d, 0);
    any = p > first;
    if (*p == '.') {
        behind = scan_digits(p + 1, d, -1);
        any = any || behind > p + 1;
        p = behind;
    }
    if (!any)
        return NULL;
    return *p == 'e' || *p == 'E' ? scan_exponent(p + 1, d) : p;
}

static float from_text(const char *text, const char *end)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *stop;
    float value;

    CHECK(c != (locale_t)0);
    value = strtof_l(text, &stop, c);
    freelocale(c);
    CHECK(stop == end);
    return value;
}

const char *decimal_scan(const char *text, float *out)
{
    struct parsed d = {.exact = true};
    const char *end = scan(text, &d);
    double value;
    uint64_t bits;

    if (end == NULL)
        return NULL;
    if (!d.exact || d.exponent < -POWER_MAX || d.exponent > POWER_MAX) {
        *out = from_text(text, end);
        return end;
    }
    /* 1e-22 <= value < 2^53 * 1e22 or 0: always a normal float, where
     * the half-way test is right. */
    value = d.exponent < 0 ? (double)d.digits / POWER[-d.exponent]
                           : (double)d.digits * POWER[d.exponent];
    memcpy(&bits, &value, sizeof bits);
    if ((bits & BELOW_FLOAT) == HALF_WAY)
        *out = from_text(text, end);
    else
        *out = (float)(d.minus ? -value : value);
    return end;
}
