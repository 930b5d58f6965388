/* test_plan.c -- one plan, one text: what a hostile peer may not change without being noticed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/plan.h"

#include "common/base/mem.h"
#include "common/config/plan_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void example(struct plan *p)
{
    plan_defaults(p);
    p->model.head = (struct config_layers){2, {{LAYERS_UNITS, {64}}, {LAYERS_UNITS, {32}}}};
    p->training.seed = UINT64_C(18446744073709551557);
    p->training.seed_given = true;
    p->training.weight_decay_given = true;
    p->privacy.delta_given = true;
    p->training.learning_rate = 0.1;
    p->privacy.delta = 1e-6;
    p->shape.parties = 5;
    p->shape.train_rows = 8844;
    p->shape.test_rows = 2211;
    p->shape.outputs = 2;
}

static void print(const struct plan *p, struct buf *out)
{
    buf_init(out, PLAN_TEXT_MAX);
    assert_int_equal(plan_print(p, out), STATUS_OK);
}

static void expect_back(const struct plan *p)
{
    struct plan back;
    struct error err = {0};
    struct buf text;

    print(p, &text);
    memset(&back, 0xa5, sizeof back);
    if (plan_parse(&back, (const char *)text.data, text.len, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(p, &back, sizeof *p);
    buf_deinit(&text);
}

/* Whether the text is refused, or gives a plan that prints to the same bytes. */
static bool refused_or_identical(const uint8_t *text, size_t n, bool *refused)
{
    struct plan p;
    struct buf again;
    bool same;

    *refused = plan_parse(&p, (const char *)text, n, NULL) != STATUS_OK;
    if (*refused)
        return true;
    print(&p, &again);
    same = again.len == n && memcmp(again.data, text, n) == 0;
    buf_deinit(&again);
    return same;
}

static void test_plan_text_reads_back_to_the_same_plan(void **state)
{
    struct plan p;

    (void)state;
    example(&p);
    expect_back(&p);
    p.protocol.aggregation = AGGREGATION_CODED;
    p.protocol.coded.segments = 2;
    p.protocol.coded.privacy = 3;
    expect_back(&p);
    p.protocol.straggler = STRAGGLER_DROP;
    expect_back(&p);
    p.protocol.straggler = STRAGGLER_WAIT;
    p.protocol.aggregation = AGGREGATION_FEDVS;
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fedvs.segments = 2;
    p.protocol.fedvs.prime = PRIME_61;
    p.protocol.fedvs.x_bits = 9;
    p.protocol.fedvs.w_bits = 17;
    p.protocol.fedvs.x_max = 3.5;
    p.protocol.fedvs.w_max = 0.75;
    expect_back(&p);
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.straggler = STRAGGLER_ASYNC;
    expect_back(&p);
}

static void test_a_plan_of_local_steps_and_compressors_reads_back(void **state)
{
    struct plan p;

    (void)state;
    example(&p);
    p.protocol.aggregation = AGGREGATION_CLEAR;
    p.protocol.local_iterations = 10;
    p.protocol.local_view = VIEW_REFRESHED;
    p.protocol.proximal = 0.1;
    p.training.schedule = SCHEDULE_INVERSE_SQRT_PARTIES;
    for (int e = ENCODING_SCALAR; e <= ENCODING_TOPK; e++) {
        p.protocol.encoding = (enum plan_encoding)e;
        p.protocol.bits = 3;
        p.protocol.head_bits = 4;
        p.protocol.error_feedback = true;
        expect_back(&p);
    }
    p.protocol.label_holders = 5;
    p.protocol.local_order = ORDER_SEQUENTIAL;
    expect_back(&p);
    p.model.output = OUTPUT_IDENTITY;
    p.model.head.n = 0;
    memset(p.model.head.item, 0, sizeof p.model.head.item);
    p.model.embedding = 2;
    expect_back(&p);
}

static void test_plan_text_is_one_line_per_key_and_far_below_its_limit(void **state)
{
    static const char first[] = "model.embedding=16\nmodel.fusion=sum\nmodel.head=[64,32]\n";
    struct plan p;
    struct buf text;

    (void)state;
    example(&p);
    print(&p, &text);
    assert_memory_equal(text.data, first, sizeof first - 1);
    assert_non_null(memmem(text.data, text.len, "\nprotocol.gradient.form=full\n", 29));
    assert_non_null(memmem(text.data, text.len, "\nprivacy.delta=1e-6\n", 20));
    assert_true(text.len < PLAN_TEXT_MAX / 4);
    buf_deinit(&text);
}

