/* predict.h -- the job `predict` at a party, as sessions know it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_PREDICT_PREDICT_H
#define COLONNADE_PARTY_PREDICT_PREDICT_H

#include "party/job.h"

extern const struct party_job party_predict_job; /* JOB_PREDICT */

#endif
