/* test_spared.c -- a training by labelled rows within limits of one record: what a record has spent
 * leaves it out, and ends nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/scratch.h"
#include "tests/sim/bookkeeping.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct account_entry mechanism = {.kind = ACCOUNT_PBM,
                                               .trials = 4,
                                               .beta = 0.1,
                                               .bottom = ACCOUNT_FROZEN,
                                               .coordinates = 2,
                                               .parties = 3,
                                               .colluders = 1};
static uint8_t not_here[3];

/* Of a record so many releases, where the rows may not all be here. */
static void open_labelled(struct books *b, uint64_t most)
{
    struct error err = {0};

    books_opened(b, 0);
    books_close(b);
    memset(not_here, 0, sizeof not_here);
    books_in.train.lacks = not_here;
    books_in.config.policy.releases_record = most;
    assert_int_equal(books_open(b, &books_in, &err), STATUS_OK);
    b->delta = 1e-5;
}

static void spare(struct books *b, uint64_t planned)
{
    struct account_entry entry = mechanism;
    struct error err = {0};

    entry.releases = 3 * planned;
    entry.participations_max = entry.trained_max = planned;
    assert_int_equal(books_spare(b, &entry, &err), STATUS_OK);
}

/* What no limit refuses. */
static void spend(uint32_t row, int times)
{
    struct books b;

    books_opened(&b, 0);
    for (int i = 0; i < times; i++)
        assert_int_equal(books_pay(&b, &row, 1), STATUS_OK);
    books_close(&b);
}

static void test_a_labelled_row_without_room_for_a_training_is_left_out_of_it(void **state)
{
    static const uint32_t all[] = {0, 1, 2};
    struct books b;
    size_t n;
    struct error err = {0};
    const struct account_entry planned = {.participations_max = 3};

    (void)state;
    books_forget();
    spend(1, 4);
    spend(2, 4);
    open_labelled(&b, 6);
    assert_int_equal(
        books_spared_with(b.ledger, &books_in, &books_in.model.plan, &planned, &n, &err),
        STATUS_OK);
    assert_int_equal(n, 2);
    for (int job = 0; job < 2; job++) { /* in the end twelve releases are nobody's */
        spare(&b, 3);
        assert_memory_equal(not_here, ((uint8_t[]){0, 1, 1}), 3);
        for (int i = 0; i < 3; i++)
            assert_int_equal(books_pay(&b, all, 3), STATUS_OK);
        books_expect_held(&b, 8 + 9 + 9 * (uint64_t)job, job == 0 ? 4 : 6);
    }
    spare(&b, 2); /* for a shorter one others have room */
    assert_memory_equal(not_here, ((uint8_t[]){1, 0, 0}), 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(books_pay(&b, all, 3), STATUS_OK);
    books_expect_held(&b, 32, 6);
    books_close(&b);
}

/* Whoever has spent what: so many rounds of a job as were planned, and not one more. */
static void test_a_training_by_labelled_rows_ends_by_what_it_has_charged_itself(void **state)
{
    static const uint32_t all[] = {0, 1, 2}, two[] = {2, 0};

    (void)state;
    for (int spent = 0; spent < 3; spent++) {
        struct error err = {0};
        struct action_charge back = {.mechanism = mechanism,
                                     .purpose = PURPOSE_TRAIN,
                                     .rows = two,
                                     .n = 2,
                                     .rounds = 1,
                                     .give_back = true};
        struct books b;

        books_forget();
        for (uint32_t row = 0; row < 3; row++)
            spend(row, spent * (int)(1 + row));
        open_labelled(&b, 6);
        spare(&b, 3);
        assert_int_equal(not_here[0] + not_here[1] + not_here[2], spent == 0   ? 0
                                                                  : spent == 1 ? 0
                                                                               : 2);
        assert_int_equal(books_pay(&b, all, 3), STATUS_OK);
        assert_int_equal(books_pay(&b, all, 3), STATUS_OK);
        assert_int_equal(books_pay(&b, two, 2), STATUS_OK);
        for (int again = 0; again < 2; again++)
            assert_int_equal(books_pay(&b, all, 3), STATUS_BUDGET);
        assert_int_equal(books_pay(&b, all + 1, 1), STATUS_OK);
        assert_int_equal(books_charge(&b, &back, &err), STATUS_OK); /* and stays charged */
        assert_int_equal(books_pay(&b, two, 2), STATUS_BUDGET);
        books_close(&b);
    }
}

/* Bytes of all that the ledger has written, once a job was charged that has such a limit. */
static long long written(uint64_t limit, uint8_t left_out)
{
    static const uint32_t all[] = {0, 1, 2}, two[] = {2, 0};
    struct books b;

    books_forget();
    spend(1, 4);
    open_labelled(&b, limit);
    spare(&b, 3);
    assert_int_equal(not_here[1], left_out);
    assert_int_equal(books_pay(&b, all, 3), STATUS_OK);
    assert_int_equal(books_pay(&b, two, 2), STATUS_OK);
    assert_int_equal(books_pay(&b, all, 3), STATUS_OK);
    books_close(&b);
    return scratch_ask_sqlite("ledger.db",
                              "SELECT total(length(text) + ifnull(length(bytes), 0)) FROM log");
}

static void test_the_disk_does_the_same_whoever_is_left_out(void **state)
{
    (void)state;
    assert_int_equal(written(6, 1), written(7, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_labelled_row_without_room_for_a_training_is_left_out_of_it),
        cmocka_unit_test(test_the_disk_does_the_same_whoever_is_left_out),
        cmocka_unit_test(test_a_training_by_labelled_rows_ends_by_what_it_has_charged_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