static void test_every_single_byte_change_is_refused_or_means_what_it_says(void **state)
{
    size_t passed = 0, total = 0;
    struct plan p;
    struct buf text;

    (void)state;
    example(&p);
    print(&p, &text);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t was = text.data[i];

        for (unsigned v = 0; v < 256; v++) {
            bool refused;

            if (v == was)
                continue;
            text.data[i] = (uint8_t)v;
            if (!refused_or_identical(text.data, text.len, &refused))
                fail_msg("byte %zu: %u for %u", i, v, was);
            passed += !refused;
            total++;
        }
        text.data[i] = was;
    }
    /* Digits may change into other values in range; almost all else is noise. */
    assert_true(passed > 0 && passed < total / 100);
    buf_deinit(&text);
}

static void
test_every_cut_every_missing_and_every_inserted_byte_is_refused_or_means_what_it_says(void **state)
{
    uint8_t changed[PLAN_TEXT_MAX];
    bool refused;
    struct plan p;
    struct buf text;

    (void)state;
    example(&p);
    print(&p, &text);
    for (size_t i = 0; i < text.len; i++) {
        assert_int_equal(plan_parse(&p, (const char *)text.data, i, NULL), STATUS_PROTOCOL);
        memcpy(changed, text.data, i);
        memcpy(changed + i, text.data + i + 1, text.len - i - 1);
        assert_true(refused_or_identical(changed, text.len - 1, &refused));
        for (const char *c = "0 9\n-.,]=e\t+x"; *c != 0; c++) {
            memcpy(changed, text.data, i);
            changed[i] = (uint8_t)*c;
            memcpy(changed + i + 1, text.data + i, text.len - i);
            assert_true(refused_or_identical(changed, text.len + 1, &refused));
        }
    }
    buf_deinit(&text);
}

/* Replaces `from` (once in the text) by `to` and expects `message` of the line where it stood, or
 * as it is where it says `plan: ` itself; success when it is NULL. */
static void edit(const char *from, const char *to, const char *message)
{
    struct plan p, out;
    struct error err = {0};
    struct buf text;
    char changed[PLAN_TEXT_MAX];
    char expected[sizeof err.text];
    const char *at;
    size_t line = 1;
    int n;

    example(&p);
    print(&p, &text);
    at = memmem(text.data, text.len, from, strlen(from));
    assert_non_null(at);
    for (const char *c = (const char *)text.data; c < at; c++)
        line += *c == '\n';
    n = snprintf(changed, sizeof changed, "%.*s%s%.*s", (int)(at - (const char *)text.data),
                 (const char *)text.data, to,
                 (int)((const char *)text.data + text.len - at - (ptrdiff_t)strlen(from)),
                 at + strlen(from));
    if (message == NULL) {
        if (plan_parse(&out, changed, (size_t)n, &err) != STATUS_OK)
            fail_msg("%s", err.text);
    } else {
        assert_int_equal(plan_parse(&out, changed, (size_t)n, &err), STATUS_PROTOCOL);
        if (strncmp(message, "plan: ", strlen("plan: ")) == 0)
            snprintf(expected, sizeof expected, "%s", message);
        else
            snprintf(expected, sizeof expected, "plan: line %zu: %s", line, message);
        assert_string_equal(err.text, expected);
        assert_int_equal(status_exit_code(err.status), 3);
    }
    buf_deinit(&text);
}

static void test_a_refusal_names_line_key_and_reason(void **state)
{
    (void)state;
    edit("pbm.beta=0.25", "pbm.beta=0.2", NULL);
    edit("pbm.beta=0.25", "pbm.beta=0.5", "protocol.pbm.beta: 0.5 is not in (0, 0.49]");
    edit("model.fusion=sum\n", "", "model.fusion: expected here");
    edit("model.head=[64,32]\n", "model.fusion=sum\nmodel.head=[64,32]\n",
         "model.head: expected here");
    edit("model.fusion=sum\nmodel.head=[64,32]\n", "model.head=[64,32]\nmodel.fusion=sum\n",
         "model.fusion: expected here");
    edit("shape.outputs=2\n", "shape.outputs=2\nx=1\n", "plan: more text after the last key");
    edit("shape.outputs=2\n", "shape.outputs=2", "shape.outputs: expected, but the text ends");
    edit("shape.outputs=2\n", "shape.outputs=4097\n", "shape.outputs: 4097 is not in [1, 4096]");
    edit("model.init=glorot", "model.init=lecun",
         "model.init: lecun is not one of glorot, he, torch");
    edit("model.head=[64,32]", "model.head=[]", NULL);
}

