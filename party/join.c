/* join.c -- GATHER: what a join says of this party, and whose offer it takes, for which set.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/federation.h"

#include "common/base/mem.h"
#include "common/crypto/secret.h"

#include <string.h>

enum status party_federation_init(struct party_federation *f, const struct party_setup *setup,
                                  struct error *error)
{
    f->setup = setup;
    f->error = error;
    f->set.hellos = mem_alloc(setup->roster->n, sizeof *f->set.hellos);
    return f->set.hellos != NULL ? STATUS_OK : STATUS_MEMORY;
}

void party_federation_deinit(struct party_federation *f)
{
    party_forget_keys(f);
    mem_free(f->set.hellos);
}

void party_join(const struct party_federation *f, struct wire_join *j)
{
    static const uint8_t nothing[WIRE_DIGEST_BYTES];

    j->version = WIRE_VERSION;
    j->trail = nothing;
    j->roster_digest = f->setup->roster->digest;
    j->generation = f->set.generation;
    j->min_parties = f->setup->config->policy.min_parties;
    j->keeps = f->setup->checkpoint_rounds > 0;
}

void party_forget_keys(struct party_federation *f)
{
    secret_wipe(f->kex_secret, sizeof f->kex_secret);
    party_compare_forget(f);
}

void party_forget_job(struct party_federation *f)
{
    struct agree_hello *hellos = f->set.hellos;

    party_forget_keys(f);
    memset(hellos, 0, f->setup->roster->n * sizeof *hellos);
    f->set = (struct party_set){.generation = f->set.generation, .hellos = hellos};
    f->stalled = 0;
    f->furthest = 0;
    memset(f->job, 0, sizeof f->job);
    memset(f->nonce, 0, sizeof f->nonce);
    memset(f->kex_public, 0, sizeof f->kex_public);
    memset(f->ids.offered, 0, sizeof f->ids.offered);
    f->own = (struct agree_hello){.ledger = 0};
    f->own_confirm = (struct agree_confirm){.members = 0};
}

/* --- an offer --- */

enum status party_check_offer(struct party_federation *f, const struct wire_offer *o,
                              uint64_t furthest)
{
    if (o->generation <= f->set.generation)
        return error_set(f->error, STATUS_PROTOCOL, "offer: generation %llu after %llu",
                         (unsigned long long)o->generation, (unsigned long long)f->set.generation);
    if (furthest > f->furthest)
        f->stalled = 0;
    f->furthest = furthest;
    if (++f->stalled > PARTY_STALLED_MAX) /* each may release the same rows once more */
        return error_set(f->error, STATUS_PROTOCOL, "offer: %d generations without a step forward",
                         PARTY_STALLED_MAX);
    return STATUS_OK;
}

enum status party_take_members(struct party_federation *f, const struct wire_offer *o)
{
    bool self = false;

    for (size_t i = 0; i < o->members.n; i++) {
        if (o->members.data[i] >= f->setup->roster->n)
            return error_set(f->error, STATUS_PROTOCOL,
                             "offer: a member that is not in the roster");
        if (o->members.data[i] == f->setup->self) {
            f->set.self = (uint32_t)i;
            self = true;
        }
        f->set.members[i] = o->members.data[i];
    }
    f->set.members_n = (uint32_t)o->members.n;
    return self
               ? STATUS_OK
               : error_set(f->error, STATUS_PROTOCOL, "offer: this party is not among the members");
}

void party_take_offer(struct party_federation *f, const struct wire_offer *o,
                      const uint8_t digest[WIRE_DIGEST_BYTES])
{
    f->set.generation = o->generation;
    memcpy(f->set.playing, o->playing, sizeof f->set.playing);
    memcpy(f->job, digest, sizeof f->job);
    memcpy(f->ids.offered, o->element, sizeof f->ids.offered);
}
