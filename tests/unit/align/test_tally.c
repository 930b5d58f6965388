/* test_tally.c -- a tally holds for one key, one sum, one stage and one member, and for nothing
 * else.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/align/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden/align.h"

struct made {
    struct tally_key key;
    uint8_t session[32], context[TALLY_CONTEXT_BYTES], tally[TALLY_BYTES];
};

static void counting(uint8_t *out, size_t n, uint8_t from)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(from + i);
}

static struct made make(void)
{
    uint8_t random[GROUP_RANDOM_BYTES];
    struct made m;

    assert_int_equal(group_open(), STATUS_OK);
    counting(m.session, sizeof m.session, 100);
    counting(random, sizeof random, 0);
    assert_int_equal(tally_key_init(&m.key, random), STATUS_OK);
    tally_context(m.context, m.session, 3, 2);
    counting(random, sizeof random, 64);
    assert_int_equal(tally_make(m.tally, &m.key, GOLDEN_POINT, m.context, random), STATUS_OK);
    return m;
}

static void test_a_tally_is_that_of_an_independent_program(void **state)
{
    struct made m = make();
    uint8_t origin[GROUP_BYTES];

    (void)state;
    assert_memory_equal(m.tally, GOLDEN_TALLY, sizeof m.tally);
    assert_true(tally_holds(m.tally, m.context));
    assert_int_equal(tally_origin(origin, m.session), STATUS_OK);
    assert_memory_equal(origin, GOLDEN_ORIGIN, sizeof origin);
    tally_key_wipe(&m.key);
}

static void test_any_bit_of_a_tally_counts(void **state)
{
    struct made m = make();

    (void)state;
    for (size_t i = 0; i < TALLY_BYTES; i++) {
        for (unsigned bit = 0; bit < 8; bit += 1 + (unsigned)(i % 7)) {
            m.tally[i] ^= (uint8_t)(1u << bit);
            assert_false(tally_holds(m.tally, m.context));
            m.tally[i] ^= (uint8_t)(1u << bit);
        }
    }
    assert_true(tally_holds(m.tally, m.context));
}

static void test_a_tally_serves_in_one_session_stage_and_member(void **state)
{
    struct made m = make();
    uint8_t other[TALLY_CONTEXT_BYTES];

    (void)state;
    tally_context(other, m.session, 4, 2);
    assert_false(tally_holds(m.tally, other));
    tally_context(other, m.session, 3, 1);
    assert_false(tally_holds(m.tally, other));
    m.session[0] ^= 1;
    tally_context(other, m.session, 3, 2);
    assert_false(tally_holds(m.tally, other));
}

/* Two exponents, each with a proof of its own half. */
static void test_another_exponent_has_no_proof(void **state)
{
    struct made a = make(), b = make();
    uint8_t random[GROUP_RANDOM_BYTES], mixed[TALLY_BYTES];

    (void)state;
    counting(random, sizeof random, 1);
    assert_int_equal(tally_key_init(&b.key, random), STATUS_OK);
    assert_int_equal(tally_make(b.tally, &b.key, GOLDEN_POINT, b.context, random), STATUS_OK);
    assert_true(tally_holds(b.tally, b.context));
    memcpy(mixed, b.tally, sizeof mixed);
    memcpy(mixed + TALLY_PUBLIC, a.tally + TALLY_PUBLIC, GROUP_BYTES);
    assert_false(tally_holds(mixed, b.context));
    memcpy(mixed, a.tally, sizeof mixed);
    memcpy(mixed + TALLY_OUT, b.tally + TALLY_OUT, GROUP_BYTES);
    assert_false(tally_holds(mixed, a.context));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tally_is_that_of_an_independent_program),
        cmocka_unit_test(test_any_bit_of_a_tally_counts),
        cmocka_unit_test(test_a_tally_serves_in_one_session_stage_and_member),
        cmocka_unit_test(test_another_exponent_has_no_proof),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
