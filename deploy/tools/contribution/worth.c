/* worth.c -- values of sets, on all rows and on rows drawn from them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/contribution/worth.h"

#include "common/crypto/rng.h"
#include "common/metrics/shapley.h"
#include "common/metrics/verdict.h"

#include <math.h>
#include <string.h>

enum { RESAMPLES_LEAST = 2 };

struct work {
    const struct answers_table *t;
    struct worth *w;
    struct score_board board;
    uint32_t *rows;  /* those that are looked at, each once or several times */
    size_t *set;     /* of all sets: the question by bits of who is in it */
    size_t *step;    /* of orders: orders x (parties + 1) questions, from nobody to all */
    size_t *all_but; /* by party */
    double *value;   /* by question, WORTH_MEASURES each */
    double *part;    /* results of one look: parts_n() x WORTH_MEASURES */
    double *order_error, *rises, *by_set; /* room */
};

static size_t parts_n(const struct work *k)
{
    return 2 * (size_t)k->t->parties + k->w->columns;
}

/* --- which question is which set's --- */

static size_t find(const struct answers_table *t, const struct coalition *c)
{
    size_t i = 0;

    while (i < t->n && (t->of[i].what.mixes || !coalition_equal(&t->of[i].what.of, c)))
        i++;
    return i;
}

/* All sets of them, if all were asked for. */
static bool find_sets(struct work *k)
{
    const uint32_t n = k->t->parties;

    if (n > COALITIONS_WHOLE_MAX)
        return false;
    for (uint32_t in = 0; in < 1u << n; in++) {
        const struct coalition c = {{~in & ((1u << n) - 1)}};

        k->set[in] = find(k->t, &c);
        if (k->set[in] == k->t->n)
            return false;
    }
    return true;
}

/* Steps of the k-th order; false: not all of them were asked for. */
static bool find_steps(const struct answers_table *t, size_t *step, uint32_t number)
{
    uint32_t order[PLAN_PARTIES_MAX];
    struct coalition c = {{0}};
    bool there = coalitions_order(order, t->parties, number) == STATUS_OK;

    for (uint32_t i = t->parties; there && i > 0; i--) {
        step[i] = find(t, &c);
        there = step[i] < t->n;
        coalition_remove(&c, order[i - 1]);
    }
    step[0] = t->n - 1;
    return there;
}

static enum status find_all(struct work *k, struct error *err)
{
    const struct answers_table *t = k->t;
    struct pool *pool = (struct pool *)(uintptr_t)&t->pool;

    k->all_but = pool_alloc(pool, t->parties, sizeof *k->all_but);
    k->set = pool_alloc(pool, 1 << COALITIONS_WHOLE_MAX, sizeof *k->set);
    k->step = pool_alloc(pool, t->n * ((size_t)t->parties + 1), sizeof *k->step);
    for (uint32_t i = 0; i < t->parties; i++) {
        struct coalition c = {{0}};

        coalition_remove(&c, i);
        k->all_but[i] = find(t, &c);
        if (k->all_but[i] == t->n)
            return error_set(err, STATUS_DATA, "no answers of all but %s", t->name[i]);
    }
    if (find_sets(k))
        return STATUS_OK;
    while (k->w->orders < t->n &&
           find_steps(t, k->step + (size_t)k->w->orders * (t->parties + 1), k->w->orders))
        k->w->orders++;
    return k->w->orders > 0 ? STATUS_OK
                            : error_set(err, STATUS_DATA,
                                        "neither all sets of parties nor whole orders of them "
                                        "were asked for");
}

/* --- values --- */

static double loss_of(const struct answers_table *t, const float *prob, const float *target)
{
    double sum = 0, off;
    uint32_t known = 0;

    switch (t->kind) {
    case SCORE_OF_CLASSES: return -log(fmax((double)prob[(size_t)target[0]], 1e-12));
    case SCORE_OF_VALUES: off = (double)prob[0] - (double)target[0]; return 0.5 * off * off;
    case SCORE_OF_LABELS: break;
    }
    for (uint32_t k = 0; k < t->targets; k++) {
        if (isnan(target[k]))
            continue;
        known++;
        sum -= log(fmax(target[k] > 0 ? (double)prob[k] : 1 - (double)prob[k], 1e-12));
    }
    return known > 0 ? sum / known : 0;
}

