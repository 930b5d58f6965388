/* test_books.c -- limits in the middle of a run: a block of releases is judged by the record that
 * is in it most often.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/books.h"
#include "party/words.h"
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

/* --- ids that are nobody's here --- */

/* So many more of them, under this limit. */
static enum status ask(uint32_t most, uint32_t unknown, struct error *err)
{
    struct party_inputs in = {.config.policy.unknown_ids = most};
    const struct action_charge c = {.mechanism = {.kind = ACCOUNT_PBM,
                                                  .trials = 4,
                                                  .beta = 0.1,
                                                  .bottom = ACCOUNT_FROZEN,
                                                  .coordinates = 2,
                                                  .parties = 3,
                                                  .colluders = 1},
                                    .purpose = PURPOSE_EVALUATE_TEST,
                                    .predicts = true,
                                    .unknown = unknown,
                                    .plan = plan,
                                    .rounds = 1};
    struct books b;
    enum status s;

    *err = (struct error){0};
    snprintf(in.config.state, sizeof in.config.state, "%s", scratch_dir());
    assert_int_equal(books_open(&b, &in, err), STATUS_OK);
    s = books_charge(&b, &c, err);
    assert_int_equal(books_may_answer(&b, &(struct error){0}), s);
    books_close(&b);
    return s;
}

/* Whoever asks for sets in turn learns one bit from the first that is refused, and no more. */
static void test_ids_that_are_refused_are_counted_and_no_job_is_answered_after(void **state)
{
    static const uint32_t limits[] = {0, 3};
    char said[WIRE_TEXT_MAX + 1];
    struct error err;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const uint32_t most = limits[i];

        unlink(scratch_path("unknown"));
        assert_int_equal(ask(most, 0, &err), STATUS_OK);
        if (most > 0)
            assert_int_equal(ask(most, most, &err), STATUS_OK); /* all of them, and none too many */
        assert_int_equal(ask(most, 0, &err), STATUS_OK);
        assert_int_equal(ask(most, 17, &err), STATUS_BUDGET);
        words_for_server(said, &err, scratch_dir());
        assert_string_equal(said, "policy.predict.max_unknown: over its limit");
        assert_int_equal(ask(most, 1, &err), STATUS_BUDGET); /* whatever is asked for now */
        assert_int_equal(ask(most + 1, 0, &err), STATUS_OK); /* but for an operator's word */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_block_counts_as_often_as_its_most_frequent_record_is_in_it),
        cmocka_unit_test(test_ids_that_are_refused_are_counted_and_no_job_is_answered_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
