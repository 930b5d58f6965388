/* test_plan_rules_local.c -- the rules of local steps, of compressors and of a model without a
 * head, each with a plan it refuses and the nearest one it lets pass.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan_rules.h"

#include "tests/unit/config/refused.h"

/* In clear, where everything here can be had. */
static void clear(void)
{
    start();
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.encoding = ENCODING_FLOAT32;
    pass();
}

static void fedvs(void)
{
    start();
    p.protocol.aggregation = AGGREGATION_FEDVS;
    p.protocol.encoding = ENCODING_FIXED;
    pass();
}

/* --- compressors --- */

static void test_what_compresses_is_all_behind_gaussian(void **state)
{
    (void)state;
    clear();
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
        p.protocol.encoding = (enum plan_encoding)e;
        assert_int_equal(plan_compresses(&p), e >= ENCODING_SCALAR && e <= ENCODING_TOPK);
    }
}

static void test_what_compresses_needs_clear(void **state)
{
    static const enum plan_aggregation hidden[] = {AGGREGATION_MASKED, AGGREGATION_CODED,
                                                   AGGREGATION_FEDVS};

    (void)state;
    for (int e = ENCODING_SCALAR; e <= ENCODING_TOPK; e++) {
        for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
            clear();
            p.protocol.encoding = (enum plan_encoding)e;
            pass();
            p.protocol.aggregation = hidden[i];
            refuse("protocol.encoding: float32 and what compresses (scalar, lattice, e8, "
                   "topk) cannot be added under masks or in shares: they need aggregation clear");
        }
    }
}

static void test_what_compresses_takes_every_fusion_and_straggler_of_clear(void **state)
{
    (void)state;
    for (int e = ENCODING_SCALAR; e <= ENCODING_TOPK; e++) {
        clear();
        p.protocol.encoding = (enum plan_encoding)e;
        for (int f = FUSION_SUM; f <= FUSION_MAX; f++) {
            p.model.fusion = (enum plan_fusion)f;
            p.protocol.straggler = STRAGGLER_WAIT;
            pass();
            p.protocol.straggler = STRAGGLER_ASYNC;
            pass();
        }
        p.model.fusion = FUSION_SUM;
        p.protocol.straggler = STRAGGLER_DROP;
        pass();
    }
}

static void test_a_range_of_codes_is_for_scalar(void **state)
{
    (void)state;
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
        clear();
        p.protocol.encoding = (enum plan_encoding)e;
        p.protocol.code_range = CODE_RANGE_CLIP;
        if (e == ENCODING_SCALAR)
            pass();
        else
            refuse("protocol.code_range: the codes of every other encoding have a range");
        p.protocol.code_range = CODE_RANGE_MESSAGE;
        pass();
    }
}

static void test_error_feedback_needs_an_error(void **state)
{
    (void)state;
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
        clear();
        p.protocol.encoding = (enum plan_encoding)e;
        p.protocol.error_feedback = true;
        if (e >= ENCODING_SCALAR)
            pass();
        else
            refuse("protocol.error_feedback: only what compresses leaves an error to add");
        p.protocol.error_feedback = false;
        pass();
    }
}

static void test_error_feedback_needs_every_upload_taken(void **state)
{
    (void)state;
    for (int s = STRAGGLER_DROP; s <= STRAGGLER_ASYNC; s++) {
        clear();
        p.protocol.encoding = ENCODING_LATTICE;
        p.protocol.error_feedback = true;
        p.protocol.straggler = (enum plan_straggler)s;
        refuse("protocol.error_feedback: an upload that the server did not take");
        p.protocol.error_feedback = false;
        pass();
        p.protocol.error_feedback = true;
        p.protocol.straggler = STRAGGLER_WAIT;
        pass();
    }
}

/* --- the view --- */

