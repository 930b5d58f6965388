/* test_contribution.c -- the text of a job of contributions, and where its rounds stand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/contribution.h"

#include "common/wire/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct prediction about = {
    .run = "0123456789abcdef", .rows = 10, .batch = 4, .by = "clinic"};

/* Everybody, all but parties 0 and 2, all but 70, column 3 of party 1. */
static void make(struct contribution *c)
{
    assert_int_equal(contribution_init(c, 4), STATUS_OK);
    c->seed = 42;
    coalition_remove(&c->ask[1].of, 0);
    coalition_remove(&c->ask[1].of, 2);
    coalition_remove(&c->ask[2].of, 70);
    c->ask[3] = (struct contribution_ask){.mixes = true, .party = 1, .column = 3};
}

static const char own[] = "seed=42\nasks=0,5,400000000000000000,1:3\n";

static enum status parse(const char *text, size_t n, uint32_t parties, struct contribution *c)
{
    const struct wire_bytes bytes = {(const uint8_t *)text, n};
    struct prediction got;
    struct error err = {0};

    *c = (struct contribution){0};
    return contribution_parse(c, &got, &bytes, parties, &err);
}

static size_t say(char out[1024], const char *lines)
{
    struct buf head;

    buf_init(&head, WIRE_JOB_TEXT_MAX);
    assert_int_equal(prediction_print(&about, &head), STATUS_OK);
    snprintf(out, 1024, "%.*s%s", (int)head.len, (char *)head.data, lines);
    buf_deinit(&head);
    return strlen(out);
}

static void test_a_text_is_two_lines_behind_that_of_predictions_and_comes_back(void **state)
{
    struct contribution c, got;
    char text[1024];
    struct buf out;

    (void)state;
    make(&c);
    buf_init(&out, WIRE_JOB_TEXT_MAX);
    assert_int_equal(contribution_print(&c, &about, &out), STATUS_OK);
    assert_int_equal(out.len, say(text, own));
    assert_memory_equal(out.data, text, out.len);
    assert_int_equal(parse((char *)out.data, out.len, 71, &got), STATUS_OK);
    assert_int_equal(got.n, 4);
    assert_true(got.seed == 42);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(coalition_equal(&got.ask[i].of, &c.ask[i].of));
        assert_int_equal(got.ask[i].mixes, i == 3);
    }
    assert_int_equal(got.ask[3].party, 1);
    assert_int_equal(got.ask[3].column, 3);
    contribution_deinit(&got);
    contribution_deinit(&c);
    buf_deinit(&out);
}

static void test_what_is_no_such_text_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "seed=42\n",
        "seed=42\nasks=\n",
        "seed=42\nasks=,\n",
        "seed=42\nasks=0,\n",
        "seed=42\nasks=0",
        "seed=042\nasks=0\n",
        "seed=42\nasks=00\n",
        "seed=42\nasks=0 \n",
        "seed=42\nasks=A\n",
        "seed=42\nasks=0\nmore=1\n",
        "seed=-1\nasks=0\n",
        "seed=99999999999999999999\nasks=0\n",
        "seed=42\nasks=0,1:\n",
        "seed=42\nasks=0,:1\n",
        "seed=42\nasks=0,a:1\n",
        "seed=42\nasks=0,01:1\n",
        "seed=42\nasks=0,1:1:1\n",
        "seed=42\nasks=0,1:4294967296\n",
        /* Of three parties: nobody is left; a fourth one; a column too many. */
        "seed=42\nasks=0,7\n",
        "seed=42\nasks=0,8\n",
        "seed=42\nasks=0,3:0\n",
        "seed=42\nasks=0,1:1024\n",
    };
    struct contribution c;
    char text[1024];

    (void)state;
    assert_int_equal(parse(text, say(text, "seed=42\nasks=0,6,1:1023\n"), 3, &c), STATUS_OK);
    contribution_deinit(&c);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(text, say(text, bad[i]), 3, &c), STATUS_PROTOCOL);
        contribution_deinit(&c);
    }
}

