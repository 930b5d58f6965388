/* inject.h -- waits and a sudden end that a party imposes on itself, for experiments.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_INJECT_H
#define COLONNADE_PARTY_INJECT_H

#include "common/config/config.h"
#include "common/crypto/rng.h"
#include "common/wire/message.h"

/* Mean of inject.delay for party `self` (from 0) of n, in seconds.  fedvs:SCALE is the pattern of
 * FedVS, section 6: the first half of the parties 0.1 SCALE, the i-th of the others (i = 1 ...)
 * (2 + 4 i / n) SCALE. */
double inject_mean_s(const struct config_inject *c, uint32_t self, size_t n);

/* A message that is about to be sent, and the run that it belongs to. */
struct inject_message {
    enum wire_kind kind;
    enum wire_purpose purpose;         /* of a share or upload */
    enum plan_aggregation aggregation; /* the plan's; before there is one, whatever has no shares */
    size_t parties;
    uint32_t batch;
};

/* Does inject.before mean this message? */
bool inject_hits(const struct config_inject *c, const struct inject_message *m);
/* What the mean is multiplied with for this message; 0: it is not held up.  1 where inject.before
 * means it.  In FedVS, section 6, a client whose uploads are late is late with its model shares as
 * well, by (log^2 N) / |B| of the mean; the paper does not say which logarithm: here the natural
 * one. */
double inject_factor(const struct config_inject *c, const struct inject_message *m);
double inject_draw_s(const struct config_inject *c, double mean_s, struct rng *chance);

/* Ends the process as kill -9 would when it is about to send the upload of this round (from 1). */
void inject_crash(const struct config_inject *c, enum wire_kind kind, uint64_t round);

#endif