/* What a party's price against other parties hangs on. */
static void test_parties_are_shown_uploads_side_by_side_by_chance_or_as_they_came(void **state)
{
    (void)state;
    clear();
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
        p.protocol.encoding = (enum plan_encoding)e;
        p.protocol.local_view = VIEW_STALE;
        assert_false(plan_shows_each(&p));
        p.protocol.local_view = VIEW_REFRESHED;
        assert_int_equal(plan_shows_each(&p), e >= ENCODING_SCALAR);
    }
    clear();
    p.model.fusion = FUSION_CONCAT;
    assert_true(plan_shows_each(&p));
    clear();
    for (int s = STRAGGLER_WAIT; s <= STRAGGLER_ASYNC; s++) {
        p.protocol.straggler = (enum plan_straggler)s;
        assert_int_equal(plan_shows_each(&p), s != STRAGGLER_WAIT);
    }
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.local_view = VIEW_REFRESHED;
        assert_false(plan_shows_each(&p));
        p.protocol.straggler = STRAGGLER_DROP; /* the set is agreed on anew */
        assert_false(plan_shows_each(&p));
    }
}

static void test_refreshed_takes_clear_masks_and_shares_of_codes(void **state)
{
    (void)state;
    clear();
    p.protocol.local_view = VIEW_REFRESHED;
    pass();
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.local_view = VIEW_REFRESHED;
        p.protocol.aggregation = HIDDEN[i];
        pass();
        p.protocol.fixed.bits = 12;
        p.protocol.encoding = ENCODING_FIXED;
        pass();
    }
}

static void test_refreshed_takes_no_gain(void **state)
{
    (void)state;
    start();
    p.protocol.pbm.gain = 2;
    pass();
    p.protocol.local_view = VIEW_REFRESHED;
    refuse("protocol.pbm.gain: refreshed puts a party's new embedding");
    p.protocol.pbm.gain = 1;
    pass();
    p.protocol.pbm.gain = 2;
    p.protocol.encoding = ENCODING_FIXED;
    pass();
}

static void test_refreshed_is_not_for_fedvs(void **state)
{
    (void)state;
    fedvs();
    p.protocol.local_view = VIEW_REFRESHED;
    refuse("protocol.local_view: under fedvs a party never has its own embedding");
    p.protocol.local_view = VIEW_STALE;
    pass();
    p.protocol.local_view = VIEW_REFRESHED;
    p.protocol.aggregation = AGGREGATION_MASKED;
    pass();
}

static void test_refreshed_needs_everybody(void **state)
{
    (void)state;
    for (int s = STRAGGLER_DROP; s <= STRAGGLER_ASYNC; s++) {
        clear();
        p.protocol.local_view = VIEW_REFRESHED;
        p.protocol.straggler = (enum plan_straggler)s;
        refuse("protocol.local_view: refreshed puts a party's new embedding");
        p.protocol.local_view = VIEW_STALE;
        pass();
    }
    start(); /* under masks, too */
    p.protocol.local_view = VIEW_REFRESHED;
    p.protocol.straggler = STRAGGLER_DROP;
    refuse("protocol.local_view: refreshed puts a party's new embedding");
    p.protocol.straggler = STRAGGLER_WAIT;
    pass();
}

static void test_label_holders_refresh(void **state)
{
    (void)state;
    clear();
    p.protocol.label_holders = 1;
    refuse("protocol.label_holders: has a meaning only with local_view refreshed");
    p.protocol.local_view = VIEW_REFRESHED;
    pass();
    p.protocol.local_view = VIEW_STALE;
    p.protocol.label_holders = 0;
    pass();
}

static void test_label_holders_are_parties(void **state)
{
    (void)state;
    clear();
    p.protocol.local_view = VIEW_REFRESHED;
    p.protocol.label_holders = 3;
    pass();
    p.protocol.label_holders = 4;
    refuse("protocol.label_holders: there are not so many parties (4 holders, 3 parties)");
    p.shape.parties = 4;
    pass();
    p.shape.parties = 0; /* not yet known */
    p.protocol.label_holders = PLAN_PARTIES_MAX;
    pass();
}

