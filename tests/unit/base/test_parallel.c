/* test_parallel.c -- every part is done once, however many threads there are.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PARTS_MAX = 1000 };

struct counted {
    atomic_uint at[PARTS_MAX], ranges;
    size_t least;
};

static void count(void *owner, size_t from, size_t to)
{
    struct counted *c = owner;

    atomic_fetch_add(&c->ranges, 1);
    for (size_t i = from; i < to; i++)
        atomic_fetch_add(&c->at[i], 1);
}

static unsigned expect_once(size_t n, size_t least, unsigned threads)
{
    struct counted c;

    memset(&c, 0, sizeof c);
    parallel_for(n, least, threads, count, &c);
    for (size_t i = 0; i < PARTS_MAX; i++)
        assert_int_equal(atomic_load(&c.at[i]), i < n);
    return atomic_load(&c.ranges);
}

static void test_every_part_is_done_once(void **state)
{
    (void)state;
    for (size_t n = 0; n <= PARTS_MAX; n += n < 10 ? 1 : 330) {
        for (unsigned threads = 1; threads <= 9; threads += 4)
            assert_in_range(expect_once(n, 1, threads), 1, threads);
    }
}

static void test_ranges_are_not_shorter_than_asked(void **state)
{
    (void)state;
    assert_int_equal(expect_once(100, 60, 8), 1);
    assert_int_equal(expect_once(100, 30, 8), 3);
    assert_int_equal(expect_once(100, 0, 1000), PARALLEL_THREADS_MAX);
}

static void test_there_is_a_processor(void **state)
{
    (void)state;
    assert_in_range(parallel_processors(), 1, PARALLEL_THREADS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_part_is_done_once),
        cmocka_unit_test(test_ranges_are_not_shorter_than_asked),
        cmocka_unit_test(test_there_is_a_processor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
