/* dp.c -- clip, sum, noise.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/dp.h"

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/nn/dpsgd.h"

enum status party_dp_init(struct party_dp *d, const struct config_party *config, uint32_t batch)
{
    *d = (struct party_dp){.clip = config->clip, .noise = config->noise};
    if (config->train != TRAIN_DP)
        return STATUS_OK;
    d->factor = mem_alloc(batch, sizeof *d->factor);
    return d->factor == NULL ? STATUS_MEMORY : rng_init_system(&d->rng);
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
    d->cut += dpsgd_backward(net, dy, d->clip * mean, d->factor);
    dpsgd_noise(net, d->noise * d->clip * mean, &d->rng);
}
