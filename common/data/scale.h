/* scale.h -- standardisation of feature columns: x <- (x - mean) / sd.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SCALE_H
#define COLONNADE_DATA_SCALE_H

#include "common/data/table.h"

struct scale {
    size_t cols;
    float *mean, *sd; /* sd is 1 where a column is constant */
};

/* Of so many columns, to be filled in. */
enum status scale_init(struct scale *s, size_t cols) MUST_USE;
/* Population mean and standard deviation of the columns of t (accumulated in double). */
enum status scale_fit(struct scale *s, const struct table *t) MUST_USE;
/* A file of lines `name,mean,sd` after that header; names and count must be those of t. */
enum status scale_load(struct scale *s, const char *path, const struct table *t,
                       struct error *err) MUST_USE;
enum status scale_save(const struct scale *s, const struct table *t, const char *path,
                       struct error *err) MUST_USE;
void scale_apply(const struct scale *s, struct table *t);
void scale_deinit(struct scale *s); /* safe on a zeroed struct */

#endif
