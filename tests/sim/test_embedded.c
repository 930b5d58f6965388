/* test_embedded.c -- bottoms whose first layer has tables, under each aggregation, local steps and
 * noise: whoever dies, their models are the same, and nobody outside can tell of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/mem.h"
#include "tests/sim/deaths.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum { VICTIM = 1 };

static const char *const runs[][4] = {
    {"protocol.aggregation=masked", "protocol.encoding=pbm", "training.optimizer=adam"},
    {"protocol.aggregation=masked", "protocol.encoding=fixed", "protocol.local_iterations=3",
     "protocol.proximal=0.1"},
    {"protocol.aggregation=coded", "protocol.encoding=gaussian", "training.optimizer=momentum"},
    {"protocol.aggregation=clear", "protocol.encoding=topk", "protocol.local_view=refreshed",
     "protocol.local_iterations=2"},
};
enum { RUNS = sizeof runs / sizeof *runs };

/* noisy: model.train dp. */
static struct sim_options options_of(size_t i, bool embeds, bool noisy)
{
    return (struct sim_options){
        .parties = 3,
        .train_rows = 10,
        .checkpoint_rounds = 3,
        .quiet = true,
        .watch = true,
        .embeds = embeds,
        .sets = {"training.epochs=2", "training.batch=4", "training.weight_decay=0.01", runs[i][0],
                 runs[i][1], runs[i][2], runs[i][3]},
        .party_sets = {"policy.encodings=[pbm, fixed, float32, gaussian, topk]",
                       noisy ? "model.train=dp" : "model.train=raw",
                       noisy ? "model.noise=2" : NULL},
    };
}

static void test_whoever_dies_the_models_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        const struct sim_options o = options_of(i, true, i == 0);

        deaths_at_every_message(&o, runs[i][2]);
    }
}

/* As many messages of the same bytes, for which everybody is charged the same. */
static void test_tables_send_and_cost_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        uint64_t charged[2], uploaded[2], sent[2];

        for (int k = 0; k < 2; k++) {
            struct sim_options o = options_of(i, k == 1, false);
            struct sim *s = sim_new(&o);

            sim_run(s, HOUR_US);
            expect_completed(s);
            charged[k] = sim_charged(s, 1);
            uploaded[k] = sim_uploaded(s, 1);
            sent[k] = sim_sent(s, 1, WIRE_UPLOAD);
            sim_free(s);
        }
        assert_int_equal(charged[0], charged[1]);
        assert_int_equal(uploaded[0], uploaded[1]);
        assert_int_equal(sent[0], sent[1]);
    }
}

/* --- a checkpoint, and the data that its process finds --- */

static void name_column(struct sim *s, const char *name)
{
    snprintf(s->embedding.column[0].name, TABLE_NAME_MAX, "%s", name);
}

static void swap_places(struct sim *s)
{
    uint32_t *place = s->embedding.column[0].place;
    const uint32_t first = place[0];

    place[0] = place[1];
    place[1] = first;
}

/* The same levels at the same places, found in another order. */
static void turn_order(struct sim *s)
{
    struct schema_column *c = &s->embedding.column[0];
    const uint32_t n = c->levels.n;
    struct levels turned = {0};
    uint32_t number;

    for (uint32_t i = 0; i < n; i++)
        CHECK(levels_add(&turned, levels_text(&c->levels, n - 1 - i), 1, &number) == STATUS_OK);
    levels_deinit(&c->levels);
    c->levels = turned;
    for (uint32_t i = 0; i < n; i++)
        c->place[i] = n - 1 - i;
}

/* As many, so that the bytes of the bottom would fit: its tables would be of other levels. */
static void test_a_saved_bottom_is_for_no_other_levels_and_names(void **state)
{
    enum { SAME, ORDER, PLACES, NAME, KINDS };

    (void)state;
    for (int what = SAME; what < KINDS; what++) {
        const struct sim_options o = options_of(0, true, false);
        struct sim *s = sim_new(&o);
        const struct sim_end *end = sim_party_end(s, VICTIM);

        name_column(s, "place");
        sim_run_to_step(s, 4);
        sim_kill_at(s, VICTIM, sim_now_us(s) + 1);
        if (what == ORDER)
            turn_order(s);
        if (what == PLACES)
            swap_places(s);
        if (what == NAME)
            name_column(s, "plaice");
        sim_run(s, HOUR_US);
        if (what == SAME || what == ORDER) {
            expect_completed(s);
        } else {
            assert_true(end->over && end->outcome == OUTCOME_FAILED);
            assert_int_equal(end->error.status, STATUS_IO);
            assert_non_null(strstr(end->error.text, "state: the saved bottom is of columns with "
                                                    "other names, or of other levels"));
            assert_null(strstr(end->error.text, "plaice"));
        }
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_saved_bottom_is_for_no_other_levels_and_names),
        cmocka_unit_test(test_whoever_dies_the_models_are_the_same),
        cmocka_unit_test(test_tables_send_and_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
