/* number.c -- strict reading and shortest writing of numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/number.h"

#include "common/base/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Doubles up to here hold every whole number, so these are printed without an exponent. */
#define NUMBER_EXACT 1e15

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool number_whole(uint64_t *out, const char *text)
{
    uint64_t v = 0;

    if (!is_digit(text[0]) || (text[0] == '0' && text[1] != 0))
        return false;
    for (const char *c = text; *c != 0; c++) {
        uint64_t digit = (uint64_t)(*c - '0');

        if (!is_digit(*c) || v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return true;
}

static const char *skip_digits(const char *c)
{
    while (is_digit(*c))
        c++;
    return c;
}

/* The grammar of number_real, without the question whether the value is finite. */
static bool is_real(const char *text)
{
    const char *c = text[0] == '-' ? text + 1 : text;

    if (!is_digit(c[0]) || (c[0] == '0' && is_digit(c[1])))
        return false;
    c = skip_digits(c);
    if (*c == '.') {
        if (!is_digit(c[1]))
            return false;
        c = skip_digits(c + 1);
    }
    if (*c == 'e' || *c == 'E') {
        c += c[1] == '+' || c[1] == '-' ? 2 : 1;
        if (!is_digit(*c))
            return false;
        c = skip_digits(c);
    }
    return *c == 0;
}

bool number_real(double *out, const char *text)
{
    double v;

    if (!is_real(text))
        return false;
    v = strtod(text, NULL);
    if (!isfinite(v))
        return false;
    *out = v + 0.0; /* -0 + 0 is 0 */
    return true;
}

/* 1e-05 -> 1e-5, 1e+20 -> 1e20. */
static void shorten_exponent(char *text)
{
    char *to = strchr(text, 'e'), *from;

    if (to == NULL)
        return;
    from = ++to;
    if (*from == '-')
        to++;
    from++; /* printf always writes the exponent's sign */
    while (*from == '0' && from[1] != 0)
        from++;
    memmove(to, from, strlen(from) + 1);
}

void number_print(char out[NUMBER_TEXT_MAX], double v)
{
    CHECK(isfinite(v));
    if (fabs(v) < NUMBER_EXACT && floor(v) == v) {
        snprintf(out, NUMBER_TEXT_MAX, "%.0f", v + 0.0);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(out, NUMBER_TEXT_MAX, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            break;
    }
    shorten_exponent(out);
}
