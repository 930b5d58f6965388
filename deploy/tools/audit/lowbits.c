/* lowbits.c -- kinds of values, and what a side's share of each tells.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/lowbits.h"

#include "common/base/mem.h"

#include <math.h>
#include <string.h>

enum {
    EXPONENTS = 64, /* 2^-32 .. 2^31, all others with the nearest */
    PLACES = 4,
    BITS = 25, /* of a float32's significand, and one for none */
    CELLS = 2 * EXPONENTS * PLACES * BITS,
    REACHES = 4, /* from both sides, one of them, none */
    TELLING = 8  /* values in a cell, below which it says nothing */
};

struct cells {
    uint32_t in[2][CELLS]; /* by side: D, D' */
    uint32_t reached[2][REACHES];
    float at[2]; /* the sums of both sides, noise left out */
};

/* A released value is a float32. */
static size_t cell_of(double value)
{
    const float y = (float)value;
    uint32_t bits, significand, low = BITS - 1;
    int exponent;

    memcpy(&bits, &y, sizeof bits);
    significand = bits & 0x7fffff;
    exponent = (int)(bits >> 23 & 0xff) - 127 + EXPONENTS / 2;
    exponent = exponent < 0 ? 0 : exponent >= EXPONENTS ? EXPONENTS - 1 : exponent;
    for (uint32_t i = 0; i < 23 && low == BITS - 1; i++)
        low = significand >> i & 1 ? i : low;
    return ((((size_t)(bits >> 31) * EXPONENTS + (size_t)exponent) * PLACES + (significand >> 21)) *
            BITS) +
           low;
}

/* Is there a float32 n with x + n = y, as float32 are added? */
static bool reachable(float x, float y)
{
    const float n = y - x;

    return x + n == y || x + nextafterf(n, INFINITY) == y || x + nextafterf(n, -INFINITY) == y;
}

static size_t reach_of(const struct cells *c, double value)
{
    const float y = (float)value;

    return (reachable(c->at[0], y) ? 1u : 0u) | (reachable(c->at[1], y) ? 2u : 0u);
}

/* The canary's side of the coin: that of the only value in its row; -1: not released once. */
static int side_of(const struct view_of *of, size_t row)
{
    const struct table *t = of->canaries;

    if (of->seen->times[row] != 1)
        return -1;
    for (size_t c = 0; c < t->cols; c++) {
        if (t->x[row * t->cols + c] != 0)
            return t->x[row * t->cols + c] < 0;
    }
    return -1;
}

static double ratio(double d, double d_prime, const size_t half[2])
{
    if (d + d_prime < TELLING)
        return 0;
    return log((d_prime + 0.5) / ((double)half[1] + 1)) - log((d + 0.5) / ((double)half[0] + 1));
}

enum by { BY_REACH, BY_CELL, BY_BOTH, WAYS };

static double score_of(const struct cells *c, double value, const size_t half[2], enum by by)
{
    const size_t cell = cell_of(value), reach = reach_of(c, value);
    double score = 0;

    if (by != BY_REACH)
        score += ratio(c->in[0][cell], c->in[1][cell], half);
    if (by != BY_CELL)
        score += ratio(c->reached[0][reach], c->reached[1][reach], half);
    return score;
}

static void count(struct cells *c, const struct view_of *of, uint32_t held, const size_t half[2])
{
    size_t n[2] = {0, 0};

    for (size_t r = 0; r < of->canaries->rows; r++) {
        const int side = side_of(of, r);

        if (side < 0 || n[side] == half[side])
            continue;
        n[side]++;
        for (uint32_t k = 0; k < of->seen->plan.model.embedding; k++) {
            const double value = seen_value(of->seen, r, held, k);

            c->in[side][cell_of(value)]++;
            c->reached[side][reach_of(c, value)]++;
        }
    }
}

/* All parties left in the sum are at one end of the box, under D' the target at the other. */
static void set_sums(struct cells *c, const struct view_of *of, uint32_t held)
{
    const struct plan *p = &of->seen->plan;
    const double others = (double)(p->shape.parties - held) - 1;

    c->at[0] = (float)((others + 1) * p->protocol.clip);
    c->at[1] = (float)((others - 1) * p->protocol.clip);
}

/* score[0 .. n[0]) and score[rows .. rows + n[1]), in the order of the rows. */
static void score_all(double *score, const struct cells *c, const struct view_of *of, uint32_t held,
                      const size_t half[2], enum by by)
{
    size_t at[2] = {0, of->canaries->rows};

    for (size_t r = 0; r < of->canaries->rows; r++) {
        const int side = side_of(of, r);
        double sum = 0;

        for (uint32_t k = 0; side >= 0 && k < of->seen->plan.model.embedding; k++)
            sum += score_of(c, seen_value(of->seen, r, held, k), half, by);
        if (side >= 0)
            score[at[side]++] = sum;
    }
}

/* The way that proves most on the first halves, judged on the second. */
static struct bound_test best_way(double *score, const struct cells *c, const struct view_of *of,
                                  uint32_t held, const size_t n[2], double delta)
{
    const size_t rows = of->canaries->rows, half[2] = {n[0] / 2, n[1] / 2};
    enum by best = BY_REACH;
    double most = -1;

    for (enum by by = BY_REACH; by < WAYS; by++) {
        struct bound_test t;

        score_all(score, c, of, held, half, by);
        t = bound_by_threshold(score, half[0], score + rows, half[1], delta);
        if (t.epsilon > most) {
            most = t.epsilon;
            best = by;
        }
    }
    score_all(score, c, of, held, half, best);
    return bound_by_threshold(score, n[0], score + rows, n[1], delta);
}

enum status lowbits(struct bound_test *out, const struct view_of *of, uint32_t held, double delta,
                    struct error *err)
{
    const size_t rows = of->canaries->rows;
    struct cells *c = mem_alloc(1, sizeof *c);
    double *score = mem_alloc(2 * rows + 1, sizeof *score);
    size_t n[2] = {0, 0}, half[2];
    enum status s = STATUS_OK;

    *out = (struct bound_test){.epsilon = 0};
    for (size_t r = 0; r < rows; r++) {
        const int side = side_of(of, r);

        if (side >= 0)
            n[side]++;
    }
    half[0] = n[0] / 2;
    half[1] = n[1] / 2;
    if (c == NULL || score == NULL) {
        s = error_set(err, STATUS_MEMORY, "no memory for %zu canaries", rows);
    } else if (half[0] > 0 && half[1] > 0) {
        set_sums(c, of, held);
        count(c, of, held, half);
        *out = best_way(score, c, of, held, n, delta);
    }
    mem_free(c);
    mem_free(score);
    return s;
}
