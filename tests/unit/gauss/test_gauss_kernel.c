/* test_gauss_kernel.c -- every kernel that runs here gives the draws of the definition.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/gauss/gauss_kernel.h"

#include "common/gauss/gauss_table.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

enum { N = 1000, WORDS_MAX = GAUSS_DRAWS_MAX * 2 * GAUSS_BLOCK };

static const uint8_t KEY[RNG_KEY_BYTES] = "kernels";
static const double sigmas[] = {4, 7.3, 16, 20.8, 21, 64.5, 1000, 27000, GAUSS_SIGMA_MAX};

enum { SIGMAS = sizeof sigmas / sizeof sigmas[0] };

/* The definition, written out here once more. */
static int32_t define(const struct gauss *g, const uint64_t *words, size_t i)
{
    int32_t z = 0;

    for (uint32_t d = 0; d < g->draws; d++, words += 2 * GAUSS_BLOCK) {
        uint32_t m = 0, other = 0;

        for (uint32_t e = 0; e < g->entries; e++) {
            m += gauss_table_entry(g->main, e) <= words[i] >> 2;
            other += gauss_table_entry(g->rest, e) <= words[GAUSS_BLOCK + i] >> 2;
        }
        m = m == g->entries ? other : m;
        z += g->factor[d] * (words[i] % 2 == 1 ? -(int32_t)m : (int32_t)m);
    }
    return z;
}

static void compare(const struct gauss *g, const uint64_t *words)
{
    int32_t z[GAUSS_BLOCK + 1];

    for (size_t k = 0; k < gauss_kernels_n; k++) {
        if (!gauss_kernels[k].runs_here())
            continue;
        memset(z, 77, sizeof z);
        gauss_kernels[k].draw(z, g, words);
        for (size_t i = 0; i < GAUSS_BLOCK; i++)
            assert_int_equal(z[i], define(g, words, i));
        assert_int_equal(z[GAUSS_BLOCK], 77 * 0x01010101);
    }
}

static void test_every_kernel_gives_the_draws_of_the_definition(void **state)
{
    uint64_t words[WORDS_MAX];
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t s = 0; s < SIGMAS; s++) {
        struct gauss g;

        assert_int_equal(gauss_init(&g, sigmas[s]), STATUS_OK);
        for (int k = 0; k < 200; k++) {
            rng_fill(&r, words, sizeof words);
            compare(&g, words);
        }
        gauss_deinit(&g);
    }
    rng_deinit(&r);
}

/* Words at, just below and just above each entry of either table, and at both ends; the tables'
 * last entries are where `main` hands over to `rest`. */
static void test_every_kernel_compares_each_entry_exactly(void **state)
{
    (void)state;
    for (size_t s = 0; s < SIGMAS; s++) {
        uint64_t words[WORDS_MAX];
        struct gauss g;

        assert_int_equal(gauss_init(&g, sigmas[s]), STATUS_OK);
        for (uint32_t e = 0; e < g.entries; e++) {
            const uint64_t main = gauss_table_entry(g.main, e) << 2;
            const uint64_t rest = gauss_table_entry(g.rest, e) << 2;
            const uint64_t edges[] = {main, main - 1, main + 1, main + 3, 0, UINT64_MAX};

            for (size_t i = 0; i < WORDS_MAX; i++)
                words[i] = i / GAUSS_BLOCK % 2 == 0 ? edges[i % 6] : rest - (i % 3 == 0);
            compare(&g, words);
        }
        gauss_deinit(&g);
    }
}

/* Random words go past main's last entry once in 2^55 draws: here they always do. */
static void test_what_main_leaves_over_is_drawn_from_rest(void **state)
{
    uint64_t words[WORDS_MAX];
    int32_t z[GAUSS_BLOCK];
    struct gauss g;

    (void)state;
    assert_int_equal(gauss_init(&g, 16), STATUS_OK);
    for (uint32_t e = 0; e + 1 < g.entries; e++) {
        for (size_t i = 0; i < GAUSS_BLOCK; i++) {
            words[i] = UINT64_MAX - (i % 2);
            words[GAUSS_BLOCK + i] = gauss_table_entry(g.rest, e) << 2;
        }
        for (size_t k = 0; k < gauss_kernels_n; k++) {
            if (!gauss_kernels[k].runs_here())
                continue;
            gauss_kernels[k].draw(z, &g, words);
            for (size_t i = 0; i < GAUSS_BLOCK; i++)
                assert_true((i % 2 == 0 ? -z[i] : z[i]) >= (int32_t)e + 1);
        }
    }
    gauss_deinit(&g);
}

static void test_the_best_kernel_is_the_first_that_runs(void **state)
{
    (void)state;
    for (size_t k = 0; k < gauss_kernels_n; k++) {
        if (gauss_kernels[k].runs_here()) {
            assert_ptr_equal(gauss_kernel_best(), &gauss_kernels[k]);
            break;
        }
    }
    assert_true(gauss_kernels[gauss_kernels_n - 1].runs_here());
}

/* Which kernel draws, and how many at a time, is nothing that shows. */
static void test_every_kernel_samples_the_same_stream(void **state)
{
    static const size_t ns[] = {1, 15, 16, 17, 64, 999, N};
    static int32_t want[N], got[N + 1];
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t s = 0; s < SIGMAS; s++) {
        struct gauss g;

        assert_int_equal(gauss_init(&g, sigmas[s]), STATUS_OK);
        rng_rekey(&r, KEY);
        gauss_sample_by(&gauss_kernels[gauss_kernels_n - 1], &g, want, N, &r);
        for (size_t a = 0; a < sizeof ns / sizeof ns[0]; a++)
            for (size_t k = 0; k < gauss_kernels_n; k++) {
                if (!gauss_kernels[k].runs_here())
                    continue;
                rng_rekey(&r, KEY);
                got[ns[a]] = 77;
                gauss_sample_by(&gauss_kernels[k], &g, got, ns[a], &r);
                assert_memory_equal(got, want, ns[a] * sizeof *got);
                assert_int_equal(got[ns[a]], 77);
            }
        gauss_deinit(&g);
    }
    rng_deinit(&r);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel_gives_the_draws_of_the_definition),
        cmocka_unit_test(test_every_kernel_compares_each_entry_exactly),
        cmocka_unit_test(test_what_main_leaves_over_is_drawn_from_rest),
        cmocka_unit_test(test_the_best_kernel_is_the_first_that_runs),
        cmocka_unit_test(test_every_kernel_samples_the_same_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
