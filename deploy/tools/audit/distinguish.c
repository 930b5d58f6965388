/* distinguish.c -- one number for each canary, the best threshold, and the claims beside it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/distinguish.h"

#include "common/base/mem.h"
#include "deploy/tools/audit/bound.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is seen of the target in row r, larger the farther it is from everybody: in clear its own
 * upload, otherwise the mean of the row's sums. */
static double statistic(const struct seen *s, size_t r)
{
    const uint32_t width = s->plan.model.embedding;
    double sum = 0;

    for (uint32_t k = 0; k < width; k++)
        sum += s->upload != NULL ? (double)s->upload[r * width + k]
                                 : s->sum[r * s->inputs + k] / s->times[r];
    return -sum;
}

/* What was seen of the canaries on either side of the coin. */
struct sides {
    double *d, *d_prime;
    size_t n, m;
};

static enum status collect(const struct seen *s, const struct table *canaries, struct sides *to,
                           struct error *err)
{
    if (canaries->rows != s->plan.shape.train_rows || canaries->cols < 1)
        return error_set(err, STATUS_DATA, "%zu canaries, and the plan has %u training rows",
                         canaries->rows, s->plan.shape.train_rows);
    for (size_t r = 0; r < canaries->rows; r++) {
        if (s->times[r] == 0)
            continue;
        if (canaries->x[r * canaries->cols] > 0)
            to->d[to->n++] = statistic(s, r);
        else
            to->d_prime[to->m++] = statistic(s, r);
    }
    return STATUS_OK;
}

static const char *word_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text == NULL ? "?" : text;
}

/* Who helps the server sees at least what the server sees. */
static bool sees_the_sums(const json_t *claim)
{
    return strcmp(word_of(claim, "adversary"), "party") != 0;
}

/* False: none was there for one record. */
static bool print_claims(const json_t *claims, double bound, bool *broken)
{
    bool record = false;
    json_t *claim;
    size_t i;

    printf("%-12s %-14s %6s %12s %12s\n", "adversary", "adjacency", "m_eff", "claimed", "at least");
    json_array_foreach(claims, i, claim)
    {
        const json_t *epsilon = json_object_get(claim, "epsilon");
        const double claimed = epsilon == NULL ? INFINITY : json_number_value(epsilon);
        const bool over = bound > claimed;

        if (!sees_the_sums(claim))
            continue;
        printf("%-12s %-14s %6lld %12.4g %12.4g  %s\n", word_of(claim, "adversary"),
               word_of(claim, "adjacency"), json_integer_value(json_object_get(claim, "m_eff")),
               claimed, bound, over ? "BROKEN" : "holds");
        *broken |= over;
        record |= strncmp(word_of(claim, "adjacency"), "record_", 7) == 0;
    }
    return record;
}

enum status distinguish(const struct seen *s, const struct table *canaries, const json_t *summary,
                        bool *broken, struct error *err)
{
    const json_t *privacy = json_object_get(summary, "privacy");
    const size_t rows = s->plan.shape.train_rows;
    struct sides c = {mem_alloc(rows, sizeof *c.d), mem_alloc(rows, sizeof *c.d_prime), 0, 0};
    enum status st = c.d == NULL || c.d_prime == NULL
                         ? error_set(err, STATUS_MEMORY, "no memory for %zu canaries", rows)
                         : STATUS_OK;
    struct bound_test t;

    if (st == STATUS_OK)
        st = collect(s, canaries, &c, err);
    if (st == STATUS_OK && (c.n < 20 || c.m < 20))
        st = error_set(err, STATUS_DATA, "%zu and %zu canaries of a side were released, too few",
                       c.n, c.m);
    if (st == STATUS_OK) {
        t = bound_by_threshold(c.d, c.n, c.d_prime, c.m, s->plan.privacy.delta);
        printf("canaries  %zu and %zu judged, %zu taken for the other side, %zu missed\n", t.n, t.m,
               t.false_hits, t.misses);
        *broken = false;
        if (!print_claims(json_object_get(privacy, "claims"), t.epsilon, broken))
            st = error_set(err, STATUS_DATA, "the summary claims nothing for a record");
    }
    mem_free(c.d);
    mem_free(c.d_prime);
    return st;
}
