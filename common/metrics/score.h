/* score.h -- accuracy, AUC, AUPRC, F1 over predictions collected in chunks; of values R2, mean
 * absolute error, root of the mean squared error.
 *
 * binary: score = probability of class 1.  AUC by the rank sum with ties counted half; AUPRC is
 * average precision, sum over thresholds of (R_n - R_(n-1)) P_n, ties in one threshold, positive
 * class 1; F1 of class 1 at 0.5.  multiclass: AUC and AUPRC one-vs-rest macro averages, F1 macro.
 *
 * Equal to scikit-learn's roc_auc_score, average_precision_score and f1_score where those are
 * defined.  A class without rows is left out of a macro average (of F1 only when it was not
 * predicted either); AUC without two classes is left out, AUPRC without a positive row
 * is 0.  Class 1 is predicted above 0.5, otherwise the first largest probability; a row with a NaN
 * predicts nothing and ranks last.  R2 is 1 minus the squared error over that of the targets' mean,
 * and is left out where all targets are the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_SCORE_H
#define COLONNADE_METRICS_SCORE_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum score_metric {
    SCORE_LOSS,
    SCORE_ACCURACY,
    SCORE_AUC,
    SCORE_AUPRC,
    SCORE_F1,
    SCORE_R2,
    SCORE_MAE,
    SCORE_RMSE,
    SCORE_AUC_MICRO,
    SCORE_AUPRC_MICRO,
    SCORE_F1_MICRO,
    SCORE_METRICS
};

struct score {
    double value[SCORE_METRICS];
    bool has[SCORE_METRICS];
};

extern const char *const score_names[]; /* as in summary.json; SCORE_METRICS, and a final NULL */
bool score_falls(enum score_metric m);  /* the less the better */

/* What predictions are of: classes or values, one target a row, or labels, a target each.
 *
 * labels: each column of prob is the probability of a label, and a row's target has each label as
 * 0, 1 or NAN, which is not known and left out of every score.  AUC, AUPRC (the mean average
 * precision) and F1 at 0.5 are macro averages over the labels; the micro scores pool all pairs of a
 * row and a label.  Accuracy is the share of these pairs that are right: one minus the Hamming
 * loss. */
enum score_kind { SCORE_OF_CLASSES, SCORE_OF_VALUES, SCORE_OF_LABELS };

struct score_board {
    enum score_kind kind;
    size_t rows, rows_max;
    uint32_t classes; /* columns of prob; 1: a single probability of class 1 (sigmoid) */
    float *prob;      /* rows_max x classes */
    uint32_t targets; /* of a row: classes of them for labels, else 1 */
    float *target;    /* rows_max x targets */
    double loss_sum;
    uint32_t *order; /* scratch, 2 x rows_max x targets */
};

enum status score_board_init(struct score_board *b, size_t rows_max, uint32_t classes,
                             enum score_kind kind) MUST_USE;
void score_board_deinit(struct score_board *b); /* safe on a zeroed struct */
void score_board_reset(struct score_board *b);
/* n rows: prob n x classes, targets n x b->targets, and their mean loss. */
void score_board_add(struct score_board *b, const float *prob, const float *target, size_t n,
                     double mean_loss);
/* What another of the same shape holds. */
void score_board_copy(struct score_board *to, const struct score_board *from);
/* What was added so far as bytes, and back into a board of the same shape: *used of n bytes, or
 * STATUS_DATA. */
enum status score_board_print(const struct score_board *b, struct buf *out) MUST_USE; /* appends */
enum status score_board_parse(struct score_board *b, const uint8_t *bytes, size_t n,
                              size_t *used) MUST_USE;
/* The loss (not finite when a loss added was not) and the scores of its kind. */
void score_board_read(struct score_board *b, struct score *out);

#endif