static void test_side_by_side_all_hold_labels(void **state)
{
    (void)state;
    clear();
    p.protocol.local_view = VIEW_REFRESHED;
    p.model.fusion = FUSION_CONCAT;
    pass();
    p.protocol.label_holders = 1;
    refuse("protocol.label_holders: with concat or max each party without labels");
    p.model.fusion = FUSION_MEAN;
    pass();
}

/* --- the order --- */

static void test_sequential_needs_clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < HIDDEN_N; i++) {
        start();
        p.protocol.aggregation = HIDDEN[i];
        p.protocol.local_order = ORDER_SEQUENTIAL;
        refuse("protocol.local_order: every turn of sequential releases the same batch again");
        p.protocol.local_order = ORDER_PARALLEL;
        pass();
        p.protocol.local_order = ORDER_SEQUENTIAL;
        p.protocol.aggregation = AGGREGATION_CLEAR;
        pass();
    }
    fedvs();
    p.protocol.local_order = ORDER_SEQUENTIAL;
    refuse("protocol.local_order: every turn of sequential releases the same batch again");
}

static void test_sequential_waits(void **state)
{
    (void)state;
    for (int s = STRAGGLER_DROP; s <= STRAGGLER_ASYNC; s++) {
        clear();
        p.protocol.local_order = ORDER_SEQUENTIAL;
        p.protocol.straggler = (enum plan_straggler)s;
        refuse("protocol.local_order: sequential waits for the party whose turn it is");
        p.protocol.local_order = ORDER_PARALLEL;
        pass();
        p.protocol.local_order = ORDER_SEQUENTIAL;
        p.protocol.straggler = STRAGGLER_WAIT;
        pass();
    }
}

static void test_sequential_takes_both_views_and_every_fusion(void **state)
{
    (void)state;
    for (int f = FUSION_SUM; f <= FUSION_MAX; f++) {
        clear();
        p.protocol.local_order = ORDER_SEQUENTIAL;
        p.protocol.local_iterations = 5;
        p.model.fusion = (enum plan_fusion)f;
        pass();
        p.protocol.local_view = VIEW_REFRESHED;
        pass();
    }
}

static void test_the_proximal_pull_needs_a_way_back(void **state)
{
    (void)state;
    clear();
    p.protocol.proximal = 0.1;
    refuse("protocol.proximal: pulls local steps back to where the round began");
    p.protocol.local_iterations = 2;
    pass();
    p.protocol.proximal = 0;
    p.protocol.local_iterations = 1;
    pass();
}

static void test_the_proximal_pull_never_overshoots_by_itself(void **state)
{
    (void)state;
    for (int o = 0; o < 3; o++) {
        clear();
        p.training.optimizer = (enum plan_optimizer)o;
        p.protocol.local_iterations = 5;
        p.training.learning_rate = 1;
        p.protocol.proximal = 1;
        pass();
        p.protocol.proximal = 560;
        refuse("protocol.proximal: times training.learning_rate must be at most 1");
        p.training.learning_rate = 1.0 / 560;
        pass();
        p.training.learning_rate = 1.001 / 560;
        refuse("protocol.proximal: times training.learning_rate must be at most 1");
        p.protocol.proximal = 0;
        p.training.learning_rate = 1000;
        pass();
    }
}

/* --- no head --- */

static void no_head(uint32_t embedding)
{
    clear();
    p.model.output = OUTPUT_IDENTITY;
    p.model.embedding = embedding;
}

static void test_identity_has_no_head(void **state)
{
    (void)state;
    no_head(2);
    pass();
    p.model.head = (struct config_layers){1, {{LAYERS_UNITS, {2}}}};
    refuse("model.output: identity has no head");
    p.model.output = OUTPUT_LINEAR;
    pass();
}

static void test_identity_has_one_value_per_output(void **state)
{
    (void)state;
    no_head(2);
    p.model.fusion = FUSION_MEAN;
    pass();
    p.model.fusion = FUSION_CONCAT;
    refuse("model.output: identity needs a sum for each output");
    p.model.output = OUTPUT_LINEAR;
    pass();
}

