/* local_step.h -- the arithmetic of the mirror of local steps (local_mirror.h): models, losses, one
 * step of everybody.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_LOCAL_STEP_H
#define COLONNADE_TESTS_SIM_LOCAL_STEP_H

#include "tests/sim/local_mirror.h"

const struct plan *local_plan(const struct local_mirror *m);
double local_clip(const struct local_mirror *m);
/* Columns of what the head takes; what fusion makes of an embedding: 1, or 1 / M. */
uint32_t local_inputs(const struct local_mirror *m);
double local_factor(const struct local_mirror *m);
bool local_refreshes(const struct local_mirror *m, uint32_t party);
/* Rows of a step. */
const uint32_t *local_batch(struct local_mirror *m, uint64_t step, uint32_t *n);

/* h = C tanh(x W + b) of one row. */
void local_embed(const struct local_mirror *m, const struct local_bottom *b, const float *x,
                 double *h);
/* m->sent and m->exact are those of step m->steps: everybody's steps.  down: the head as the
 * parties have it. */
void local_step(struct local_mirror *m, const struct local_head *down);

#endif
