/* test_down.c -- where the parts of a blob lie under which plan, there and back, and what is none.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/down.h"

#include "common/config/encoding.h"
#include "common/config/plan_noise.h"
#include "tests/lib/aborts.h"
#include "tests/unit/compress/chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    ROWS = 7,
    WIDTH = 5,
    PARTIES = 3,
    CLASSES = 4,
    HEAD = (WIDTH + 1) * CLASSES,
    WORDS_MAX = 512
};

static uint32_t blob[WORDS_MAX];
static const uint8_t dither[32] = {1, 2, 3};

static struct plan plan_of(enum plan_encoding encoding, enum plan_view view)
{
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = WIDTH;
    p.model.task = TASK_MULTICLASS;
    p.shape.parties = PARTIES;
    p.shape.outputs = CLASSES;
    p.protocol.encoding = encoding;
    p.protocol.pbm.trials = 100;
    p.protocol.fixed.bits = 9;
    p.protocol.bits = 3;
    p.protocol.local_view = view;
    p.training.batch = ROWS;
    return p;
}

static struct down layout(const struct plan *p)
{
    struct down d;

    down_of(&d, p);
    return d;
}

static void is_laid_out(const struct down *d, size_t gradient, size_t shown, size_t head)
{
    const size_t shown_words = (shown + 3) / 4;

    assert_int_equal(down_gradient_words(d, ROWS), gradient);
    assert_int_equal(down_shown_bytes(d, ROWS), shown);
    assert_int_equal(down_head_bytes(d), head);
    assert_int_equal(down_shown_at(d, ROWS), gradient);
    assert_int_equal(down_head_at(d, ROWS), gradient + shown_words);
    assert_int_equal(down_words(d, ROWS), gradient + shown_words + (head + 3) / 4);
    assert_int_equal(d->with_gradient, gradient > 0);
    assert_int_equal(d->with_head, head > 0);
    assert_int_equal(d->shown != DOWN_SHOWN_NONE, shown > 0);
}

/* --- layouts --- */

static void test_a_stale_view_gets_the_gradient_alone(void **state)
{
    (void)state;
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
        const struct plan p = plan_of(e, VIEW_STALE);
        const struct down d = layout(&p);

        is_laid_out(&d, ROWS * WIDTH, 0, 0);
    }
}

static void test_a_refreshed_view_gets_what_was_shown_and_the_head(void **state)
{
    struct plan p = plan_of(ENCODING_PBM, VIEW_REFRESHED);
    struct down d = layout(&p);

    (void)state;
    is_laid_out(&d, 0, (ROWS * WIDTH * 9 + 7) / 8, 4 * HEAD); /* sums up to 300: 9 bits */
    p = plan_of(ENCODING_FIXED, VIEW_REFRESHED);
    d = layout(&p);
    is_laid_out(&d, 0, (ROWS * WIDTH * 11 + 7) / 8, 4 * HEAD); /* up to 1533 */
    p = plan_of(ENCODING_FLOAT32, VIEW_REFRESHED);
    d = layout(&p);
    is_laid_out(&d, 0, 4 * ROWS * WIDTH, 4 * HEAD);
    p.protocol.gradient.type = GRADIENT_BFLOAT16;
    d = layout(&p);
    is_laid_out(&d, 0, 4 * ROWS * WIDTH, 2 * HEAD);
    p.protocol.gradient.type = GRADIENT_INT8;
    d = layout(&p);
    is_laid_out(&d, 0, 4 * ROWS * WIDTH, 4 + HEAD);
}

static void test_concatenations_and_compressors_show_every_upload(void **state)
{
    struct plan p = plan_of(ENCODING_FIXED, VIEW_REFRESHED);
    struct down d;

    (void)state;
    p.model.fusion = FUSION_CONCAT;
    d = layout(&p);
    assert_int_equal(down_payload_bytes(&d, ROWS), (ROWS * WIDTH * 9 + 7) / 8);
    is_laid_out(&d, 0, PARTIES * ((ROWS * WIDTH * 9 + 7) / 8), 4 * (WIDTH * PARTIES + 1) * CLASSES);
    p.protocol.encoding = ENCODING_GAUSSIAN;
    d = layout(&p);
    assert_int_equal(d.code_bits, encoding_code_bits(&p, PARTIES));
    is_laid_out(&d, 0, PARTIES * ((ROWS * WIDTH * d.code_bits + 7) / 8),
                4 * (WIDTH * PARTIES + 1) * CLASSES);
    p = plan_of(ENCODING_E8, VIEW_REFRESHED); /* 35 values: 5 blocks; 24: 3 */
    d = layout(&p);
    is_laid_out(&d, 0, PARTIES * (4 + 40 * 3 / 8), 4 + HEAD * 3 / 8);
    p.protocol.head_bits = 8;
    d = layout(&p);
    is_laid_out(&d, 0, PARTIES * (4 + 40 * 3 / 8), 4 + HEAD);
    p = plan_of(ENCODING_TOPK, VIEW_REFRESHED); /* one of 5 columns; the head scalar */
    d = layout(&p);
    is_laid_out(&d, 0, PARTIES * (1 + 4 * ROWS), 4 + HEAD * 3 / 8);
}

