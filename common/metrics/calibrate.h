/* calibrate.h -- one temperature that makes probabilities say how often they are right.
 *
 * Temperature scaling (Guo et al. 2017, arXiv 1706.04599): logits are divided by T, which is fitted
 * to the negative log-likelihood of rows that nobody has trained on.  No class is predicted
 * otherwise, and no rank within two classes is.  Logits are taken back from probabilities, so that
 * nothing but these is kept; those of 0 and 1 count as 1e-7 away from it.  Few rows that are all
 * told right would have T go to 0: each row counts as of each other class by one part in their
 * number and that of the classes (after Platt 1999).
 *
 * The expected calibration error is over ten bins of equal width, of class 1 of two, of the class
 * that is predicted of more, and of each label: the mean distance of probability and share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_METRICS_CALIBRATE_H
#define COLONNADE_METRICS_CALIBRATE_H

#include "common/metrics/score.h"

/* T and 1 / T are no more than this. */
#define CALIBRATE_MOST 20.0

struct calibration {
    double temperature;
    uint64_t rows;        /* that it was fitted to; 0: there is none */
    double before, after; /* expected calibration error, of the rows that tell; -1: of none */
};

/* By the rows of `fit`, which are of classes or labels; told by those of `tell`, or by the same
 * where it has none.  Of values, or of no rows: none. */
void calibrate(struct calibration *c, const struct score_board *fit,
               const struct score_board *tell);
/* One row's probabilities as they are at a temperature; out and prob may be one. */
void calibrate_row(float *out, const float *prob, uint32_t classes, enum score_kind kind,
                   double temperature);

#endif
