/* dither.h -- the public seed of a round's dithers, the same at all who pack or unpack in it.
 *
 *   dither = SHA-256("vfl/round/1" || u64 training.seed || u64 purpose || u64 sweep || u64 place)
 *
 * It follows from the plan and the place in the schedule alone: a repetition or a replay of a step
 * has the same, and no byte of it travels.  It hides nothing; it makes the error of a quantiser
 * independent of what is quantised (C-VFL, section 5; Wannamaker 1997).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_DITHER_H
#define COLONNADE_FLOW_DITHER_H

#include "common/config/plan.h"
#include "common/crypto/digest.h"
#include "common/wire/message.h"

/* d is scratch. */
void dither_make(uint8_t dither[WIRE_DIGEST_BYTES], struct digest *d, const struct plan *p,
                 enum wire_purpose purpose, uint64_t place, uint64_t sweep);

#endif