/* So that nobody is left out but by a question. */
static void test_a_text_that_leaves_somebody_out_of_all_is_refused(void **state)
{
    struct prediction lacks = about;
    struct contribution c, got;
    struct buf out;

    (void)state;
    make(&c);
    lacks.absent[1] = true;
    buf_init(&out, WIRE_JOB_TEXT_MAX);
    assert_int_equal(contribution_print(&c, &lacks, &out), STATUS_OK);
    assert_int_equal(parse((char *)out.data, out.len, 71, &got), STATUS_PROTOCOL);
    contribution_deinit(&got);
    contribution_deinit(&c);
    buf_deinit(&out);
}

static void test_more_answers_than_a_job_may_have_are_refused(void **state)
{
    struct prediction many = about;
    struct contribution c, got;
    struct buf out;

    (void)state;
    make(&c);
    for (int more = 0; more < 2; more++) {
        many.rows = PREDICTION_ROWS_MAX / 4 + (uint32_t)more;
        buf_init(&out, WIRE_JOB_TEXT_MAX);
        assert_int_equal(contribution_print(&c, &many, &out), STATUS_OK);
        assert_int_equal(parse((char *)out.data, out.len, 71, &got),
                         more ? STATUS_PROTOCOL : STATUS_OK);
        contribution_deinit(&got);
        buf_deinit(&out);
    }
    contribution_deinit(&c);
}

/* Rows 0-3 four times, rows 4-7, and then the last two. */
static void test_rounds_ask_all_of_their_rows_before_the_next_ones(void **state)
{
    struct contribution c;
    struct contribution_round at;
    uint64_t place = 0;

    (void)state;
    make(&c);
    for (uint32_t row = 0; row < about.rows; row += 4) {
        for (uint32_t ask = 0; ask < 4; ask++) {
            assert_true(contribution_at(&at, &c, &about, place));
            assert_int_equal(at.row, row);
            assert_int_equal(at.rows, row < 8 ? 4 : 2);
            assert_int_equal(at.ask, ask);
            for (uint32_t in = 1; in < at.rows; in++)
                assert_false(contribution_at(&at, &c, &about, place + in));
            place += at.rows;
        }
    }
    assert_true(place == contribution_places(&c, &about));
    assert_false(contribution_at(&at, &c, &about, place));
    assert_false(contribution_at(&at, &c, &about, UINT64_MAX));
    contribution_deinit(&c);
}

static void test_predictions_are_one_question(void **state)
{
    struct prediction lacks = about;
    struct contribution c;
    struct contribution_round at;

    (void)state;
    lacks.absent[1] = true;
    assert_int_equal(contribution_of(&c, &lacks), STATUS_OK);
    assert_true(c.n == 1 && coalition_lacks(&c.ask[0].of, 1) && !coalition_lacks(&c.ask[0].of, 0));
    for (uint64_t place = 0; place < 12; place++) {
        const bool begins = place % 4 == 0 && place < 10;

        assert_int_equal(contribution_at(&at, &c, &lacks, place), begins);
        assert_true(!begins || at.row == place);
    }
    contribution_deinit(&c);
}

static void test_columns_are_counted_by_whose_they_are(void **state)
{
    struct contribution c;
    uint32_t end;

    (void)state;
    make(&c);
    assert_int_equal(contribution_mixes(&c, 1, &end), 1);
    assert_int_equal(end, 4);
    assert_int_equal(contribution_mixes(&c, 0, &end), 0);
    assert_int_equal(end, 0);
    contribution_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_is_two_lines_behind_that_of_predictions_and_comes_back),
        cmocka_unit_test(test_what_is_no_such_text_is_refused),
        cmocka_unit_test(test_a_text_that_leaves_somebody_out_of_all_is_refused),
        cmocka_unit_test(test_more_answers_than_a_job_may_have_are_refused),
        cmocka_unit_test(test_rounds_ask_all_of_their_rows_before_the_next_ones),
        cmocka_unit_test(test_predictions_are_one_question),
        cmocka_unit_test(test_columns_are_counted_by_whose_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
