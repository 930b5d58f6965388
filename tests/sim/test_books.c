/* test_books.c -- limits in the middle of a run: a block of releases is judged by the record that
 * is in it most often.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/books.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static float values[3];
static char ids[] = "a\0b\0c";
static uint32_t at[] = {0, 2, 4};
static uint8_t plan[LEDGER_DIGEST_BYTES];

/* One block of these rows on an empty ledger, under this limit. */
static enum status charge(double epsilon, const uint32_t *rows, size_t n)
{
    struct party_inputs in = {
        .train = {.rows = 3, .cols = 1, .x = values, .id_text = ids, .id_at = at}};
    struct action_charge c = {
        .mechanism = {.kind = ACCOUNT_PBM,
                      .trials = 4,
                      .beta = 0.1,
                      .bottom = ACCOUNT_FROZEN,
                      .coordinates = 2,
                      .parties = 3,
                      .colluders = 1},
        .purpose = PURPOSE_TRAIN,
        .plan = plan,
        .rounds = 3,
        .rows = rows,
        .n = n,
    };
    struct error err = {0};
    struct books b;
    enum status s;

    unlink(scratch_path("ledger.db"));
    unlink(scratch_path("ledger.begun"));
    snprintf(in.config.state, sizeof in.config.state, "%s", scratch_dir());
    in.config.policy.epsilon_adversary = ADVERSARY_SERVER;
    in.config.policy.epsilon_adjacency = ADJACENCY_RECORD_FROZEN;
    in.config.policy.epsilon_value = epsilon;
    assert_int_equal(books_open(&b, &in, &err), STATUS_OK);
    b.delta = 1e-5;
    s = books_charge(&b, &c, &err);
    assert_true(s == STATUS_OK || strstr(err.text, "policy.max_epsilon") != NULL);
    assert_int_equal(ledger_sequence(b.ledger), s == STATUS_OK ? 3 : 0);
    books_close(&b);
    return s;
}

static void test_a_block_counts_as_often_as_its_most_frequent_record_is_in_it(void **state)
{
    static const uint32_t once[] = {0, 1, 2}, turns[] = {0, 1, 0, 1, 0, 1}, two[] = {2, 0, 2};
    double epsilon = 0.01;

    (void)state;
    while (charge(epsilon, once, 1) != STATUS_OK)
        epsilon *= 1.02;
    assert_true(epsilon > 0.011);
    assert_int_equal(charge(epsilon, once, 3), STATUS_OK);
    assert_int_equal(charge(epsilon, turns, 6), STATUS_BUDGET);
    assert_int_equal(charge(epsilon, two, 3), STATUS_BUDGET);
    assert_int_equal(charge(epsilon, turns, 2), STATUS_OK);
    while (charge(epsilon, two, 3) != STATUS_OK) /* a limit of two: three turns are over it */
        epsilon *= 1.02;
    assert_int_equal(charge(epsilon, turns, 4), STATUS_OK);
    assert_int_equal(charge(epsilon, turns, 6), STATUS_BUDGET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_block_counts_as_often_as_its_most_frequent_record_is_in_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
