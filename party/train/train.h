/* train.h -- the job `train` at a party: a session plays it without knowing what it is.
 *
 * Its state is a struct party_train (parts.h), which only this folder looks into.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_TRAIN_H
#define COLONNADE_PARTY_TRAIN_TRAIN_H

#include "party/job.h"

extern const struct party_job party_train_job;

#endif
