/* trail.c -- the chain over gradients.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/trail.h"

#include "common/base/le.h"

static void put_u64(struct digest *d, uint64_t v)
{
    uint8_t word[8];

    le_put(word, v, sizeof word);
    digest_update(d, word, sizeof word);
}

void trail_begin(struct trail *t, struct digest *d, const uint8_t plan_digest[WIRE_DIGEST_BYTES])
{
    digest_begin(d);
    digest_update(d, "vfl/trail/1", 11);
    digest_update(d, plan_digest, WIRE_DIGEST_BYTES);
    digest_final(d, t->value);
}

void trail_add(struct trail *t, struct digest *d, uint64_t step, const void *gradient, size_t n)
{
    digest_begin(d);
    digest_update(d, t->value, sizeof t->value);
    put_u64(d, step);
    digest_update(d, gradient, n);
    digest_final(d, t->value);
}

void trail_view(uint8_t view[WIRE_DIGEST_BYTES], struct digest *d, const struct trail *t,
                const struct trail_round *r)
{
    digest_begin(d);
    digest_update(d, "vfl/view/1", 10);
    digest_update(d, t->value, sizeof t->value);
    put_u64(d, r->generation);
    put_u64(d, r->purpose);
    put_u64(d, r->round);
    put_u64(d, r->place);
    put_u64(d, r->sweep);
    digest_final(d, view);
}

bool trail_is_shared(const struct plan *plan)
{
    return plan->protocol.straggler == STRAGGLER_WAIT && !plan_keeps_apart(plan) &&
           plan->training.releases == RELEASES_EVERY_EPOCH;
}
