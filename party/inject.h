/* inject.h -- waits and a sudden end that a party imposes on itself, for experiments.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_INJECT_H
#define COLONNADE_PARTY_INJECT_H

#include "common/config/config.h"
#include "common/crypto/rng.h"
#include "common/wire/message.h"

/* Seconds to wait before sending a message of this kind; 0: none. */
double inject_delay_s(const struct config_inject *c, enum wire_kind kind, struct rng *chance);
/* Ends the process as kill -9 would when it is about to send the upload of this round (from 1). */
void inject_crash(const struct config_inject *c, enum wire_kind kind, uint64_t round);

#endif
