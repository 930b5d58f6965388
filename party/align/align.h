/* align.h -- the job `align` at a party (parts.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_ALIGN_ALIGN_H
#define COLONNADE_PARTY_ALIGN_ALIGN_H

#include "party/job.h"

extern const struct party_job party_align_job;

#endif
