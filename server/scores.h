/* scores.h -- scores of rows as a table: what is predicted, and test rows at the end of a run.
 *
 *     id,score_0,score_1          a probability for each class; of regression id,score
 *     id,label,score_0,score_1    of rows whose class is known
 *     id,label_0,label_1,score_0,score_1    of several labels, 0, 1 or nothing, a probability each
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_SCORES_H
#define COLONNADE_SERVER_SCORES_H

#include "common/base/status.h"
#include "common/metrics/calibrate.h"
#include "common/nn/loss.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* `outputs`: of the head, 1 of a sigmoid, whose table has both classes. */
struct scores {
    FILE *f;
    const char *path;
    const char
        *first; /* a column before the ids, which the caller writes with its comma; or NULL */
    enum nn_loss loss;
    uint32_t outputs, targets; /* targets: labels of a row, nn_targets() */
    struct calibration
        calibrated; /* scores are given before its temperature; rows 0: as they are */
};

/* Before anything is paid for: can the file be written?  What it holds stays; one that is not there
 * is not there afterwards. */
enum status scores_check(const char *path, struct error *err) MUST_USE;
/* A file (0600) beside it, and its header; `labelled`: with its labels. */
enum status scores_open(struct scores *s, const char *path, bool labelled,
                        struct error *err) MUST_USE;
/* One row: an id of n bytes, its labels (NULL: not labelled), `outputs` scores (NULL: it could not
 * be predicted, and its cells are empty). */
void scores_put(struct scores *s, const char *id, size_t n, const float *label, const float *score);
/* All of it takes the file's place, durably, or nothing does. */
enum status scores_close(struct scores *s, struct error *err) MUST_USE;

#endif
