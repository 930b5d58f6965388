/* larger.c -- what tests of sets that are refused for a larger one share.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/larger.h"

#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct sim_options larger_options(uint32_t parties)
{
    return (struct sim_options){
        .parties = parties,
        .train_rows = 12,
        .sets = {"protocol.straggler=drop", "protocol.deadline_ms=100",
                 "protocol.patience_ms=60000", "training.epochs=4"},
        .party_sets = {"policy.min_parties=3", "policy.min_m_eff=2"},
    };
}

void larger_completed_but(struct sim *s, uint32_t dead)
{
    assert_string_equal(sim_server_end(s)->error.text, "");
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < s->options.parties; i++) {
        if (i != dead)
            assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    }
}

void larger_wish(struct wire_msg *m, void *owner)
{
    const struct larger_wish *w = owner;

    m->kind = WIRE_REFUSE;
    m->refuse = (struct wire_refuse){
        .kind = STATUS_KIND_POLICY, .text = "too few", .generation = w->generation, .larger = true};
}
