/* test_compressed.c -- whole runs through compressors: what the server takes an embedding for is
 * what every party takes it for; what was left out of a record is added the next time; both beside
 * a second computation (local_mirror.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/down.h"
#include "tests/sim/expect.h"
#include "tests/sim/local_mirror.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { RUN_US = 60 * 1000000, SETS = 10 };

#define REFRESHED "protocol.local_view=refreshed"
#define FEEDBACK "protocol.error_feedback=true"

static const char *const kinds[] = {"protocol.encoding=scalar", "protocol.encoding=lattice",
                                    "protocol.encoding=e8", "protocol.encoding=topk"};
enum { KINDS = sizeof kinds / sizeof *kinds, TOPK = 3 };

static const char *const shapes[][SETS] = {
    {"model.fusion=sum"},
    {"model.fusion=concat"},
    {"model.fusion=mean", FEEDBACK},
    {"model.fusion=concat", FEEDBACK},
    {REFRESHED, "model.fusion=sum"},
    {REFRESHED, "model.fusion=concat", "protocol.head_bits=6"},
    {REFRESHED, "model.fusion=sum", FEEDBACK},
    {REFRESHED, "model.fusion=concat", FEEDBACK, "protocol.proximal=0.2"},
    {REFRESHED, "model.fusion=mean", FEEDBACK, "protocol.label_holders=1"},
    {REFRESHED, "model.output=identity", "model.embedding=2", FEEDBACK},
    {REFRESHED, FEEDBACK, "protocol.local_order=sequential"},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, SHAPE_FEEDBACK = 6 };

static struct sim_options options_of(const char *kind, const char *const sets[SETS])
{
    struct sim_options o = {
        .parties = 3,
        .train_rows = 14,
        .test_rows = 3,
        .columns = LOCAL_COLUMNS,
        .quiet = true,
        .sets = {kind, "protocol.aggregation=clear", "training.batch=4", "training.epochs=3",
                 "training.optimizer=sgd", "training.learning_rate=0.3",
                 "training.evaluate_every=1", "protocol.local_iterations=2", "protocol.bits=3"},
        .party_sets = {"model.layers=[]", "policy.encodings=[scalar, lattice, e8, topk]"},
    };

    if (strstr(kind, "topk") != NULL)
        o.sets[8] = "protocol.bits=8";
    for (size_t i = 0, at = 9; i < SETS && sets[i] != NULL; i++)
        o.sets[at++] = sets[i];
    return o;
}

static struct local_mirror mirror;

/* A run beside a mirror; its models are compared when it is over.  before: what was found wrong
 * until then. */
static void run_beside(const char *kind, const char *const sets[SETS], enum local_slip slip,
                       char before[256])
{
    struct sim_options o = options_of(kind, sets);
    struct sim *s = sim_new(&o);

    local_mirror_init(&mirror, s);
    mirror.slip = slip;
    sim_run(s, RUN_US);
    expect_completed(s);
    assert_true(mirror.steps >= 12 && mirror.evaluated == 9);
    memcpy(before, mirror.wrong, sizeof mirror.wrong);
    local_mirror_compare(&mirror);
    local_mirror_deinit(&mirror);
    sim_free(s);
}

static void test_server_and_parties_take_an_upload_for_the_same(void **state)
{
    char before[256];

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < SHAPES; i++) {
            run_beside(kinds[k], shapes[i], LOCAL_RIGHT, before);
            if (mirror.wrong[0] != 0)
                fail_msg("%s %s, shape %zu: %s", kinds[k], shapes[i][0], i, mirror.wrong);
            if (k == TOPK)
                assert_true(mirror.weighted > 0);
        }
    }
}

static void test_levels_that_span_the_clip_are_taken_for_the_same(void **state)
{
    static const char *const spanning[][SETS] = {
        {"protocol.code_range=clip", "model.fusion=sum"},
        {"protocol.code_range=clip", REFRESHED, "model.fusion=concat", FEEDBACK},
    };
    char before[256];

    (void)state;
    for (size_t i = 0; i < sizeof spanning / sizeof *spanning; i++) {
        run_beside("protocol.encoding=scalar", spanning[i], LOCAL_RIGHT, before);
        if (mirror.wrong[0] != 0)
            fail_msg("shape %zu: %s", i, mirror.wrong);
    }
}

static void test_other_steps_on_them_would_be_seen(void **state)
{
    char before[256];

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 4; i < SHAPES; i++) {
            static const enum local_slip slips[] = {LOCAL_ALL_STALE, LOCAL_OWN_TWICE, LOCAL_EXACT,
                                                    LOCAL_ONE_STEP};

            for (size_t l = 0; l < 4; l++) {
                run_beside(kinds[k], shapes[i], slips[l], before);
                if (mirror.wrong[0] == 0)
                    fail_msg("%s, shape %zu: slip %d is not seen", kinds[k], i, (int)slips[l]);
            }
        }
    }
}

