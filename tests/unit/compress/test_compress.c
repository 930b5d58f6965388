/* test_compress.c -- the interface, and payloads that an independent program made by search.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/compress/compress.h"

#include "common/base/bits.h"
#include "common/compress/lattice.h"
#include "common/compress/topk.h"
#include "common/crypto/digest.h"
#include "tests/golden/compress.h"
#include "tests/lib/aborts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { GOLDEN_CASES = sizeof GOLDEN_LATTICE / sizeof GOLDEN_LATTICE[0], BYTES_MAX = 4096 };

static void golden_dither(uint8_t key[COMPRESS_KEY_BYTES], size_t k)
{
    char text[32];

    snprintf(text, sizeof text, "compress %zu", k);
    digest_sha256(key, text, strlen(text));
}

static void test_payloads_of_the_independent_program_are_understood(void **state)
{
    (void)state;
    for (size_t k = 0; k < GOLDEN_CASES; k++) {
        const struct golden_lattice *g = &GOLDEN_LATTICE[k];
        const struct compress c = {.kind = g->kind, .bits = g->bits};
        uint8_t key[COMPRESS_KEY_BYTES];
        float y[GOLDEN_VALUES];

        golden_dither(key, k);
        assert_true(compress_unpack(&c, y, g->payload, GOLDEN_VALUES,
                                    &(struct compress_round){.dither = key}));
        for (size_t i = 0; i < GOLDEN_VALUES; i++)
            assert_true(fabs((double)y[i] - g->values[i]) < 1e-4 * g->scale);
    }
}

static void test_payloads_are_those_of_the_independent_program(void **state)
{
    float x[GOLDEN_VALUES];
    uint8_t out[128], key[COMPRESS_KEY_BYTES];

    (void)state;
    for (size_t k = 0; k < GOLDEN_CASES; k++) {
        const struct golden_lattice *g = &GOLDEN_LATTICE[k];
        const size_t bytes = lattice_bytes(g->kind, g->bits, GOLDEN_VALUES);

        if (g->given)
            continue;
        for (size_t i = 0; i < GOLDEN_VALUES; i++)
            x[i] = ((float)((7919 * i + 104729 * k) % 2049) - 1024) / 1024;
        golden_dither(key, k);
        assert_true(bytes <= sizeof out);
        assert_int_equal(
            lattice_pack_as(&(struct lattice_fit){g->kind, g->bits, g->square, (float)g->scale},
                            out, x, GOLDEN_VALUES, key),
            0);
        assert_memory_equal(out, g->payload, bytes);
    }
}

static void grid(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = ((float)(7919 * i % 2049) - 1024) / 1024;
}

static void test_topk_is_that_of_the_independent_program(void **state)
{
    const struct compress mean = {ENCODING_TOPK, 2, 48, 0}, given = {ENCODING_TOPK, 4, 37, 0};
    float x[5 * 48], importance[37];
    uint8_t out[BYTES_MAX];

    (void)state;
    grid(x, 5 * 48);
    assert_int_equal(compress_bytes(&mean, 5 * 48), sizeof golden_topk_mean);
    compress_pack(&mean, out, x, 5 * 48, &(struct compress_round){0});
    assert_memory_equal(out, golden_topk_mean, sizeof golden_topk_mean);
    for (size_t c = 0; c < 37; c++)
        importance[c] = (float)(c * 11 % 13);
    assert_int_equal(compress_bytes(&given, 3 * 37), sizeof golden_topk_importance);
    compress_pack(&given, out, x, 3 * 37, &(struct compress_round){.importance = importance});
    assert_memory_equal(out, golden_topk_importance, sizeof golden_topk_importance);
}

static void test_every_member_and_the_head_have_keys_of_their_own(void **state)
{
    uint8_t dither[COMPRESS_KEY_BYTES], key[COMPRESS_KEY_BYTES], other[COMPRESS_KEY_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof dither; i++)
        dither[i] = (uint8_t)i;
    compress_key(key, dither, 258);
    assert_memory_equal(key, golden_key, sizeof key);
    compress_key(other, dither, COMPRESS_HEAD);
    assert_memory_not_equal(key, other, sizeof key);
    compress_key(other, dither, 259);
    assert_memory_not_equal(key, other, sizeof key);
    dither[31] ^= 1;
    compress_key(other, dither, 258);
    assert_memory_not_equal(key, other, sizeof key);
}

static void test_the_plan_says_which_and_the_head_may_have_its_own_bits(void **state)
{
    struct compress c;
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.protocol.encoding = ENCODING_E8;
    p.protocol.bits = 3;
    compress_of(&c, &p);
    assert_true(c.kind == ENCODING_E8 && c.bits == 3 && c.width == 0);
    compress_head_of(&c, &p);
    assert_true(c.kind == ENCODING_E8 && c.bits == 3);
    p.protocol.head_bits = 7;
    compress_head_of(&c, &p);
    assert_true(c.kind == ENCODING_E8 && c.bits == 7);
    compress_of(&c, &p);
    assert_int_equal(c.bits, 3);
    p.protocol.encoding = ENCODING_TOPK;
    p.model.embedding = 48;
    compress_of(&c, &p);
    assert_true(c.kind == ENCODING_TOPK && c.bits == 3 && c.width == 48);
    compress_head_of(&c, &p);
    assert_true(c.kind == ENCODING_SCALAR && c.bits == 7 && c.width == 0);
}

static void test_levels_may_span_what_an_embedding_can_be(void **state)
{
    enum { N = 400, KEYS = 2000 };
    uint8_t key[COMPRESS_KEY_BYTES] = {0}, out[BYTES_MAX];
    const struct compress_round r = {.dither = key};
    float x[N], y[N], scale;
    struct compress c;
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.protocol.encoding = ENCODING_SCALAR;
    p.protocol.code_range = CODE_RANGE_CLIP;
    p.protocol.clip = 3;
    for (p.protocol.bits = 1; p.protocol.bits <= COMPRESS_BITS_MAX; p.protocol.bits++) {
        const float step = 6.0F / (0.999F * (float)(1U << p.protocol.bits) - 1);
        double sum[3] = {0};

        compress_head_of(&c, &p);
        assert_true(c.range == 0);
        compress_of(&c, &p);
        assert_true(c.range == 3);
        for (size_t i = 0; i < N; i++) /* far smaller than the range: what suits them is not sent */
            x[i] = 0.001F * sinf((float)i);
        x[0] = 3, x[1] = -3, x[2] = 2.9F;
        for (int k = 0; k < KEYS; k++) {
            memcpy(key, &k, sizeof k);
            compress_pack(&c, out, x, k > 0 ? 3 : N, &r);
            memcpy(&scale, out, sizeof scale);
            assert_true(fabsf(scale - step) < 1e-5F * step);
            assert_true(compress_unpack(&c, y, out, k > 0 ? 3 : N, &r));
            for (size_t i = 0; i < (k > 0 ? 3 : N); i++)
                assert_true(fabsf(y[i] - x[i]) <= step * 0.5001F);
            for (size_t i = 0; i < 3; i++)
                sum[i] += (double)y[i] - (double)x[i];
        }
        for (size_t i = 0; i < 3; i++) /* six deviations of a mean of uniform errors */
            assert_true(fabs(sum[i] / KEYS) < 6 * (double)step * sqrt(1.0 / 12 / KEYS));
    }
}

