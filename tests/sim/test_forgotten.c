/* test_forgotten.c -- keys live as long as they are needed: the secret of the key agreement from a
 * hello until all hellos are in, masks until their generation ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/inside.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;

struct watch {
    size_t there, gone; /* times that it was looked at */
};

static bool is_secret_there(const struct party_session *p)
{
    static const uint8_t none[WIRE_KEY_BYTES];

    return memcmp(p->fed.kex_secret, none, sizeof none) != 0;
}

/* As each message of the server lands. */
static void look(struct sim *s, struct flight *f, void *owner)
{
    const struct party_session *p = s->party[f->party].session;
    struct watch *w = owner;

    if (f->up || !s->party[f->party].connected)
        return;
    if (p->sm.phase == PHASE_AGREE && s->party[f->party].sent[WIRE_HELLO] > 0) {
        assert_true(is_secret_there(p));
        w->there++;
    } else {
        assert_false(is_secret_there(p));
        assert_int_equal(inside(p)->round.masks != NULL, p->sm.phase != PHASE_GATHER);
        w->gone++;
    }
}

static void test_keys_go_as_soon_as_they_are_not_needed(void **state)
{
    static const char *const aggregations[] = {"protocol.aggregation=masked",
                                               "protocol.aggregation=coded"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sim_options o = {
            .parties = 3, .train_rows = 12, .quiet = true, .sets = {aggregations[i]}};
        struct sim *s = sim_new(&o);
        struct watch w = {0};

        s->tap = (struct sim_tap){look, &w};
        sim_rule(
            s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_CONFIRM, .nth = 1});
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_true(w.there >= 3 && w.gone >= 12);
        for (uint32_t k = 0; k < 3; k++) {
            assert_false(is_secret_there(s->party[k].session));
            assert_null(inside(s->party[k].session)->round.masks);
        }
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_go_as_soon_as_they_are_not_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
