/* test_counted_raw.c -- what a bottom was priced as stays with its checkpoint: no configuration of
 * a later process makes one cheaper that has counted as raw.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/session.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum { PARTIES = 3, VICTIM = 1, DOWN_US = 20000 };

/* data.scale of the victim, and data.scale_given. */
struct says {
    const char *scale;
    bool given;
};

static void say(struct sim *s, struct says what)
{
    struct config_party *c = &s->party[VICTIM].config;

    snprintf(c->scale, sizeof c->scale, "%s", what.scale);
    c->scale_given = what.given;
}

/* Or until the victim has ended. */
static void run_to_step(struct sim *s, uint64_t step)
{
    uint64_t us = 100;

    while (sim_server_report(s)->steps < step && !sim_party_end(s, VICTIM)->over) {
        const uint64_t before = sim_now_us(s);

        sim_run(s, us);
        us = sim_now_us(s) == before ? us + 100 : 100;
    }
}

/* The victim dies in the middle of the run and comes back with another configuration; and once
 * more, with that one. */
static struct sim *restarted(const char *train, struct says before, struct says after)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 12,
                            .checkpoint_rounds = 3,
                            .quiet = true,
                            .sets = {"training.epochs=5", "protocol.patience_ms=2000"},
                            .party_sets = {train}};
    struct sim *s;

    if (strcmp(train, "model.train=dp") == 0) {
        o.party_sets[1] = "model.clip=1";
        o.party_sets[2] = "model.noise=2";
    }
    s = sim_new(&o);
    say(s, before);
    for (uint64_t death = 0; death < 2; death++) {
        run_to_step(s, 7 + 5 * death);
        sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                           .who = VICTIM,
                                           .at_us = sim_now_us(s) + 1,
                                           .down_us = DOWN_US});
        sim_run(s, DOWN_US / 2);
        say(s, after);
    }
    sim_run(s, HOUR_US);
    return s;
}

static const char *const kinds[] = {"model.train=frozen", "model.train=dp"};

static void test_a_bottom_that_counted_raw_is_never_taken_for_another(void **state)
{
    static const struct says raw = {"scale.csv", false},
                             cheaper[] = {{"none", false}, {"scale.csv", true}};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < 2; i++) {
            struct sim *s = restarted(kinds[k], raw, cheaper[i]);
            const struct sim_end *end = sim_party_end(s, VICTIM);

            assert_true(end->over);
            assert_int_equal(end->error.status, STATUS_CONFIG);
            if (strstr(end->error.text, "counts as raw") == NULL)
                fail_msg("'%s'", end->error.text);
            sim_free(s);
        }
    }
}

static void test_one_that_is_priced_as_before_or_higher_goes_on(void **state)
{
    static const struct says cases[][2] = {
        {{"scale.csv", false}, {"scale.csv", false}},
        {{"scale.csv", true}, {"none", false}},
        {{"none", false}, {"scale.csv", false}}, /* raw from there on */
    };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct sim *s = restarted(kinds[k], cases[i][0], cases[i][1]);

            expect_completed(s);
            sim_free(s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bottom_that_counted_raw_is_never_taken_for_another),
        cmocka_unit_test(test_one_that_is_priced_as_before_or_higher_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