static void of_floats(void *plan)
{
    struct compress c;

    compress_of(&c, plan);
}

static void ragged_topk(void *c)
{
    (void)compress_bytes(c, 49);
}

static void no_dither(void *c)
{
    uint8_t out[64];

    compress_pack(c, out, (const float[]){1, 2, 3}, 3, &(struct compress_round){0});
}

static void test_what_has_no_sense_ends_the_program(void **state)
{
    struct compress topk = {ENCODING_TOPK, 2, 48, 0}, e8 = {ENCODING_E8, 2, 0, 0};
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.protocol.encoding = ENCODING_FLOAT32;
    assert_true(aborts(of_floats, &p));
    p.protocol.encoding = ENCODING_SCALAR;
    assert_false(aborts(of_floats, &p));
    assert_true(aborts(ragged_topk, &topk));
    assert_true(aborts(no_dither, &e8));
}

static void test_sizes_are_those_of_the_formats(void **state)
{
    (void)state;
    for (uint32_t b = 1; b <= COMPRESS_BITS_MAX; b++) {
        const struct compress z = {ENCODING_SCALAR, b, 0, 0}, a2 = {ENCODING_LATTICE, b, 0, 0},
                              e8 = {ENCODING_E8, b, 0, 0}, topk = {ENCODING_TOPK, b, 100, 0};
        const size_t k = (100 * b + 16) / 32;

        assert_int_equal(compress_bytes(&z, 0), 0);
        assert_int_equal(compress_bytes(&e8, 0), 0);
        assert_int_equal(compress_bytes(&topk, 0), 0);
        assert_int_equal(compress_bytes(&z, 1603), 4 + (1603 * b + 7) / 8);
        assert_int_equal(compress_bytes(&a2, 1603), 4 + (1604 * b + 7) / 8);
        assert_int_equal(compress_bytes(&e8, 1603), 4 + 1608 * b / 8);
        assert_int_equal(compress_bytes(&topk, 1600), (7 * k + 7) / 8 + 4 * 16 * k);
    }
}

static void test_nothing_is_nothing(void **state)
{
    static const uint8_t key[COMPRESS_KEY_BYTES];
    const struct compress_round r = {.dither = key};
    uint8_t out = 0xee;
    float x = 1;

    (void)state;
    for (enum plan_encoding kind = ENCODING_SCALAR; kind <= ENCODING_TOPK; kind++) {
        const struct compress c = {kind, 2, 16, 0};

        compress_pack(&c, &out, &x, 0, &r);
        assert_true(compress_unpack(&c, &x, &out, 0, &r));
    }
    assert_true(out == 0xee && x == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_payloads_of_the_independent_program_are_understood),
        cmocka_unit_test(test_payloads_are_those_of_the_independent_program),
        cmocka_unit_test(test_topk_is_that_of_the_independent_program),
        cmocka_unit_test(test_every_member_and_the_head_have_keys_of_their_own),
        cmocka_unit_test(test_the_plan_says_which_and_the_head_may_have_its_own_bits),
        cmocka_unit_test(test_levels_may_span_what_an_embedding_can_be),
        cmocka_unit_test(test_what_has_no_sense_ends_the_program),
        cmocka_unit_test(test_sizes_are_those_of_the_formats),
        cmocka_unit_test(test_nothing_is_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
