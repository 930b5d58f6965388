/* test_pbm_kernel.c -- every kernel that runs here gives the codes of the definition.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/pbm/pbm_kernel.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t KEY[RNG_KEY_BYTES] = "kernels";

enum { N = 1000, TRIALS_MAX = 1024 };

/* The definition, written out here once more: word k * 32 + i of a block against t of element i. */
static void define(const struct pbm *p, uint32_t *q, const float *x, size_t n, struct rng *r)
{
    for (size_t block = 0; block < n; block += 32) {
        size_t some = n - block < 32 ? n - block : 32;

        memset(q + block, 0, some * sizeof *q);
        for (uint32_t k = 0; k < p->trials; k++) {
            uint8_t words[64];

            rng_fill(r, words, sizeof words);
            for (size_t i = 0; i < some; i++) {
                uint32_t word = words[2 * i] | (uint32_t)words[2 * i + 1] << 8;

                q[block + i] += word < pbm_threshold(p, x[block + i]);
            }
        }
    }
}

static void test_every_kernel_gives_the_codes_of_the_definition(void **state)
{
    static const uint32_t trials[] = {1, 2, 3, 8, 16, 63, 64, 127, 128, 129, 255, 256, 1023, 1024};
    static const size_t ns[] = {1, 31, 32, 33, 64, 999, N};
    static uint32_t want[N], got[N + 1];
    float x[N];
    struct rng r;

    (void)state;
    assert_int_equal(rng_init_key(&r, KEY), STATUS_OK);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(3 * rng_uniform(&r) - 1.5);
    for (size_t a = 0; a < sizeof trials / sizeof trials[0]; a++)
        for (size_t b = 0; b < sizeof ns / sizeof ns[0]; b++) {
            struct pbm p;

            assert_int_equal(pbm_init(&p, trials[a], 0.25, 1), STATUS_OK);
            rng_rekey(&r, KEY);
            define(&p, want, x, ns[b], &r);
            for (size_t k = 0; k < pbm_kernels_n; k++) {
                if (!pbm_kernels[k].runs_here())
                    continue;
                rng_rekey(&r, KEY);
                got[ns[b]] = 77;
                pbm_sample_by(&pbm_kernels[k], &p, got, x, ns[b], &r);
                assert_memory_equal(got, want, ns[b] * sizeof *got);
                assert_int_equal(got[ns[b]], 77);
            }
        }
    rng_deinit(&r);
}

/* Words at, below and above the threshold, at both ends of 16 bits. */
static void test_every_kernel_counts_words_strictly_below(void **state)
{
    static const uint16_t edges[] = {0, 1, 16383, 16384, 32767, 32768, 49151, 49152, 65534, 65535};
    enum { EDGES = sizeof edges / sizeof edges[0] };
    uint16_t words[EDGES * PBM_BLOCK] __attribute__((aligned(64)));
    uint16_t t[PBM_BLOCK] __attribute__((aligned(64)));
    uint16_t count[PBM_BLOCK] __attribute__((aligned(64)));

    (void)state;
    for (size_t r = 0; r < EDGES; r++)
        for (size_t i = 0; i < PBM_BLOCK; i++)
            words[r * PBM_BLOCK + i] = edges[r];
    for (size_t k = 0; k < pbm_kernels_n; k++) {
        if (!pbm_kernels[k].runs_here())
            continue;
        for (size_t i = 0; i < PBM_BLOCK; i++) {
            t[i] = edges[i % EDGES];
            count[i] = (uint16_t)i; /* kernels add to what is there */
        }
        pbm_kernels[k].count(count, t, words, EDGES);
        for (size_t i = 0; i < PBM_BLOCK; i++)
            assert_int_equal(count[i], i + i % EDGES); /* edges below the i-th */
    }
}

static void test_widest_kernel_that_runs_here_is_taken(void **state)
{
    size_t first = 0;

    (void)state;
    while (!pbm_kernels[first].runs_here())
        first++;
    assert_ptr_equal(pbm_kernel_best(), &pbm_kernels[first]);
    assert_true(pbm_kernels[pbm_kernels_n - 1].runs_here());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kernel_gives_the_codes_of_the_definition),
        cmocka_unit_test(test_every_kernel_counts_words_strictly_below),
        cmocka_unit_test(test_widest_kernel_that_runs_here_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
