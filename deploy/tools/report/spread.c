/* spread.c -- Welford's recurrence, and numbers cut to the digits that mean something.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/report/spread.h"

#include <math.h>

void spread_add(struct spread *s, double x)
{
    double before = s->mean;

    if (s->n == 0)
        s->mean = s->sd = s->most = NAN;
    if (isnan(x))
        return;
    s->n++;
    s->most = fmax(s->most, x);
    s->mean = s->n == 1 ? x : before + (x - before) / (double)s->n;
    if (isinf(x) || isinf(before))
        s->mean = INFINITY;
    else if (s->n > 1)
        s->m2 += (x - before) * (x - s->mean);
    s->sd = s->n > 1 && isfinite(s->mean) ? sqrt(s->m2 / (double)(s->n - 1)) : NAN;
}

static const char *shown(struct pool *p, const struct spread *s, double unit, int digits,
                         const char *name)
{
    if (s->n == 0)
        return "";
    if (isinf(s->mean))
        return "inf";
    if (isnan(s->sd) || s->sd == 0)
        return pool_text(p, "%.*f%s", digits, s->mean / unit, name);
    return pool_text(p, "%.*f ± %.*f%s", digits, s->mean / unit, digits, s->sd / unit, name);
}

const char *spread_digits(struct pool *p, const struct spread *s, int digits)
{
    return shown(p, s, 1, digits, "");
}

/* Digits behind the point that leave three in all; none for counts that all agree in. */
static int digits_of(double x, double sd)
{
    if (!(sd > 0) && x == floor(x))
        return 0;
    return x >= 99.95 ? 0 : x >= 9.995 ? 1 : x >= 0.9995 ? 2 : 3;
}

const char *spread_short(struct pool *p, const struct spread *s)
{
    if (s->n > 0 && s->mean >= 99999.5 && isfinite(s->mean))
        return isnan(s->sd) || s->sd == 0 ? pool_text(p, "%.2e", s->mean)
                                          : pool_text(p, "%.2e ± %.1g", s->mean, s->sd);
    return shown(p, s, 1, digits_of(s->mean, s->sd), "");
}

const char *spread_bytes(struct pool *p, const struct spread *s)
{
    static const char *const name[] = {" B", " kB", " MB", " GB", " TB"};
    double unit = 1;
    size_t u = 0;

    for (; s->n > 0 && s->mean / unit >= 999.5 && u < 4; u++)
        unit *= 1000;
    return shown(p, s, unit, u == 0 ? 0 : digits_of(s->mean / unit, s->sd), name[u]);
}

const char *spread_ratio(struct pool *p, const struct spread *s, const struct spread *of)
{
    double ratio = s->n == 0 || of->n == 0 ? NAN : s->mean / of->mean;

    if (!isfinite(ratio) || ratio <= 0)
        return "";
    return ratio < 1 ? pool_text(p, "1/%.*f",
                                 ratio > 0.1    ? 2
                                 : ratio > 0.01 ? 1
                                                : 0,
                                 1 / ratio)
                     : pool_text(p, "%.*f",
                                 ratio < 10    ? 2
                                 : ratio < 100 ? 1
                                               : 0,
                                 ratio);
}