static void score_question(struct work *k, size_t question, struct score *out)
{
    const struct answers_table *t = k->t;

    score_board_reset(&k->board);
    for (size_t i = 0; i < t->rows; i++) {
        const size_t row = k->rows[i];
        const float *prob = t->of[question].prob + row * t->columns,
                    *target = t->target + row * t->targets;

        score_board_add(&k->board, prob, target, 1, loss_of(t, prob, target));
    }
    score_board_read(&k->board, out);
}

/* Of every question, on these rows; false: they have no such score. */
static bool value_all(struct work *k)
{
    const enum score_metric m = k->w->metric;
    struct score s;

    for (size_t i = 0; i < k->t->n; i++) {
        double *v = k->value + i * WORTH_MEASURES;

        score_question(k, i, &s);
        if (!s.has[m] || !s.has[SCORE_LOSS] || !isfinite(s.value[m]) ||
            !isfinite(s.value[SCORE_LOSS]))
            return false;
        v[WORTH_SCORE] = score_falls(m) ? -s.value[m] : s.value[m];
        v[WORTH_LOSS] = -s.value[SCORE_LOSS];
    }
    return true;
}

/* --- parts --- */

static double value(const struct work *k, size_t question, int measure)
{
    return k->value[question * WORTH_MEASURES + (size_t)measure];
}

static void share_out(struct work *k, double *out, int measure)
{
    const uint32_t n = k->t->parties;

    if (k->w->orders == 0) {
        for (uint32_t in = 0; in < 1u << n; in++)
            k->by_set[in] = value(k, k->set[in], measure);
        shapley_whole(out, k->by_set, n);
        return;
    }
    for (uint32_t o = 0; o < k->w->orders; o++) {
        const size_t *step = k->step + (size_t)o * (n + 1);
        uint32_t order[PLAN_PARTIES_MAX];

        if (coalitions_order(order, n, o) != STATUS_OK)
            memset(order, 0, sizeof order); /* no memory: it was there before */
        for (uint32_t i = 0; i < n; i++)
            k->rises[(size_t)o * n + order[i]] =
                value(k, step[i + 1], measure) - value(k, step[i], measure);
    }
    shapley_sampled(out, k->order_error + (size_t)measure * n, k->rises, n, k->w->orders);
}

/* All parts by k->value, into k->part: alone, shapley, columns. */
static void part_all(struct work *k)
{
    const struct answers_table *t = k->t;
    const size_t parts = parts_n(k);

    for (int m = 0; m < WORTH_MEASURES; m++) {
        double *out = k->part + (size_t)m * parts;
        size_t at = 2 * (size_t)t->parties;

        for (uint32_t i = 0; i < t->parties; i++)
            out[i] = value(k, 0, m) - value(k, k->all_but[i], m);
        share_out(k, out + t->parties, m);
        for (size_t q = 0; q < t->n; q++)
            if (t->of[q].what.mixes)
                out[at++] = value(k, 0, m) - value(k, q, m);
    }
}

static struct worth_part *part_of(const struct work *k, size_t i)
{
    const uint32_t n = k->t->parties;

    return i < n ? &k->w->alone[i] : i < 2 * n ? &k->w->shapley[i - n] : &k->w->column[i - 2 * n];
}

/* --- errors --- */

/* Rows drawn with repetition, as often as was asked for: the spread of what they say. */
static enum status spread(struct work *k, uint32_t resamples, struct error *err)
{
    struct pool *pool = (struct pool *)(uintptr_t)&k->t->pool;
    const size_t n = parts_n(k) * WORTH_MEASURES;
    double *sum = pool_alloc(pool, n, sizeof *sum), *squares = pool_alloc(pool, n, sizeof *sum);
    uint8_t key[RNG_KEY_BYTES];
    struct rng draws = {0};
    uint32_t had = 0;
    enum status s;