static void test_a_text_has_segments_and_privacy_of_its_shares(void **state)
{
    (void)state;
    edit("coded.segments=1\nprotocol.coded.privacy=1\n",
         "coded.segments=2\nprotocol.coded.privacy=3\n", NULL);
    edit("protocol.coded.segments=1\n", "", "protocol.coded.segments: expected here");
    edit("protocol.coded.privacy=1\n", "", "protocol.coded.privacy: expected here");
    edit("coded.segments=1", "coded.segments=0", "protocol.coded.segments: 0 is not in [1, 256]");
    edit("coded.privacy=1", "coded.privacy=257", "protocol.coded.privacy: 257 is not in [1, 256]");
    edit("coded.privacy=1", "coded.privacy=01", "protocol.coded.privacy: 01 is not a whole number");
}

static void test_a_text_has_the_fixed_point_of_fedvs(void **state)
{
    (void)state;
    edit("fedvs.prime=auto\nprotocol.fedvs.x_bits=12\n",
         "fedvs.prime=2^31-1\nprotocol.fedvs.x_bits=7\n", NULL);
    edit("protocol.fedvs.w_max=8\n", "", "protocol.fedvs.w_max: expected here");
    edit("fedvs.prime=auto", "fedvs.prime=2^13-1",
         "protocol.fedvs.prime: 2^13-1 is not one of auto, 2^31-1, 2^61-1");
    edit("fedvs.x_bits=12", "fedvs.x_bits=21", "protocol.fedvs.x_bits: 21 is not in [1, 20]");
    edit("fedvs.x_max=8", "fedvs.x_max=0", "protocol.fedvs.x_max: 0 is not in (0, 32]");
}

static void test_a_text_has_local_steps_and_compressors(void **state)
{
    (void)state;
    edit("model.output=linear\n", "", "model.output: expected here");
    edit("protocol.bits=2\nprotocol.head_bits=0\n", "protocol.bits=8\nprotocol.head_bits=8\n",
         NULL);
    edit("protocol.bits=2", "protocol.bits=0", "protocol.bits: 0 is not in [1, 8]");
    edit("head_bits=0", "head_bits=9", "protocol.head_bits: 9 is not in [0, 8]");
    edit("code_range=message", "code_range=range",
         "protocol.code_range: range is not one of message, clip");
    edit("error_feedback=false", "error_feedback=0",
         "protocol.error_feedback: 0 is not true or false");
    edit("local_view=stale\nprotocol.label_holders=0",
         "local_view=refreshed\nprotocol.label_holders=5", NULL);
    edit("local_view=stale", "local_view=fresh",
         "protocol.local_view: fresh is not one of stale, refreshed");
    edit("label_holders=0", "label_holders=257", "protocol.label_holders: 257 is not in [0, 256]");
    edit("protocol.local_order=parallel\n", "", "protocol.local_order: expected here");
    edit("local_order=parallel", "local_order=sequential",
         "plan: protocol.local_order: every turn of sequential releases the same batch again, for "
         "one party's step: it needs aggregation clear");
    edit("proximal=0", "proximal=-1", "protocol.proximal: -1 is not in [0, 1000000]");
}

static void test_only_the_canonical_text_of_a_value_is_accepted(void **state)
{
    (void)state;
    edit("learning_rate=0.1", "learning_rate=0.10",
         "training.learning_rate: 0.10 is not written as 0.1");
    edit("delta=1e-6", "delta=0.000001", "privacy.delta: 0.000001 is not written as 1e-6");
    edit("head=[64,32]", "head=[64, 32]", "model.head: [64, 32] is not written as [64,32]");
    edit("epsilon=0\nprotocol.gaussian.levels", "epsilon=-0\nprotocol.gaussian.levels",
         "protocol.gaussian.epsilon: -0 is not written as 0");
    edit("fusion=sum", "fusion= sum", "model.fusion: sum is not written as sum");
}

static void test_the_seed_of_a_text_is_a_number(void **state)
{
    (void)state;
    edit("seed=18446744073709551557", "seed=0", NULL);
    edit("seed=18446744073709551557", "seed=random", "training.seed: must be a number here");
    edit("seed=18446744073709551557",
         "seed=", "training.seed:  is not a whole number below 2^64, or random");
}

static void test_a_text_whose_combination_makes_no_sense_is_refused(void **state)
{
    (void)state;
    edit("encoding=pbm", "encoding=float32",
         "plan: protocol.encoding: float32 and what compresses (scalar, lattice, e8, "
         "topk) "
         "cannot be added under masks or in shares: they need aggregation clear");
    edit("parties=5", "parties=1",
         "plan: shape.parties: a sum over one party is that party's embedding: masked needs two "
         "parties or "
         "more");
    edit("parties=5", "parties=2", NULL);
    edit("aggregation=masked", "aggregation=coded", NULL);
    edit(
        "fedvs.segments=1", "fedvs.segments=2",
        "plan: protocol.fedvs.segments: rows are cut for aggregation fedvs, and for a clear run on "
        "the same batches: elsewhere it must be 1");
    edit("encoding=pbm\nprotocol.aggregation=masked", "encoding=fixed\nprotocol.aggregation=fedvs",
         NULL);
    edit("straggler=wait", "straggler=async",
         "plan: protocol.straggler: async takes each party's embedding as it arrives, which is no "
         "sum: it needs aggregation clear");
}