static void test_identity_has_no_factors(void **state)
{
    (void)state;
    no_head(2);
    p.protocol.gradient.form = GRADIENT_FACTORED;
    refuse("protocol.gradient.form: with output identity");
    p.protocol.gradient.form = GRADIENT_FULL;
    p.protocol.gradient.type = GRADIENT_INT8;
    pass();
    p.protocol.gradient.form = GRADIENT_FACTORED;
    p.model.output = OUTPUT_LINEAR;
    pass();
}

static void test_identity_is_as_wide_as_the_outputs(void **state)
{
    (void)state;
    no_head(3);
    p.shape.outputs = 3;
    p.model.task = TASK_MULTICLASS;
    pass();
    p.shape.outputs = 4;
    refuse("model.embedding: with output identity the embedding is the outputs, so it must be as "
           "wide: 1 for regression and sigmoid, 2 for binary softmax, the classes for multiclass, "
           "the labels for multilabel (embedding 3, 4 outputs)");
    p.model.embedding = 4;
    pass();
    p.model.embedding = 3;
    p.model.output = OUTPUT_LINEAR;
    pass();
}

static void test_identity_is_as_wide_as_what_is_known_of_the_outputs(void **state)
{
    static const struct {
        enum plan_task task;
        enum plan_binary_loss loss;
        uint32_t outputs; /* 0: the labels will say */
    } cases[] = {{TASK_AUTO, BINARY_SOFTMAX, 0},       {TASK_AUTO, BINARY_SIGMOID, 1},
                 {TASK_BINARY, BINARY_SOFTMAX, 2},     {TASK_BINARY, BINARY_SIGMOID, 1},
                 {TASK_MULTICLASS, BINARY_SOFTMAX, 0}, {TASK_REGRESSION, BINARY_SOFTMAX, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t width = 1; width <= 4; width++) {
            no_head(width);
            p.model.task = cases[i].task;
            p.model.binary_loss = cases[i].loss;
            p.shape.parties = 0; /* not yet known */
            if (cases[i].outputs == 0 || cases[i].outputs == width)
                pass();
            else
                refuse("model.embedding: with output identity");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_compresses_is_all_behind_gaussian),
        cmocka_unit_test(test_what_compresses_needs_clear),
        cmocka_unit_test(test_what_compresses_takes_every_fusion_and_straggler_of_clear),
        cmocka_unit_test(test_a_range_of_codes_is_for_scalar),
        cmocka_unit_test(test_error_feedback_needs_an_error),
        cmocka_unit_test(test_error_feedback_needs_every_upload_taken),
        cmocka_unit_test(test_parties_are_shown_uploads_side_by_side_by_chance_or_as_they_came),
        cmocka_unit_test(test_refreshed_takes_clear_masks_and_shares_of_codes),
        cmocka_unit_test(test_refreshed_takes_no_gain),
        cmocka_unit_test(test_refreshed_is_not_for_fedvs),
        cmocka_unit_test(test_refreshed_needs_everybody),
        cmocka_unit_test(test_label_holders_refresh),
        cmocka_unit_test(test_label_holders_are_parties),
        cmocka_unit_test(test_side_by_side_all_hold_labels),
        cmocka_unit_test(test_sequential_needs_clear),
        cmocka_unit_test(test_sequential_waits),
        cmocka_unit_test(test_sequential_takes_both_views_and_every_fusion),
        cmocka_unit_test(test_the_proximal_pull_needs_a_way_back),
        cmocka_unit_test(test_the_proximal_pull_never_overshoots_by_itself),
        cmocka_unit_test(test_identity_has_no_head),
        cmocka_unit_test(test_identity_has_one_value_per_output),
        cmocka_unit_test(test_identity_has_no_factors),
        cmocka_unit_test(test_identity_is_as_wide_as_the_outputs),
        cmocka_unit_test(test_identity_is_as_wide_as_what_is_known_of_the_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
