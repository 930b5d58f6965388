/* calibrate.c -- a temperature by golden section, and what it changes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/calibrate.h"

#include "common/base/check.h"
#include "common/base/golden.h"

#include <math.h>

enum { BINS = 10, TRIALS = 50 };

/* --- one row --- */

static double logit(double p)
{
    p = fmin(fmax(p, 1e-7), 1 - 1e-7);
    return log(p / (1 - p));
}

/* Columns that are probabilities of something by themselves, not of one among them. */
static bool apart(uint32_t classes, enum score_kind kind)
{
    return kind == SCORE_OF_LABELS || classes == 1;
}

static double log_sum(const float *prob, uint32_t classes, double inverse)
{
    double most = -INFINITY, sum = 0;

    for (uint32_t k = 0; k < classes; k++)
        most = fmax(most, log(fmax((double)prob[k], 1e-30)));
    for (uint32_t k = 0; k < classes; k++)
        sum += exp(inverse * (log(fmax((double)prob[k], 1e-30)) - most));
    return log(sum) + inverse * most;
}

void calibrate_row(float *out, const float *prob, uint32_t classes, enum score_kind kind,
                   double temperature)
{
    const double inverse = 1 / temperature;
    double sum;

    CHECK(kind != SCORE_OF_VALUES);
    if (apart(classes, kind)) {
        for (uint32_t k = 0; k < classes; k++)
            out[k] = (float)(1 / (1 + exp(-inverse * logit((double)prob[k]))));
        return;
    }
    sum = log_sum(prob, classes, inverse);
    for (uint32_t k = 0; k < classes; k++)
        out[k] = (float)exp(inverse * log(fmax((double)prob[k], 1e-30)) - sum);
}

/* --- the fit --- */

static double softplus(double z)
{
    return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

/* What another class than the row's own counts: n rows that are all told right do not say that
 * none ever is told wrong (after Platt 1999). */
static double doubt(const struct score_board *b)
{
    return 1 / ((double)b->rows + (apart(b->classes, b->kind) ? 2 : b->classes));
}

/* Of a row at 1 / T; it is convex in that. */
static double row_loss(const struct score_board *b, size_t i, double inverse)
{
    const float *prob = b->prob + i * b->classes, *target = b->target + i * b->targets;
    const double other = doubt(b);
    double loss = 0, own = 1;

    if (!apart(b->classes, b->kind)) {
        for (uint32_t k = 0; k < b->classes; k++)
            if (k != (size_t)*target) {
                loss -= other * inverse * log(fmax((double)prob[k], 1e-30));
                own -= other;
            }
        return loss + log_sum(prob, b->classes, inverse) -
               own * inverse * log(fmax((double)prob[(size_t)*target], 1e-30));
    }
    for (uint32_t k = 0; k < b->classes; k++) {
        const double z = inverse * logit((double)prob[k]);
        const double yes = target[k] > 0.5F ? 1 - other : other;

        if (!isnan(target[k])) /* a label that is not known tells nothing */
            loss += yes * softplus(-z) + (1 - yes) * softplus(z);
    }
    return loss;
}

/* At the logarithm of 1 / T, in which it has one minimum as well. */
static double loss_at(void *board, double log_inverse)
{
    const struct score_board *b = board;
    const double inverse = exp(log_inverse);
    double sum = 0;

    for (size_t i = 0; i < b->rows; i++)
        sum += row_loss(b, i, inverse);
    return sum;
}

/* --- how far off --- */

struct bins {
    double sum[BINS], hits[BINS], n;
};

static void add(struct bins *b, double p, bool hit)
{
    const int at = p >= 1 ? BINS - 1 : p > 0 ? (int)(p * BINS) : 0;

    b->sum[at] += p;
    b->hits[at] += hit;
    b->n++;
}

static void add_row(struct bins *b, const struct score_board *of, size_t i, double inverse)
{
    const float *prob = of->prob + i * of->classes, *target = of->target + i * of->targets;
    uint32_t k = 0;

    if (apart(of->classes, of->kind)) {
        for (k = 0; k < of->classes; k++)
            if (!isnan(target[k]))
                add(b, 1 / (1 + exp(-inverse * logit((double)prob[k]))), target[k] > 0.5F);
        return;
    }
    for (uint32_t j = 1; j < of->classes; j++)
        if (of->classes == 2 || prob[j] > prob[k])
            k = j;
    add(b, exp(inverse * log(fmax((double)prob[k], 1e-30)) - log_sum(prob, of->classes, inverse)),
        (size_t)*target == k);
}

static double error_at(const struct score_board *of, double inverse)
{
    struct bins b = {.n = 0};
    double off = 0;

    for (size_t i = 0; i < of->rows; i++)
        add_row(&b, of, i, inverse);
    for (int i = 0; i < BINS; i++)
        off += fabs(b.sum[i] - b.hits[i]);
    return b.n > 0 ? off / b.n : -1;
}

static bool all_numbers(const struct score_board *b)
{
    for (size_t i = 0; i < b->rows * b->classes; i++)
        if (!isfinite(b->prob[i]))
            return false;
    return true;
}

void calibrate(struct calibration *c, const struct score_board *fit, const struct score_board *tell)
{
    const double log_most = log(CALIBRATE_MOST);
    struct score_board board = *fit;
    double inverse;

    *c = (struct calibration){.temperature = 1};
    if (fit->kind == SCORE_OF_VALUES || fit->rows == 0 || !all_numbers(fit) || !all_numbers(tell))
        return;
    inverse = exp(golden_search(loss_at, &board, -log_most, log_most, TRIALS).middle);
    c->temperature = 1 / inverse;
    c->rows = fit->rows;
    if (tell->rows == 0)
        tell = fit;
    c->before = error_at(tell, 1);
    c->after = error_at(tell, inverse);
}
