/* verdict.c -- scores beside what is had without features.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/verdict.h"

#include <math.h>

enum { UNEVEN = 2, DEVIATIONS = 3, FAR = 3 };

/* The standard deviation of the AUC of scores that are drawn for all rows alike. */
static double chance(double p, double n)
{
    return sqrt((p + n + 1) / (12 * p * n));
}

struct verdict_labels verdict_count(const float *target, size_t n)
{
    size_t of[VERDICT_CLASSES_MAX] = {0};
    struct verdict_labels l = {.rows = n};

    for (size_t i = 0; i < n; i++)
        if (target[i] >= 0 && target[i] < VERDICT_CLASSES_MAX)
            of[(size_t)target[i]]++;
    for (size_t k = 0; k < VERDICT_CLASSES_MAX; k++) {
        if (of[k] == 0)
            continue;
        l.classes++;
        l.largest = of[k] > l.largest ? of[k] : l.largest;
        l.smallest = l.smallest == 0 || of[k] < l.smallest ? of[k] : l.smallest;
    }
    if (l.classes == 2)
        l.chance = chance((double)l.largest, (double)l.smallest);
    return l;
}

struct verdict_labels verdict_count_labels(const float *target, size_t n, uint32_t k)
{
    struct verdict_labels l = {.rows = n, .several = true};
    uint32_t both = 0;

    for (uint32_t j = 0; j < k; j++) {
        size_t ones = 0, zeros = 0;

        for (size_t i = 0; i < n; i++) {
            ones += target[i * k + j] == 1;
            zeros += target[i * k + j] == 0;
        }
        if (ones == 0 || zeros == 0)
            continue;
        l.chance += chance((double)ones, (double)zeros);
        both++;
    }
    l.chance /= both > 0 ? both : 1;
    return l;
}

bool verdict_metric(enum score_metric *m, const struct score *s, const struct verdict_labels *l)
{
    if (l->several && s->has[SCORE_AUPRC])
        *m = SCORE_AUPRC;
    else if (s->has[SCORE_AUC] && !l->several && l->largest >= UNEVEN * l->smallest)
        *m = SCORE_AUC;
    else if (s->has[SCORE_ACCURACY])
        *m = SCORE_ACCURACY;
    else if (s->has[SCORE_R2])
        *m = SCORE_R2;
    else
        *m = SCORE_LOSS;
    return s->has[*m];
}

const char *verdict_learned_nothing(const struct score *s, const struct verdict_labels *l)
{
    if (s->has[SCORE_LOSS] && !isfinite(s->value[SCORE_LOSS]))
        return "its loss is no finite number: training went out of bounds, a smaller "
               "training.learning_rate may keep it";
    if (s->has[SCORE_LOSS] && l->classes > 1 &&
        s->value[SCORE_LOSS] > FAR * log((double)l->classes))
        return "its loss is far above that of guessing: training went astray, a smaller "
               "training.learning_rate may keep it";
    if (s->has[SCORE_R2] && s->value[SCORE_R2] <= 0)
        return "its values are no nearer than the mean of all of them";
    if ((l->classes == 2 || l->several) && s->has[SCORE_AUC] &&
        s->value[SCORE_AUC] <= 0.5 + DEVIATIONS * l->chance)
        return "its AUC is what chance gives";
    if (l->classes > 2 && s->has[SCORE_ACCURACY] &&
        s->value[SCORE_ACCURACY] * (double)l->rows < (double)l->largest + 0.5)
        return "it is right no more often than by naming the largest class";
    return NULL;
}
