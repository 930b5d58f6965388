/* test_plan_seeds.c -- the plans that the fuzzing of plan texts begins with: accepted as they are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan.h"
#include "tests/lib/seeds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void coded(struct plan *p)
{
    p->protocol.aggregation = AGGREGATION_CODED;
    p->protocol.coded.segments = 2;
}

static void fedvs(struct plan *p)
{
    p->protocol.encoding = ENCODING_FIXED;
    p->protocol.aggregation = AGGREGATION_FEDVS;
    p->protocol.fedvs.segments = 2;
    p->protocol.fedvs.prime = PRIME_31;
    p->protocol.fedvs.x_bits = 6;
}

static void gaussian(struct plan *p)
{
    p->model.head = (struct config_layers){4,
                                           {{LAYERS_UNITS, {64}},
                                            {.word = LAYERS_BATCHNORM},
                                            {LAYERS_GROUPNORM, {4}},
                                            {LAYERS_UNITS, {32}}}};
    p->protocol.encoding = ENCODING_GAUSSIAN;
    p->protocol.gaussian.match = GAUSSIAN_SIGMA;
    p->protocol.gaussian.sigma = 0.30000000000000004;
    p->training.seed = UINT64_C(18446744073709551557);
}

static void async(struct plan *p)
{
    p->protocol.aggregation = AGGREGATION_CLEAR;
    p->protocol.straggler = STRAGGLER_ASYNC;
}

static void cvfl(struct plan *p)
{
    p->model.fusion = FUSION_CONCAT;
    p->protocol.encoding = ENCODING_LATTICE;
    p->protocol.aggregation = AGGREGATION_CLEAR;
    p->protocol.head_bits = 4;
    p->protocol.error_feedback = true;
    p->protocol.local_iterations = 10;
    p->protocol.local_view = VIEW_REFRESHED;
    p->training.schedule = SCHEDULE_INVERSE_SQRT_PARTIES;
}

static void largest(struct plan *p)
{
    p->model.fusion = FUSION_MAX;
    p->model.head = (struct config_layers){4,
                                           {{.word = LAYERS_RESIDUAL},
                                            {LAYERS_GROUPNORM, {2}},
                                            {.word = LAYERS_TANH},
                                            {.word = LAYERS_ADD}}};
    p->protocol.aggregation = AGGREGATION_CLEAR;
    p->protocol.encoding = ENCODING_FLOAT32;
    p->protocol.local_iterations = 3;
    p->protocol.local_view = VIEW_REFRESHED;
}

static void fedbcd(struct plan *p)
{
    p->model.embedding = 2;
    p->model.output = OUTPUT_IDENTITY;
    p->protocol.encoding = ENCODING_FLOAT32;
    p->protocol.aggregation = AGGREGATION_CLEAR;
    p->protocol.local_iterations = 10;
    p->protocol.local_view = VIEW_REFRESHED;
    p->protocol.label_holders = 1;
    p->protocol.local_order = ORDER_SEQUENTIAL;
    p->protocol.proximal = 0.5;
}

static void once(struct plan *p)
{
    p->protocol.encoding = ENCODING_FIXED;
    p->training.releases = RELEASES_ONCE;
    p->training.optimizer = OPTIMIZER_ADAM;
}

static const struct {
    const char *name;
    void (*make)(struct plan *p);
} seeds[] = {
    {"default.txt", NULL},      {"coded.txt", coded}, {"fedvs.txt", fedvs},
    {"gaussian.txt", gaussian}, {"async.txt", async}, {"cvfl.txt", cvfl},
    {"fedbcd.txt", fedbcd},     {"once.txt", once},   {"max.txt", largest},
};

static void printed(size_t i, struct buf *text)
{
    struct plan p;

    plan_defaults(&p);
    p.training.seed_given = p.privacy.delta_given = true;
    p.training.weight_decay_given = true;
    p.shape.parties = 5;
    p.shape.train_rows = 8844;
    p.shape.test_rows = 2211;
    p.shape.outputs = 2;
    if (seeds[i].make != NULL)
        seeds[i].make(&p);
    buf_init(text, PLAN_TEXT_MAX);
    assert_int_equal(plan_print(&p, text), STATUS_OK);
}

static void test_each_seed_is_a_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct error err = {0};
        struct plan p;
        struct buf text;

        printed(i, &text);
        if (plan_parse(&p, (const char *)text.data, text.len, &err) != STATUS_OK)
            fail_msg("%s: %s", seeds[i].name, err.text);
        seeds_hold("plan", seeds[i].name, text.data, text.len);
        buf_deinit(&text);
    }
}

static void test_half_of_one_is_none(void **state)
{
    struct plan p;
    struct buf text;

    (void)state;
    printed(0, &text);
    assert_int_not_equal(plan_parse(&p, (const char *)text.data, text.len / 2, NULL), STATUS_OK);
    seeds_hold("plan", "cut.txt", text.data, text.len / 2);
    buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_seed_is_a_plan),
        cmocka_unit_test(test_half_of_one_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