    rng_seed_key(key, 1, 0, "resamples", 0);
    s = rng_init_key(&draws, key);
    for (uint32_t r = 0; s == STATUS_OK && r < resamples; r++) {
        for (size_t i = 0; i < k->t->rows; i++)
            k->rows[i] = (uint32_t)rng_below(&draws, k->t->rows);
        if (!value_all(k))
            continue;
        part_all(k);
        had++;
        for (size_t i = 0; i < n; i++) {
            const double off = k->part[i] - part_of(k, i % parts_n(k))->value[i / parts_n(k)];

            sum[i] += off;
            squares[i] += off * off;
        }
    }
    rng_deinit(&draws);
    for (size_t i = 0; i < n; i++)
        part_of(k, i % parts_n(k))->error[i / parts_n(k)] =
            had >= RESAMPLES_LEAST ? sqrt(fmax(0, (squares[i] - sum[i] * sum[i] / had) / (had - 1)))
                                   : NAN;
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

/* What few orders leave open comes on top, as of the parts of all rows. */
static void add_order_error(struct work *k, const double *of)
{
    for (uint32_t i = 0; k->w->orders > 0 && i < k->t->parties; i++)
        for (int m = 0; m < WORTH_MEASURES; m++) {
            double *e = &k->w->shapley[i].error[m];

            *e = hypot(*e, of[(size_t)m * k->t->parties + i]);
        }
}

/* --- all of it --- */

static enum status look_at_all(struct work *k, struct error *err)
{
    const struct answers_table *t = k->t;
    const struct verdict_labels labels = t->kind == SCORE_OF_LABELS
                                             ? verdict_count_labels(t->target, t->rows, t->targets)
                                             : verdict_count(t->target, t->rows);
    struct score s;

    for (size_t i = 0; i < t->rows; i++)
        k->rows[i] = (uint32_t)i;
    score_question(k, 0, &s);
    if (!verdict_metric(&k->w->metric, &s, &labels) || !value_all(k))
        return error_set(err, STATUS_DATA, "these rows have no score");
    for (int m = 0; m < WORTH_MEASURES; m++) {
        k->w->all[m] = value(k, 0, m);
        k->w->nobody[m] = value(k, t->n - 1, m);
    }
    part_all(k);
    for (size_t i = 0; i < parts_n(k) * WORTH_MEASURES; i++)
        part_of(k, i % parts_n(k))->value[i / parts_n(k)] = k->part[i];
    return STATUS_OK;
}

static void make_room(struct work *k, struct pool *pool)
{
    const struct answers_table *t = k->t;
    struct worth *w = k->w;
    const size_t n = t->parties;

    for (size_t q = 0; q < t->n; q++)
        w->columns += t->of[q].what.mixes;
    w->alone = pool_alloc(pool, n, sizeof *w->alone);
    w->shapley = pool_alloc(pool, n, sizeof *w->shapley);
    w->column = pool_alloc(pool, w->columns + 1, sizeof *w->column);
    k->rows = pool_alloc(pool, t->rows, sizeof *k->rows);
    k->value = pool_alloc(pool, t->n, WORTH_MEASURES * sizeof *k->value);
    k->part = pool_alloc(pool, parts_n(k), WORTH_MEASURES * sizeof *k->part);
    k->rises = pool_alloc(pool, t->n * n, sizeof *k->rises);
    k->order_error = pool_alloc(pool, n, WORTH_MEASURES * sizeof *k->order_error);
    k->by_set = pool_alloc(pool, 1 << COALITIONS_WHOLE_MAX, sizeof *k->by_set);
}

enum status worth_of(struct worth *w, struct answers_table *t, uint32_t resamples,
                     struct error *err)
{
    struct work k = {.t = t, .w = w};
    double *of_all;
    enum status s;

    *w = (struct worth){0};
    make_room(&k, &t->pool);
    of_all = pool_alloc(&t->pool, t->parties, WORTH_MEASURES * sizeof *of_all);
    if (score_board_init(&k.board, t->rows, t->columns, t->kind) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "no memory for %zu rows", t->rows);
    s = find_all(&k, err);
    if (s == STATUS_OK)
        s = look_at_all(&k, err);
    memcpy(of_all, k.order_error, t->parties * WORTH_MEASURES * sizeof *of_all);
    if (s == STATUS_OK)
        s = spread(&k, resamples, err);
    if (s == STATUS_OK)
        add_order_error(&k, of_all);
    score_board_deinit(&k.board);
    return s;
}
