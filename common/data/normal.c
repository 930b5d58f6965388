/* normal.c -- trimming, folding and composing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/normal.h"

#include "common/crypto/secret.h"

#include <string.h>
#include <utf8proc.h>

enum { POINTS_MAX = NORMAL_OUT_MAX / 4 - 1 };

static utf8proc_option_t options_of(const struct normal_rule *rule)
{
    int o = UTF8PROC_STABLE;

    if (rule->form != NORMAL_BYTES)
        o |= UTF8PROC_COMPOSE;
    if (rule->form == NORMAL_NFKC)
        o |= UTF8PROC_COMPAT;
    if (rule->fold && rule->form != NORMAL_BYTES)
        o |= UTF8PROC_CASEFOLD;
    return (utf8proc_option_t)o;
}

static bool is_space(utf8proc_int32_t c)
{
    const utf8proc_category_t k = utf8proc_category(c);

    return k == UTF8PROC_CATEGORY_ZS || k == UTF8PROC_CATEGORY_ZL || k == UTF8PROC_CATEGORY_ZP ||
           (c >= 0x09 && c <= 0x0d);
}

/* From n points on the part that counts, and how long it is; false: there is what no id has. */
static bool choose(const utf8proc_int32_t *points, const struct normal_rule *rule, size_t *from,
                   size_t *n)
{
    while (rule->trim && *n > 0 && is_space(points[*from])) {
        ++*from;
        --*n;
    }
    while (rule->trim && *n > 0 && is_space(points[*from + *n - 1]))
        --*n;
    for (size_t i = *from; i < *from + *n; i++) {
        if (utf8proc_category(points[i]) == UTF8PROC_CATEGORY_CC)
            return false;
    }
    return true;
}

static void fold_ascii(utf8proc_int32_t *points, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (points[i] >= 'A' && points[i] <= 'Z')
            points[i] += 'a' - 'A';
    }
}

static size_t compose(uint8_t out[NORMAL_OUT_MAX], utf8proc_int32_t *points, size_t n,
                      const struct normal_rule *rule)
{
    utf8proc_ssize_t got;
    size_t from = 0;

    if (!choose(points, rule, &from, &n))
        return SIZE_MAX;
    if (rule->fold && rule->form == NORMAL_BYTES)
        fold_ascii(points + from, n);
    got = utf8proc_reencode(points + from, (utf8proc_ssize_t)n, options_of(rule));
    if (got < 0 || got > NORMAL_OUT_MAX)
        return SIZE_MAX;
    memcpy(out, points + from, (size_t)got);
    return (size_t)got;
}

/* Of at most NORMAL_OUT_MAX bytes. */
static size_t make(uint8_t out[NORMAL_OUT_MAX], const char *text, size_t n,
                   const struct normal_rule *rule)
{
    utf8proc_int32_t points[POINTS_MAX + 1];
    utf8proc_ssize_t got;
    size_t written;

    got = utf8proc_decompose((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, points,
                             POINTS_MAX, options_of(rule));
    written = got < 0 || got > POINTS_MAX ? SIZE_MAX : compose(out, points, (size_t)got, rule);
    secret_wipe(points, sizeof points);
    return written;
}

/* What is folded is composed before: an iota below a letter becomes one behind it, so marks that
 * stand in another order have to be in theirs by then. */
size_t normal_text(uint8_t out[NORMAL_OUT_MAX], const char *text, size_t n,
                   const struct normal_rule *rule)
{
    const struct normal_rule unfolded = {.trim = rule->trim, .form = rule->form};
    uint8_t composed[NORMAL_OUT_MAX];
    size_t got;

    if (n > NORMAL_TEXT_MAX)
        return SIZE_MAX;
    if (!rule->fold || rule->form == NORMAL_BYTES)
        return make(out, text, n, rule);
    got = make(composed, text, n, &unfolded);
    if (got != SIZE_MAX)
        got = make(out, (const char *)composed, got, rule);
    secret_wipe(composed, sizeof composed);
    return got;
}