static void test_a_text_over_the_limit_is_refused_before_it_is_read(void **state)
{
    static char big[PLAN_TEXT_MAX + 1];
    struct error err = {0};
    struct plan p;

    (void)state;
    memset(big, 'a', sizeof big);
    assert_int_equal(plan_parse(&p, big, sizeof big, &err), STATUS_LIMIT);
    assert_int_equal(plan_parse(&p, big, PLAN_TEXT_MAX, &err), STATUS_PROTOCOL);
    assert_int_equal(plan_parse(&p, big, 0, &err), STATUS_PROTOCOL);
}

static void test_plan_any_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    struct plan p, back;
    struct buf text;
    bool done = false;

    (void)state;
    example(&p);
    print(&p, &text);
    for (uint64_t n = 1; !done; n++) {
        enum status s;

        mem_fail_at(n);
        s = plan_parse(&back, (const char *)text.data, text.len, NULL);
        mem_fail_at(0);
        done = s == STATUS_OK;
        assert_true(done || s == STATUS_MEMORY);
        assert_true(n > 1 || !done);
    }
    buf_deinit(&text);
}

static void test_only_encodings_in_codes_have_a_largest_code(void **state)
{
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.protocol.pbm.trials = 40;
    p.protocol.fixed.bits = 9;
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
        p.protocol.encoding = (enum plan_encoding)e;
        assert_int_equal(plan_value_max(&p), e == ENCODING_PBM     ? 40
                                             : e == ENCODING_FIXED ? 511
                                                                   : 0);
    }
}

static void test_parameters_of_a_head_are_counted_over_all_layers(void **state)
{
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.model.embedding = 5;
    p.model.task = TASK_MULTICLASS;
    p.shape.parties = 3;
    p.shape.outputs = 4;
    assert_int_equal(plan_head_params(&p), 6 * 4);
    p.model.head = (struct config_layers){2, {{LAYERS_UNITS, {11}}, {LAYERS_UNITS, {6}}}};
    assert_int_equal(plan_head_params(&p), 6 * 11 + 12 * 6 + 7 * 4);
    p.model.task = TASK_BINARY;
    p.shape.outputs = 2;
    assert_int_equal(plan_head_params(&p), 6 * 11 + 12 * 6 + 7 * 2);
    p.model.binary_loss = BINARY_SIGMOID;
    assert_int_equal(plan_head_params(&p), 6 * 11 + 12 * 6 + 7);
    p.model.task = TASK_REGRESSION;
    assert_int_equal(plan_head_params(&p), 6 * 11 + 12 * 6 + 7);
    p.model.fusion = FUSION_MEAN;
    assert_int_equal(plan_head_params(&p), 6 * 11 + 12 * 6 + 7);
    p.model.fusion = FUSION_CONCAT;
    p.model.embedding = p.model.head.item[0].argument[LAYERS_OUT] = PLAN_WIDTH_MAX;
    assert_true(plan_head_params(&p) == (3 * 65536ull + 1) * 65536 + 65537 * 6 + 7);
    p.model.output = OUTPUT_IDENTITY;
    assert_int_equal(plan_head_params(&p), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_text_reads_back_to_the_same_plan),
        cmocka_unit_test(test_a_plan_of_local_steps_and_compressors_reads_back),
        cmocka_unit_test(test_plan_text_is_one_line_per_key_and_far_below_its_limit),
        cmocka_unit_test(test_every_single_byte_change_is_refused_or_means_what_it_says),
        cmocka_unit_test(
            test_every_cut_every_missing_and_every_inserted_byte_is_refused_or_means_what_it_says),
        cmocka_unit_test(test_a_refusal_names_line_key_and_reason),
        cmocka_unit_test(test_a_text_has_segments_and_privacy_of_its_shares),
        cmocka_unit_test(test_a_text_has_the_fixed_point_of_fedvs),
        cmocka_unit_test(test_a_text_has_local_steps_and_compressors),
        cmocka_unit_test(test_only_the_canonical_text_of_a_value_is_accepted),
        cmocka_unit_test(test_the_seed_of_a_text_is_a_number),
        cmocka_unit_test(test_a_text_whose_combination_makes_no_sense_is_refused),
        cmocka_unit_test(test_a_text_over_the_limit_is_refused_before_it_is_read),
        cmocka_unit_test(test_plan_any_failed_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(test_only_encodings_in_codes_have_a_largest_code),
        cmocka_unit_test(test_parameters_of_a_head_are_counted_over_all_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