/* Three epochs: every record comes again, with what was left out of it. */
static void test_what_was_left_out_of_a_record_is_in_its_next_upload(void **state)
{
    char before[256];

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        run_beside(kinds[k], shapes[SHAPE_FEEDBACK], LOCAL_RIGHT, before);
        assert_string_equal(mirror.wrong, "");
        assert_true(mirror.again > 2 * 3 * 14 * 4 / 2); /* not all are exactly 0 */
        run_beside(kinds[k], shapes[SHAPE_FEEDBACK], LOCAL_NO_RESIDUAL, before);
        if (before[0] == 0) /* seen in an upload, not in what the party keeps */
            fail_msg("%s: an upload without a residual would not be seen", kinds[k]);
    }
}

static void test_nothing_is_added_without_error_feedback(void **state)
{
    char before[256];

    (void)state;
    run_beside(kinds[0], shapes[0], LOCAL_RIGHT, before);
    assert_string_equal(mirror.wrong, "");
    assert_int_equal(mirror.again, 0);
}

/* Its first upload goes by the values, all others by the gradient of the step before. */
static void test_topk_goes_by_the_last_gradient(void **state)
{
    char before[256];

    (void)state;
    for (size_t i = 0; i < 2; i++) { /* stale: 12 steps, one evaluation after each epoch */
        run_beside(kinds[TOPK], shapes[i], LOCAL_RIGHT, before);
        assert_string_equal(mirror.wrong, "");
        assert_int_equal(mirror.weighted, 3 * (12 - 1 + 3));
    }
    run_beside(kinds[TOPK], shapes[1], LOCAL_NO_WEIGHTS, before);
    if (before[0] == 0)
        fail_msg("top-k by values would not be seen");
}

/* --- bytes --- */

struct sizes {
    size_t up, down;
};

static void measure_upload(struct wire_msg *m, void *owner)
{
    struct sizes *s = owner;

    if (m->upload.purpose == PURPOSE_TRAIN && s->up == 0)
        s->up = m->upload.payload.n;
}

static void measure_broadcast(struct wire_msg *m, void *owner)
{
    struct sizes *s = owner;

    if (m->broadcast.closes && s->down == 0)
        s->down = m->broadcast.gradient.n;
}

static struct sizes sizes_of(const char *kind, const char *const sets[SETS])
{
    struct sim_options o = options_of(kind, sets);
    struct sim *s = sim_new(&o);
    struct sizes sizes = {0};

    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 1,
                                  .kind = WIRE_UPLOAD,
                                  .alter = measure_upload,
                                  .owner = &sizes});
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = 1,
                                  .kind = WIRE_BROADCAST,
                                  .alter = measure_broadcast,
                                  .owner = &sizes});
    sim_run(s, RUN_US);
    expect_completed(s);
    sim_free(s);
    return sizes;
}

/* Four rows of four values; heads of 4 x 2 + 2, under concat 12 x 2 + 2.  A scale is 4 bytes.  Bits
 * of a quantiser: 3 a value; top-k with b = 8: one column of 4 (2 bits) and its four floats. */
static void test_uploads_and_what_comes_down_have_the_bytes_that_are_counted_on_paper(void **state)
{
    static const size_t up[KINDS] = {4 + 6, 4 + 6, 4 + 6, 1 + 16};
    static const char *const concat[SETS] = {REFRESHED, "model.fusion=concat"};
    static const char *const stale[SETS] = {"model.fusion=sum"};
    static const char *const holders[SETS] = {REFRESHED, "protocol.label_holders=1"};

    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        const size_t bits = k == TOPK ? 8 : 3; /* of a weight */
        /* blocks of 1, 2 and 8 */
        const size_t weights[] = {k == 2 ? 32 : 26, k == 2 ? 16 : 10};
        size_t head[2];
        struct sizes s = sizes_of(kinds[k], concat);

        for (size_t i = 0; i < 2; i++)
            head[i] = (4 + (weights[i] * bits + 7) / 8 + 3) / 4 * 4;
        assert_int_equal(s.up, up[k]);
        assert_int_equal(s.down, (3 * up[k] + 3) / 4 * 4 + head[0]);
        s = sizes_of(kinds[k], stale);
        assert_int_equal(s.up, up[k]);
        assert_int_equal(s.down, 4 * 4 * 4);
        s = sizes_of(kinds[k], holders);
        assert_int_equal(s.down, 4 * 4 * 4 + (3 * up[k] + 3) / 4 * 4 + head[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_and_parties_take_an_upload_for_the_same),
        cmocka_unit_test(test_levels_that_span_the_clip_are_taken_for_the_same),
        cmocka_unit_test(test_other_steps_on_them_would_be_seen),
        cmocka_unit_test(test_what_was_left_out_of_a_record_is_in_its_next_upload),
        cmocka_unit_test(test_nothing_is_added_without_error_feedback),
        cmocka_unit_test(test_topk_goes_by_the_last_gradient),
        cmocka_unit_test(test_uploads_and_what_comes_down_have_the_bytes_that_are_counted_on_paper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
