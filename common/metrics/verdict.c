/* verdict.c -- scores beside what is had without features.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/verdict.h"

#include <math.h>

enum { CLASSES_LOOKED_AT = 256, UNEVEN = 2, DEVIATIONS = 3 };

struct classes {
    size_t present, largest, smallest; /* how many classes have rows; rows of two of them */
};

static struct classes count(const struct verdict_rows *rows)
{
    size_t of[CLASSES_LOOKED_AT] = {0};
    struct classes c = {0};

    for (size_t i = 0; i < rows->n; i++)
        if (rows->target[i] >= 0 && rows->target[i] < CLASSES_LOOKED_AT)
            of[(size_t)rows->target[i]]++;
    for (size_t k = 0; k < CLASSES_LOOKED_AT; k++) {
        if (of[k] == 0)
            continue;
        c.present++;
        c.largest = of[k] > c.largest ? of[k] : c.largest;
        c.smallest = c.smallest == 0 || of[k] < c.smallest ? of[k] : c.smallest;
    }
    return c;
}

bool verdict_metric(enum score_metric *m, const struct score *s, const struct verdict_rows *rows)
{
    const struct classes c = count(rows);

    if (s->has[SCORE_AUC] && c.largest >= UNEVEN * c.smallest)
        *m = SCORE_AUC;
    else if (s->has[SCORE_ACCURACY])
        *m = SCORE_ACCURACY;
    else if (s->has[SCORE_R2])
        *m = SCORE_R2;
    else
        *m = SCORE_LOSS;
    return s->has[*m];
}

/* The standard deviation of the AUC of scores that are drawn for all rows alike. */
static double chance(const struct classes *c)
{
    const double p = (double)c->largest, n = (double)c->smallest;

    return sqrt((p + n + 1) / (12 * p * n));
}

const char *verdict_learned_nothing(const struct score *s, const struct verdict_rows *rows)
{
    const struct classes c = count(rows);

    if (s->has[SCORE_LOSS] && !isfinite(s->value[SCORE_LOSS]))
        return "its loss is no finite number: training went out of bounds, a smaller "
               "training.learning_rate may keep it";
    if (s->has[SCORE_R2] && s->value[SCORE_R2] <= 0)
        return "its values are no nearer than the mean of all of them";
    if (c.present == 2 && s->has[SCORE_AUC] && s->value[SCORE_AUC] <= 0.5 + DEVIATIONS * chance(&c))
        return "its AUC is what chance gives";
    if (c.present > 2 && s->has[SCORE_ACCURACY] &&
        s->value[SCORE_ACCURACY] * (double)rows->n < (double)c.largest + 0.5)
        return "it is right no more often than by naming the largest class";
    return NULL;
}
