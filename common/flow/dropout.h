/* dropout.h -- which parties a training step does without: training.party_dropout.
 *
 * Each party is left out of a step with probability p, by the plan and the step alone, so that all
 * sides know it and no byte tells of it.  With u_i the first 8 bytes, little-endian, of
 *
 *   SHA-256("vfl/dropout/1" || u64 training.seed || u64 step || u16 i)
 *
 * party i of the roster is left out when floor(u_i / 2^11) < p 2^53.  A step that would be without
 * all of them is without none.
 *
 * Who is left out uploads zeros as it uploads embeddings, with its noise and its masks, and takes
 * no local step; the head has a stand-in for it (common/nn/head.h).  Evaluations are always of all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_DROPOUT_H
#define COLONNADE_FLOW_DROPOUT_H

#include "common/config/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the plan's parties, in the order of the roster; the others are false.  True: of some. */
bool dropout_of(bool missing[PLAN_PARTIES_MAX], const struct plan *p, uint64_t step);
/* Is this one (roster index)? */
bool dropout_leaves_out(const struct plan *p, uint64_t step, uint32_t party);

#endif
