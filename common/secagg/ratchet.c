/* ratchet.c -- keys that move forward with the rounds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/ratchet.h"

#include "common/crypto/kex.h"
#include "common/crypto/secret.h"

#include <string.h>

_Static_assert((int)SECAGG_KEY_BYTES == (int)KEX_BYTES, "a key goes through the ratchet");

static const char label[] = "vfl/ratchet/1";

enum status ratchet_init(struct ratchet *k, uint32_t parties, uint32_t self)
{
    *k = (struct ratchet){.parties = parties, .self = self};
    k->key = secret_alloc(parties, sizeof *k->key);
    return k->key == NULL ? STATUS_MEMORY : STATUS_OK;
}

void ratchet_deinit(struct ratchet *k)
{
    secret_free(k->key, k->parties, sizeof *k->key);
    memset(k, 0, sizeof *k);
}

static enum status turn(struct ratchet *k, uint64_t epoch)
{
    enum status s = STATUS_OK;

    for (uint32_t j = 0; j < k->parties; j++)
        for (uint64_t e = k->epoch; e < epoch && j != k->self && s == STATUS_OK; e++)
            s = kex_ratchet(k->key[j], label);
    if (s != STATUS_OK) {
        secret_wipe(k->key, k->parties * sizeof *k->key);
        k->lost = true;
    }
    return s;
}

enum status ratchet_begin(struct ratchet *k, uint64_t round, bool *turned)
{
    const uint64_t epoch = round / SECAGG_RATCHET_ROUNDS;
    enum status s = STATUS_OK;

    *turned = false;
    if (k->lost)
        return STATUS_CRYPTO;
    if (k->started && round <= k->last_round)
        return STATUS_PROTOCOL;
    if (epoch - k->epoch > SECAGG_RATCHET_STEPS_MAX)
        return STATUS_PROTOCOL;
    if (epoch != k->epoch)
        s = turn(k, epoch);
    if (s != STATUS_OK)
        return s;
    *turned = epoch != k->epoch;
    k->epoch = epoch;
    k->started = true;
    k->last_round = round;
    return STATUS_OK;
}
