/* predict.h -- the jobs `predict` and `contribute` at a party, as sessions know them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_PREDICT_PREDICT_H
#define COLONNADE_PARTY_PREDICT_PREDICT_H

#include "party/job.h"

extern const struct party_job party_predict_job;    /* JOB_PREDICT */
extern const struct party_job party_contribute_job; /* JOB_CONTRIBUTE */

/* Is it one of these, whose state is a struct party_predict? */
static inline bool party_predicts(const struct party_job *j)
{
    return j == &party_predict_job || j == &party_contribute_job;
}

#endif
