/* test_draw.c -- elements are the words of a stream, one after another, whatever is asked for at
 * once.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/draw.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { N = 3 * DRAW_BYTES / 4 + 5 };

static const uint8_t KEY[32] = "draw";

static uint8_t random_bytes[DRAW_BYTES];

static uint64_t word_of(const uint8_t *bytes, uint32_t n)
{
    uint64_t v = 0;

    for (uint32_t b = n; b-- > 0;)
        v = v << 8 | bytes[b];
    return v;
}

/* Rejects two of three words, where a field rejects one of 2^31. */
static bool rejects(const struct field *f, uint64_t word)
{
    return f->p == 3 ? word % 3 != 0 : word == f->p;
}

static size_t picky(void *out, size_t n, const uint8_t *random, size_t bytes, size_t *used)
{
    static const struct field three = {.p = 3};
    uint32_t *x = out;
    size_t made = 0;

    for (*used = 0; made < n && *used + 4 <= bytes; *used += 4) {
        const uint64_t word = word_of(random + *used, 4) & 0x7fffffff;

        if (!rejects(&three, word))
            x[made++] = (uint32_t)word;
    }
    return made;
}

static uint64_t next(const struct field *f, struct rng *r)
{
    uint64_t word;

    do {
        uint8_t bytes[8];

        rng_fill(r, bytes, f->bytes);
        word = word_of(bytes, f->bytes) & ((UINT64_C(1) << f->bits) - 1);
    } while (rejects(f, word));
    return word;
}

/* In pieces of growing size from a pair's stream, and at once from a generator. */
static void expect_the_words(const struct field *f)
{
    static const uint8_t iv[PRG_IV_BYTES];
    static uint64_t whole[N], pieces[N];
    struct rng r, plain;
    struct prg g;

    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    assert_int_equal(rng_init_key(&plain, KEY), STATUS_OK);
    assert_int_equal(prg_init(&g, KEY), STATUS_OK);
    prg_seek(&g, iv);
    draw_from_rng(f, whole, N, &r, random_bytes);
    for (size_t at = 0, some; at < N; at += some) {
        some = at + 1 < N - at ? at + 1 : N - at;
        draw_from_prg(f, (uint8_t *)pieces + at * f->bytes, some, &g, random_bytes);
    }
    for (size_t i = 0; i < N; i++) {
        const uint64_t word = next(f, &plain);

        assert_true(f->get(whole, i) == word);
        assert_true(f->get(pieces, i) == word);
    }
    assert_true(rng_u64(&r) == rng_u64(&plain)); /* none was read in vain */
    rng_deinit(&r);
    rng_deinit(&plain);
    prg_deinit(&g);
}

static void test_elements_are_the_words_of_the_stream(void **state)
{
    (void)state;
    expect_the_words(&field_31);
    expect_the_words(&field_61);
}

static void test_no_word_is_lost_beside_those_that_are_rejected(void **state)
{
    struct field f = field_31;

    (void)state;
    f.p = 3;
    f.uniform = picky;
    expect_the_words(&f);
}

static void test_a_stream_that_was_forgotten_goes_on_elsewhere(void **state)
{
    struct rng r, kept;
    uint8_t before[64], after[64], again[64];

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    assert_int_equal(rng_init_key(&kept, KEY), STATUS_OK);
    rng_fill(&r, before, sizeof before);
    draw_forget(&r);
    rng_fill(&r, after, sizeof after);
    rng_fill(&kept, again, sizeof again);
    assert_memory_equal(before, again, sizeof again);
    rng_fill(&kept, again, RNG_KEY_BYTES); /* the new key */
    rng_fill(&kept, again, sizeof again);  /* what would have come */
    assert_memory_not_equal(after, again, sizeof again);
    rng_rekey(&kept, KEY);
    rng_fill(&kept, again, sizeof again);
    draw_forget(&kept);
    rng_fill(&kept, again, sizeof again);
    assert_memory_equal(after, again, sizeof again);
    rng_deinit(&r);
    rng_deinit(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_are_the_words_of_the_stream),
        cmocka_unit_test(test_no_word_is_lost_beside_those_that_are_rejected),
        cmocka_unit_test(test_a_stream_that_was_forgotten_goes_on_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
