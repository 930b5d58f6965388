/* dp.h -- model.train dp: a bottom whose local steps are Gaussian mechanisms of their own.
 *
 * One local step on a batch of B records uses
 *   g = (1/B) (sum_r clip(g_r, G) + N(0, sigma^2 G^2 I)),      g_r: the gradient of r's own loss
 * (Abadi et al. 2016), G = model.clip, sigma = model.noise.  Replacing a record moves the sum by at
 * most 2 G, so a step costs 2 alpha / sigma^2 of a record that is in the batch, and nothing of any
 * other (docs/privacy.md).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_DP_H
#define COLONNADE_PARTY_DP_H

#include "common/config/config.h"
#include "common/crypto/rng.h"
#include "common/nn/net.h"

struct party_dp {
    double clip, noise; /* G, sigma */
    double *factor;     /* of each row of a batch */
    struct rng rng;     /* the system's generator, but in seeded runs */
    bool seeded;
    uint64_t seed;
    uint32_t party;
    uint64_t rows, cut; /* of local steps: rows in them, and how many of these were cut */
};

/* STATUS_MEMORY, STATUS_CRYPTO.  Does nothing unless config->train is dp. */
enum status party_dp_init(struct party_dp *d, const struct config_party *config,
                          uint32_t batch) MUST_USE;
/* --insecure-seed: what is drawn depends on seed, party and place in the schedule alone. */
void party_dp_seed(struct party_dp *d, uint64_t seed, uint32_t party);
/* Logs how many gradients were cut.  Safe on a zeroed struct. */
void party_dp_deinit(struct party_dp *d);

/* The gradients of net for its last forward, from dy (rows x outputs of the mean loss), clipped and
 * with noise.  place: of this local step among the run's. */
void party_dp_backward(struct party_dp *d, struct nn_net *net, const float *dy, uint64_t place);

#endif
