/* dp.h -- model.train dp: a bottom whose local steps are Gaussian mechanisms of their own.
 *
 * One local step on a batch of B records uses
 *   g = (1/B) step (round(sum_r clip(g_r, G) / step) + N_Z(0, (sigma G / step)^2 I)),
 * g_r the gradient of r's own loss (Abadi et al. 2016) and N_Z the discrete Gaussian, G =
 * model.clip, sigma = model.noise and step a power of two below sigma G that sigma and the number
 * of weights decide (dpsum_ratio).  Replacing a record moves the sum by at most 2 G and its
 * rounding by G / 512, so a step costs alpha (2 + 1/512)^2 / (2 sigma^2) of a record that is in
 * the batch, and nothing of any other (docs/privacy.md).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_TRAIN_DP_H
#define COLONNADE_PARTY_TRAIN_DP_H

#include "common/config/config.h"
#include "common/crypto/rng.h"
#include "common/gauss/gauss.h"
#include "common/nn/dpsum.h"

struct party_dp {
    double clip, noise; /* G, sigma */
    double *factor;     /* of each row of a batch */
    double *memory;     /* of sum */
    size_t memory_n;
    int32_t *draws; /* one for each weight */
    struct dpsum sum;
    struct gauss gauss;
    struct rng rng; /* the system's generator, but in seeded runs */
    bool seeded;
    uint64_t seed;
    uint32_t party;
    uint64_t rows, cut; /* of local steps: rows in them, and how many of these were cut */
};

/* Whether there is a grid for this noise and so many weights. */
bool party_dp_possible(const struct config_party *config, size_t weights);
/* STATUS_MEMORY, STATUS_CRYPTO, STATUS_CONFIG where it is not possible.  Does nothing unless
 * config->train is dp. */
enum status party_dp_init(struct party_dp *d, const struct config_party *config,
                          const struct nn_spec *spec, uint32_t batch) MUST_USE;
/* --insecure-seed: what is drawn depends on seed, party and place in the schedule alone. */
void party_dp_seed(struct party_dp *d, uint64_t seed, uint32_t party);
/* What comes is of another key of the system's (a seed says its own all the same). */
enum status party_dp_renew(struct party_dp *d) MUST_USE;
/* Logs how many gradients were cut.  Safe on a zeroed struct. */
void party_dp_deinit(struct party_dp *d);

/* The gradients of net for its last forward, from dy (rows x outputs of the mean loss), clipped and
 * with noise.  place: of this local step among the run's. */
void party_dp_backward(struct party_dp *d, struct nn_net *net, const float *dy, uint64_t place);

#endif
