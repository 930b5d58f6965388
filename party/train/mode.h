/* mode.h -- the modes of rounds (struct party_mode in course.h): plain, shared, dealt, streamed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_MODE_H
#define COLONNADE_PARTY_TRAIN_MODE_H

#include "party/train/course.h"

/* The one in which all rounds of this plan are played. */
const struct party_mode *party_mode_of(const struct plan *p);

#endif
