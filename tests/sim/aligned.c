/* aligned.c -- lists, a playing, and what is heard of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/aligned.h"

#include "tests/sim/standing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HOUR_US UINT64_C(3600000000)

const uint32_t aligned_sizes[ALIGNED_LISTS] = {7, 5, 6, 6};
const uint64_t aligned_ids[ALIGNED_LISTS][ALIGNING_MAX] = {
    {5, 1, 9, 3, 7, 2, 8}, {9, 2, 4, 1, 8}, {8, 1, 2, 9, 3, 6}, {2, 9, 10, 8, 1, 11}};

struct sim_list *aligned_list(struct sim *s, int who)
{
    return who == SIM_SERVER ? &s->list : &s->party[who].list;
}

struct sim *aligned_new(const struct sim_options *o,
                        const uint64_t ids[ALIGNED_LISTS][ALIGNING_MAX])
{
    struct sim *s = sim_new(o);

    for (int who = SIM_SERVER; who < ALIGNED_PARTIES; who++)
        aligning_list(aligned_list(s, who), ids[who + 1], aligned_sizes[who + 1]);
    return s;
}

struct sim *aligned_common(const char *policy)
{
    const struct sim_options o = {.parties = ALIGNED_PARTIES,
                                  .stands = true,
                                  .checkpoint_rounds = 2,
                                  .party_sets = {"policy.align.min_result=1", policy}};

    return aligned_new(&o, aligned_ids);
}

void aligned_play(struct sim *s, uint32_t chunk, bool labelled)
{
    const struct standing_job job = {.kind = STANDING_ALIGN, .chunk = chunk, .labelled = labelled};

    standing_play(s, &job);
    sim_run(s, 2 * HOUR_US);
}

/* --- what is said --- */

static void hear_sizes(struct sim *s, int who, uint32_t to, const struct wire_msg *m, void *owner)
{
    struct aligned_said *o = owner;

    (void)s;
    assert_true(o->n < ALIGNED_SAID_MAX);
    o->at[o->n].who = who;
    o->at[o->n].to = who == SIM_SERVER ? to : 0;
    o->at[o->n].kind = m->kind;
    if (m->kind == WIRE_BATCH) {
        o->at[o->n].entries = m->batch.entries.n;
        o->at[o->n].tag = m->batch.tag.n;
        o->at[o->n].tallies = m->batch.tallies.n;
        o->at[o->n].step = m->batch.step;
        o->at[o->n].common = m->batch.common;
    }
    o->n++;
}

void aligned_no_charge(struct sim *s, uint32_t party, const struct action_charge *c, void *owner)
{
    (void)s;
    (void)party;
    (void)c;
    (void)owner;
    fail_msg("an alignment charges no ledger");
}

void aligned_no_end(struct sim *s, int who, void *owner)
{
    (void)s;
    (void)who;
    (void)owner;
}

struct sim_ear aligned_ear(struct aligned_said *said)
{
    *said = (struct aligned_said){.n = 0};
    return (struct sim_ear){hear_sizes, aligned_no_charge, aligned_no_end, said};
}
