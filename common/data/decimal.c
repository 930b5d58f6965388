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

#include "common/base/bytes8.h"
#include "common/base/check.h"

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POWER_MAX = 22, EXPONENT_MAX = 100000 };
static const uint64_t DIGITS_EXACT = UINT64_C(1) << 53;
static const uint64_t DIGITS_ROOM = (DIGITS_EXACT - 9) / 10; /* one more digit stays exact */

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

/* digits * 10^exponent; false where its double stands between two floats. */
static bool from_digits(uint64_t digits, int exponent, bool minus, float *out)
{
    /* 1e-22 <= value < 2^53 * 1e22 or 0: always a normal float, where
     * the half-way test is right. */
    const double value =
        exponent < 0 ? (double)digits / POWER[-exponent] : (double)digits * POWER[exponent];
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    *out = (float)(minus ? -value : value);
    return (bits & BELOW_FLOAT) != HALF_WAY;
}

const char *decimal_scan(const char *text, float *out)
{
    struct parsed d = {.exact = true};
    const char *end = scan(text, &d);

    if (end == NULL)
        return NULL;
    if (!d.exact || d.exponent < -POWER_MAX || d.exponent > POWER_MAX) {
        *out = from_text(text, end);
        return end;
    }
    if (!from_digits(d.digits, d.exponent, d.minus, out))
        *out = from_text(text, end);
    return end;
}

/* --- short numbers, without a branch for each digit --- */

enum { NO_POINT = DECIMAL_SHORT };

static const uint64_t EIGHT_DIGITS = 100000000;

/* Takes the first point out of eight bytes; those before it move up, behind `carry`.  Returns how
 * many bytes stood behind it. */
static unsigned take_point(uint64_t *w, uint64_t carry)
{
    const uint64_t points = bytes8_equal(*w, '.');
    unsigned at;
    uint64_t before;

    if (points == 0)
        return NO_POINT;
    at = bytes8_first(points);
    before = ((uint64_t)1 << (8 * at)) - 1;
    *w = (*w & ~(before << 8 | 0xff)) | (*w & before) << 8 | carry;
    return BYTES8 - 1 - at;
}

/* The first n bytes, 1 <= n <= 8, behind zeros that fill them up to eight. */
static uint64_t fill(const char *text, unsigned n)
{
    return bytes8_load(text) << (8 * (BYTES8 - n)) | (bytes8_of('0') >> 8) >> (8 * (n - 1));
}

/* Digits and at most one point, 1 <= n <= DECIMAL_SHORT bytes of them. */
static bool read_short(const char *text, size_t n, bool minus, float *out)
{
    uint64_t last, first = bytes8_of('0'), digits;
    unsigned decimals;

    if (n <= BYTES8) {
        last = fill(text, (unsigned)n);
        decimals = take_point(&last, '0');
    } else {
        last = bytes8_load(text + n - BYTES8);
        first = fill(text, (unsigned)n - BYTES8);
        decimals = take_point(&last, first >> 56);
        if (decimals != NO_POINT)
            first = first << 8 | '0';
        else if ((decimals = take_point(&first, '0')) != NO_POINT)
            decimals += BYTES8;
    }
    if (!bytes8_digits(last) || !bytes8_digits(first) || (n == 1 && decimals == 0))
        return false;
    digits = bytes8_number(first) * EIGHT_DIGITS + bytes8_number(last);
    decimals = decimals == NO_POINT ? 0 : decimals;
    return digits <= DIGITS_EXACT && from_digits(digits, -(int)decimals, minus, out);
}

bool decimal_read(const char *text, size_t n, float *out)
{
    const size_t sign = *text == '-';

    if (n > sign && n <= DECIMAL_SHORT && read_short(text + sign, n - sign, sign != 0, out))
        return true;
    return decimal_scan(text, out) == text + n;
}
