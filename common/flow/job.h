/* job.h -- what a federation is asked to do: the names of its kinds, and what its digest is.
 *
 * An offer carries a job: its kind, and the canonical text that says the rest.  Both sides have a
 * table of functions for each kind they know (server/job.h, party/job.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_JOB_H
#define COLONNADE_FLOW_JOB_H

#include "common/wire/message.h"

#include <stdbool.h>

#define JOB_TRAIN "train" /* its text is a plan's */

bool job_is(const struct wire_job *j, const char *kind);

/* What hellos, sids and checkpoints name a job by: H(text) of `train`, H(kind || 0 || text) of any
 * other kind.  No two jobs share one, since no plan has a zero byte. */
void job_digest(uint8_t out[WIRE_DIGEST_BYTES], const char *kind, const void *text, size_t n);

#endif