static void test_the_gradient_is_for_parties_without_labels(void **state)
{
    struct plan p = plan_of(ENCODING_FLOAT32, VIEW_REFRESHED);
    struct down d;

    (void)state;
    p.protocol.label_holders = 1;
    d = layout(&p);
    is_laid_out(&d, ROWS * WIDTH, 4 * ROWS * WIDTH, 4 * HEAD);
    p.protocol.label_holders = PARTIES - 1;
    d = layout(&p);
    is_laid_out(&d, ROWS * WIDTH, 4 * ROWS * WIDTH, 4 * HEAD);
    p.protocol.label_holders = PARTIES;
    d = layout(&p);
    is_laid_out(&d, 0, 4 * ROWS * WIDTH, 4 * HEAD);
}

static void test_a_head_that_does_not_train_does_not_travel(void **state)
{
    struct plan p = plan_of(ENCODING_FLOAT32, VIEW_REFRESHED);
    struct down d;

    (void)state;
    p.model.output = OUTPUT_IDENTITY;
    d = layout(&p);
    is_laid_out(&d, 0, 4 * ROWS * WIDTH, 0);
    assert_int_equal(d.head_params, 0);
}

static void test_a_head_may_be_larger_than_32_bits_hold(void **state)
{
    struct plan p = plan_of(ENCODING_FLOAT32, VIEW_REFRESHED);

    (void)state;
    assert_int_equal(layout(&p).head_params, HEAD);
    p.model.fusion = FUSION_CONCAT;
    p.model.embedding = PLAN_WIDTH_MAX;
    p.model.head = (struct config_layers){1, {{LAYERS_UNITS, {PLAN_WIDTH_MAX}}}};
    assert_true(layout(&p).head_params > UINT32_MAX);
    assert_true(down_head_bytes(&(struct down){.with_head = true, .head_params = 1ull << 32}) ==
                4ull << 32);
}

static void test_a_plan_whose_parties_are_not_known_has_a_size(void **state)
{
    (void)state;
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++) {
        struct plan p = plan_of(e, VIEW_REFRESHED);

        p.shape.parties = p.shape.outputs = 0;
        const struct down d = layout(&p);
        assert_true(down_words(&d, ROWS) > 0);
    }
}

/* --- there and back --- */

static void draw(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)rng_normal(&chance);
}

/* Every part written into a blob of noise: nothing is left of it, nor beyond the end. */
static void pack_all(const struct down *d, const float *gradient, const float *params)
{
    const size_t words = down_words(d, ROWS);

    assert_true(words < WORDS_MAX);
    memset(blob, 0xff, sizeof blob);
    if (d->with_gradient)
        down_gradient_pack(d, blob, gradient, ROWS, &chance);
    if (d->shown != DOWN_SHOWN_NONE)
        memset(down_shown_begin(d, blob, ROWS), 0x11, down_shown_bytes(d, ROWS));
    if (d->with_head)
        down_head_pack(d, blob, params, ROWS, dither, &chance);
    for (size_t i = words; i < WORDS_MAX; i++)
        assert_int_equal(blob[i], UINT32_MAX);
}

static void comes_back(const struct down *d, double most)
{
    float gradient[ROWS * WIDTH], params[HEAD], x[ROWS * WIDTH];
    const uint8_t *shown;

    draw(gradient, ROWS * WIDTH);
    draw(params, HEAD);
    pack_all(d, gradient, params);
    if (d->with_gradient) {
        assert_true(down_gradient_unpack(d, x, blob, ROWS));
        for (size_t i = 0; i < ROWS * WIDTH; i++)
            assert_true(fabs((double)x[i] - (double)gradient[i]) <= most);
    }
    if (d->shown != DOWN_SHOWN_NONE) {
        shown = down_shown_read(d, blob, ROWS);
        assert_non_null(shown);
        for (size_t i = 0; i < down_shown_bytes(d, ROWS); i++)
            assert_int_equal(shown[i], 0x11);
    }
    if (d->with_head) {
        assert_true(down_head_unpack(d, x, blob, ROWS, dither));
        for (size_t i = 0; i < HEAD; i++)
            assert_true(fabs((double)x[i] - (double)params[i]) <= most);
    }
}

static void test_every_part_comes_back(void **state)
{
    (void)state;
    for (int e = ENCODING_PBM; e < PLAN_ENCODINGS; e++)
        for (uint32_t holders = 0; holders < 2; holders++)
            for (int type = GRADIENT_FLOAT32; type <= GRADIENT_INT8; type++) {
                struct plan p = plan_of(e, VIEW_REFRESHED);

                p.protocol.label_holders = holders;
                p.protocol.gradient.type = (enum plan_gradient_type)type;
                p.protocol.head_bits = 8;
                const struct down d = layout(&p);
                comes_back(&d, e < ENCODING_SCALAR && type == GRADIENT_FLOAT32 ? 0 : 0.08);
            }
}

