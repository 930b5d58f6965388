/* dp.c -- clip, sum, noise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/dp.h"

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/secret.h"
#include "common/nn/dpsgd.h"
#include "common/privacy/account.h"
#include "common/secagg/draw.h"

_Static_assert((long)DPSUM_RATIO_MIN >= (long)GAUSS_SIGMA_MIN, "a grid that is too coarse");
_Static_assert((long)DPSUM_RATIO_MAX <= (long)GAUSS_SIGMA_MAX, "a grid that is too fine");
_Static_assert(DPSUM_PARAMS_MAX <= (size_t)ACCOUNT_STEP_DRAWS_MAX, "draws that nobody counts");
_Static_assert((int)GAUSS_DISTANCE_BITS >= (int)ACCOUNT_DISTANCE_BITS, "further than is paid for");

/* So small a deviation that no step of its grid is near what a double holds. */
static const double DEVIATION_MIN = 1e-30;

bool party_dp_possible(const struct config_party *config, size_t weights)
{
    return config->train != TRAIN_DP || (dpsum_ratio(config->noise, weights) > 0 &&
                                         config->noise * config->clip >= DEVIATION_MIN);
}

enum status party_dp_init(struct party_dp *d, const struct config_party *config,
                          const struct nn_spec *spec, uint32_t batch)
{
    const size_t weights = nn_spec_params(spec);

    *d = (struct party_dp){.clip = config->clip, .noise = config->noise};
    if (config->train != TRAIN_DP)
        return STATUS_OK;
    if (!party_dp_possible(config, weights) ||
        gauss_init(&d->gauss, dpsum_ratio(config->noise, weights)) != STATUS_OK)
        return STATUS_CONFIG;
    d->factor = mem_alloc(batch, sizeof *d->factor);
    d->draws = mem_alloc(weights, sizeof *d->draws);
    d->memory = mem_alloc(dpsum_doubles(spec), sizeof *d->memory);
    if (d->factor == NULL || d->draws == NULL || d->memory == NULL)
        return STATUS_MEMORY;
    d->memory_n = dpsum_doubles(spec);
    dpsum_init(&d->sum, spec, d->memory);
    return rng_init_system(&d->rng);
}

enum status party_dp_renew(struct party_dp *d)
{
    return d->draws == NULL ? STATUS_OK : rng_renew(&d->rng);
}

void party_dp_seed(struct party_dp *d, uint64_t seed, uint32_t party)
{
    d->seeded = true;
    d->seed = seed;
    d->party = party;
}

void party_dp_deinit(struct party_dp *d)
{
    if (d->rows > 0)
        log_info("%.2f %% of the gradients of single records were longer than model.clip",
                 100.0 * (double)d->cut / (double)d->rows);
    mem_free(d->factor);
    mem_free(d->draws);
    if (d->memory != NULL)
        secret_wipe(d->memory, d->memory_n * sizeof *d->memory);
    mem_free(d->memory);
    gauss_deinit(&d->gauss);
    rng_deinit(&d->rng);
    *d = (struct party_dp){0};
}

void party_dp_backward(struct party_dp *d, struct nn_net *net, const float *dy, uint64_t place)
{
    const double mean = 1.0 / net->rows;
    uint8_t key[RNG_KEY_BYTES];

    if (d->seeded) {
        rng_seed_key(key, d->seed, d->party, "gradient noise", place);
        rng_rekey(&d->rng, key);
    }
    d->rows += net->rows;
    d->cut += dpsgd_backward(&d->sum, net, dy, d->clip * mean, d->factor);
    gauss_sample(&d->gauss, d->draws, d->sum.params, &d->rng);
    draw_forget(&d->rng);
    dpsum_release(&d->sum, net, d->draws, d->noise * d->clip * mean / d->gauss.sigma);
    secret_wipe(d->draws, d->sum.params * sizeof *d->draws);
}
