/* verdict.h -- what a person is told of a model: its score in a word, and when it has learned
 * nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_VERDICT_H
#define COLONNADE_METRICS_VERDICT_H

#include "common/metrics/score.h"

/* The labels of the rows that are scored: how many rows, how many classes have some, and rows of
 * two of them. */
struct verdict_labels {
    size_t rows, classes, largest, smallest;
    bool several;  /* each row has several labels; the classes are not counted */
    double chance; /* of two classes the standard deviation of an AUC that is drawn; of several
                    * labels the mean of theirs, which their mean AUC's is at most */
};

/* Of n labels below VERDICT_CLASSES_MAX; others belong to no class. */
enum { VERDICT_CLASSES_MAX = 4096 };
struct verdict_labels verdict_count(const float *target, size_t n);
/* Of n rows of k labels each: 0, 1, or NAN where it is not known. */
struct verdict_labels verdict_count_labels(const float *target, size_t n, uint32_t k);

/* The score that says most: of classes accuracy, or AUC where the largest class has at least twice
 * the rows of the smallest; of several labels AUPRC; of values R2; else the loss.  False: there is
 * none at all. */
bool verdict_metric(enum score_metric *m, const struct score *s, const struct verdict_labels *l);

/* Why the model is no better than a guess that knows no features, as words for a log; NULL: it is.
 * A loss that is not finite; of values R2 at most 0; of two classes, and of several labels, an AUC
 * within three standard deviations of 0.5 (Hanley and McNeil 1982, under chance), or below; of more
 * classes an accuracy not above the share of the largest class. */
const char *verdict_learned_nothing(const struct score *s, const struct verdict_labels *l);

#endif