/* --- what no honest server packs --- */

static void test_a_filling_that_is_not_zero_is_refused(void **state)
{
    float params[HEAD], gradient[ROWS * WIDTH], x[ROWS * WIDTH];
    struct plan p = plan_of(ENCODING_SCALAR, VIEW_REFRESHED);
    struct down d;
    uint8_t *bytes = (uint8_t *)blob;

    (void)state;
    p.protocol.label_holders = 1;
    p.protocol.gradient.type = GRADIENT_BFLOAT16; /* 35 values: two bytes of filling */
    p.protocol.bits = 7;                          /* 3 (4 + 31) bytes; 4 + 21 */
    d = layout(&p);
    draw(params, HEAD);
    draw(gradient, ROWS * WIDTH);
    pack_all(&d, gradient, params);
    assert_int_equal(down_shown_bytes(&d, ROWS) % 4, 1);
    assert_int_equal(down_head_bytes(&d) % 4, 1);
    for (size_t k = 1; k < 4; k++) {
        uint8_t *shown = bytes + 4 * down_shown_at(&d, ROWS) + down_shown_bytes(&d, ROWS) + k - 1;
        uint8_t *head = bytes + 4 * down_head_at(&d, ROWS) + down_head_bytes(&d) + k - 1;

        *shown = 1;
        assert_null(down_shown_read(&d, blob, ROWS));
        *shown = 0;
        assert_non_null(down_shown_read(&d, blob, ROWS));
        *head = 0x80;
        assert_false(down_head_unpack(&d, x, blob, ROWS, dither));
        *head = 0;
        assert_true(down_head_unpack(&d, x, blob, ROWS, dither));
    }
    assert_true(down_gradient_unpack(&d, x, blob, ROWS));
    bytes[4 * down_gradient_words(&d, ROWS) - 1] = 1;
    assert_false(down_gradient_unpack(&d, x, blob, ROWS));
}

static void test_heads_that_are_no_numbers_are_refused(void **state)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    float params[HEAD], x[HEAD];

    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        const struct plan p =
            plan_of(compressed == 0 ? ENCODING_FLOAT32 : ENCODING_LATTICE, VIEW_REFRESHED);
        const struct down d = layout(&p);

        draw(params, HEAD);
        for (size_t k = 0; k < 3; k++) {
            pack_all(&d, NULL, params);
            assert_true(down_head_unpack(&d, x, blob, ROWS, dither));
            memcpy(&blob[down_head_at(&d, ROWS)], &strange[k], sizeof strange[k]);
            assert_false(down_head_unpack(&d, x, blob, ROWS, dither));
        }
    }
}

static void test_another_round_s_dither_gives_another_head(void **state)
{
    static const uint8_t other[32] = {1, 2, 4};
    const struct plan p = plan_of(ENCODING_E8, VIEW_REFRESHED);
    const struct down d = layout(&p);
    float params[HEAD], right[HEAD], wrong[HEAD];

    (void)state;
    draw(params, HEAD);
    pack_all(&d, NULL, params);
    assert_true(down_head_unpack(&d, right, blob, ROWS, dither));
    assert_true(down_head_unpack(&d, wrong, blob, ROWS, other));
    assert_memory_not_equal(right, wrong, sizeof right);
}

static void no_head(void *d)
{
    down_head_pack(d, blob, NULL, ROWS, dither, &chance);
}

static void nothing_shown(void *d)
{
    (void)down_shown_begin(d, blob, ROWS);
}

static void test_parts_that_are_not_there_cannot_be_written(void **state)
{
    const struct plan p = plan_of(ENCODING_FLOAT32, VIEW_STALE);
    struct down d = layout(&p);

    (void)state;
    assert_true(aborts(no_head, &d));
    assert_true(aborts(nothing_shown, &d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stale_view_gets_the_gradient_alone),
        cmocka_unit_test(test_a_refreshed_view_gets_what_was_shown_and_the_head),
        cmocka_unit_test(test_concatenations_and_compressors_show_every_upload),
        cmocka_unit_test(test_the_gradient_is_for_parties_without_labels),
        cmocka_unit_test(test_a_head_that_does_not_train_does_not_travel),
        cmocka_unit_test(test_a_head_may_be_larger_than_32_bits_hold),
        cmocka_unit_test(test_a_plan_whose_parties_are_not_known_has_a_size),
        cmocka_unit_test(test_every_part_comes_back),
        cmocka_unit_test(test_a_filling_that_is_not_zero_is_refused),
        cmocka_unit_test(test_heads_that_are_no_numbers_are_refused),
        cmocka_unit_test(test_another_round_s_dither_gives_another_head),
        cmocka_unit_test(test_parts_that_are_not_there_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, chance_start, chance_end);
}
