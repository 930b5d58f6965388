/* test_journal.c -- what is appended is read again; going back, forgetting.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/daemon/journals.h"

#include <sys/stat.h>

#include "common/daemon/journal_segment.h"
#include "tests/lib/aborts.h"

enum {
    TRAIN_BYTES = JOURNAL_RECORD_BYTES_MIN + 4 * (SUM_FLOATS + GRADIENT_FLOATS),
    GRADIENT_BYTES = GRADIENT_FLOATS * sizeof(float),
};

static void test_what_is_appended_is_read_again_in_order(void **state)
{
    struct journal *j = open_journal(0);

    (void)state;
    assert_string_equal(line_from(j, 0), "");
    assert_int_equal(journal_next(j), 0);
    evaluate(j, 3, 0);
    train(j, 0, 0);
    train(j, 1, 0);
    evaluate(j, 5, 1);
    evaluate(j, 6, 1);
    assert_string_equal(line_from(j, 0), "e3.0 t0.0 t1.0 e5.1 e6.1");
    j = open_again(j, 0);
    assert_string_equal(line_from(j, 0), "e3.0 t0.0 t1.0 e5.1 e6.1");
    train(j, 2, 0);
    assert_string_equal(line_from(j, 0), "e3.0 t0.0 t1.0 e5.1 e6.1 t2.0");
    j = open_again(j, 2);
    assert_string_equal(line_from(j, 0), "e3.0 t0.0 t1.0 e5.1 e6.1 t2.0");
    assert_int_equal(journal_first(j), 0);
    assert_int_equal(journal_next(j), 3);
    journal_close(j);
    journal_close(NULL);
}

static void test_reading_begins_with_the_evaluations_of_the_model_before(void **state)
{
    struct journal *j = open_journal(0);
    struct error err = {0};
    char line[LINE_BYTES] = "";

    (void)state;
    evaluate(j, 1, 0);
    train(j, 0, 0);
    evaluate(j, 2, 0);
    turn(j, 1);
    evaluate(j, 3, 0);
    train(j, 1, 0);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(line_from(j, 0), "e1.0 t0.0 e2.0 e3.0 t1.0");
        assert_string_equal(line_from(j, 1), "e2.0 e3.0 t1.0");
        assert_string_equal(line_from(j, 2), "");
        j = open_again(j, 1);
    }
    turn(j, 2);
    journal_forget(j, 2);
    assert_int_equal(journal_read(j, 1, note_record, line, &err), STATUS_DATA);
    assert_string_equal(line, "");
    journal_close(j);
}

static enum status stop_at_second(void *owner, const struct journal_record *r)
{
    int *calls = owner;

    (void)r;
    return ++*calls == 2 ? STATUS_POLICY : STATUS_OK;
}

static void test_the_reader_s_answer_ends_the_reading(void **state)
{
    struct journal *j = open_journal(0);
    struct error err = {0};
    int calls = 0;

    (void)state;
    for (uint64_t s = 0; s < 4; s++)
        train(j, s, 0);
    assert_int_equal(journal_read(j, 0, stop_at_second, &calls, &err), STATUS_POLICY);
    assert_int_equal(calls, 2);
    journal_close(j);
}

static void test_who_goes_back_leaves_a_dead_line_behind(void **state)
{
    struct journal *j = open_journal(0);

    (void)state;
    train(j, 0, 0);
    train(j, 1, 0);
    evaluate(j, 1, 0); /* of the model that step 2 starts from, in both lines */
    train(j, 2, 0);
    evaluate(j, 2, 0);
    turn(j, 3);
    evaluate(j, 3, 0);
    train(j, 3, 0);
    turn(j, 4);
    evaluate(j, 4, 0);
    train(j, 2, 1); /* the server is at step 2 again */
    evaluate(j, 5, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(journal_next(j), 3);
        assert_string_equal(line_from(j, 0), "t0.0 t1.0 e1.0 t2.1 e5.1");
        assert_string_equal(line_from(j, 2), "e1.0 t2.1 e5.1");
        assert_string_equal(line_from(j, 3), "e5.1");
        assert_int_equal(trail_after(j, 2), 16);
        assert_int_equal(trail_after(j, 3), 33);
        assert_int_equal(trail_after(j, 4), -1);
        j = open_again(j, 3);
    }
    train(j, 3, 1);
    j = open_again(j, 3);
    assert_string_equal(line_from(j, 2), "e1.0 t2.1 e5.1 t3.1");
    train(j, 0, 2); /* back to the beginning */
    j = open_again(j, 0);
    assert_string_equal(line_from(j, 0), "t0.2");
    journal_close(j);
}

static void test_going_back_within_a_segment_is_seen_too(void **state)
{
    struct journal *j = open_journal(0);

    (void)state;
    train(j, 0, 0);
    train(j, 1, 0);
    evaluate(j, 1, 0);
    train(j, 1, 1);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(line_from(j, 0), "t0.0 t1.1");
        j = open_again(j, 2);
    }
    journal_close(j);
}

static void test_going_back_behind_what_was_forgotten_starts_the_line_anew(void **state)
{
    struct journal *j = open_journal(0);

    (void)state;
    for (uint64_t s = 0; s < 4; s++)
        train(j, s, 0);
    turn(j, 4);
    evaluate(j, 1, 0);
    journal_forget(j, 4);
    assert_int_equal(journal_first(j), 4);
    train(j, 2, 1);
    evaluate(j, 2, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(journal_first(j), 2);
        assert_int_equal(journal_next(j), 3);
        assert_string_equal(line_from(j, 2), "t2.1 e2.1");
        assert_int_equal(trail_after(j, 2), -1);
        j = open_again(j, 2);
    }
    journal_close(j);
}

/* Adds what the gradients of these steps should be. */
static void check_gradients(const struct buf *out, uint64_t step, uint64_t steps, uint64_t variant)
{
    assert_int_equal(out->len, steps * GRADIENT_BYTES);
    for (uint64_t i = 0; i < steps; i++) {
        float floats[SUM_FLOATS + GRADIENT_FLOATS];
        struct journal_record r = sample(floats, JOURNAL_TRAIN, step + i, variant);

        assert_memory_equal(out->data + i * GRADIENT_BYTES, r.gradient, GRADIENT_BYTES);
    }
}

static void test_missed_gradients_come_as_many_as_fit(void **state)
{
    static const struct {
        uint64_t step;
        size_t bytes_max;
        uint64_t steps;
    } asked[] = {
        {0, 1000, 5},
        {3, 1000, 2},
        {4, 1000, 1},
        {1, 3 * GRADIENT_BYTES, 3},
        {1, 3 * GRADIENT_BYTES - 1, 2},
        {1, 2, 1},
        {1, 0, 1}, /* at least one */
    };
    struct journal *j = open_journal(0);
    struct error err = {0};
    uint64_t steps;
    struct buf out;

    (void)state;
    for (uint64_t s = 0; s < 5; s++) {
        train(j, s, 0);
        evaluate(j, s, 0);
        if (s % 2 == 1)
            turn(j, s + 1);
    }
    buf_init(&out, 5 * GRADIENT_BYTES);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        out.len = 0;
        assert_int_equal(
            journal_gradients(j, asked[i].step, asked[i].bytes_max, &out, &steps, &err), STATUS_OK);
        assert_int_equal(steps, asked[i].steps);
        check_gradients(&out, asked[i].step, steps, 0);
    }
    out.len = 0;
    assert_int_equal(journal_gradients(j, 5, 1000, &out, &steps, &err), STATUS_DATA);
    assert_int_equal(steps, 0);
    assert_int_equal(out.len, 0);
    journal_forget(j, 3);
    assert_int_equal(journal_gradients(j, 1, 1000, &out, &steps, &err), STATUS_DATA);
    assert_int_equal(journal_gradients(j, 2, 1000, &out, &steps, &err), STATUS_OK);
    check_gradients(&out, 2, 3, 0);
    buf_deinit(&out);
    journal_close(j);
}

static void test_gradients_go_behind_what_is_there_and_not_over_its_limit(void **state)
{
    struct journal *j = open_journal(0);
    struct error err = {0};
    uint64_t steps;
    struct buf out;

    (void)state;
    train(j, 0, 0);
    train(j, 1, 0);
    buf_init(&out, 3 + GRADIENT_BYTES);
    assert_int_equal(buf_append(&out, "abc", 3), STATUS_OK);
    assert_int_equal(journal_gradients(j, 0, GRADIENT_BYTES, &out, &steps, &err), STATUS_OK);
    assert_int_equal(steps, 1);
    assert_int_equal(out.len, 3 + GRADIENT_BYTES);
    assert_memory_equal(out.data, "abc", 3);
    out.len = 4;
    assert_int_equal(journal_gradients(j, 0, GRADIENT_BYTES, &out, &steps, &err), STATUS_LIMIT);
    assert_int_equal(out.len, 4);
    buf_deinit(&out);
    journal_close(j);
}

static void test_gradients_are_those_of_the_line_that_counts(void **state)
{
    struct journal *j = open_journal(0);
    struct error err = {0};
    uint64_t steps;
    struct buf out;

    (void)state;
    for (uint64_t s = 0; s < 3; s++)
        train(j, s, 0);
    j = open_again(j, 1);
    for (uint64_t s = 1; s < 3; s++)
        train(j, s, 1);
    j = open_again(j, 1);
    buf_init(&out, 1024);
    assert_int_equal(journal_gradients(j, 1, 1024, &out, &steps, &err), STATUS_OK);
    assert_int_equal(steps, 2);
    check_gradients(&out, 1, 2, 1);
    buf_deinit(&out);
    journal_close(j);
}

static void test_only_what_nobody_can_need_is_forgotten(void **state)
{
    struct journal *j = open_journal(0);
    struct stat st;

    (void)state;
    train(j, 0, 0);
    train(j, 1, 0);
    turn(j, 2);
    train(j, 2, 0);
    evaluate(j, 7, 0);
    turn(j, 3);
    train(j, 3, 0);
    turn(j, 4);
    assert_int_equal(segments_there(), 4);
    journal_forget(j, 1);
    assert_int_equal(segments_there(), 4);
    journal_forget(j, 2);
    assert_int_equal(segments_there(), 3);
    assert_int_not_equal(stat(segment_path(1), &st), 0);
    assert_int_equal(journal_first(j), 2);
    journal_forget(j, 3); /* the evaluation of the model after step 2 may be asked for */
    assert_int_equal(segments_there(), 3);
    assert_string_equal(line_from(j, 3), "e7.0 t3.0");
    j = open_again(j, 2);
    assert_int_equal(journal_first(j), 2);
    assert_int_equal(trail_after(j, 2), 16); /* of step 1, from the header */
    journal_forget(j, 1000);
    assert_int_equal(segments_there(), 1);
    assert_int_equal(journal_first(j), 4);
    assert_int_equal(journal_next(j), 4);
    assert_string_equal(line_from(j, 4), "");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trail_after(j, 4), 48);
        assert_int_equal(trail_after(j, 3), -1);
        j = open_again(j, 4);
    }
    train(j, 4, 0);
    assert_string_equal(line_from(j, 4), "t4.0");
    journal_forget(j, 1000); /* the one in use stays */
    assert_string_equal(line_from(j, 4), "t4.0");
    journal_close(j);
}

static void test_a_server_that_starts_again_and_again_leaves_one_empty_segment(void **state)
{
    struct journal *j = open_journal(0);
    struct saved_file before, after;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_true(save_segment(&before, 1));
        j = open_again(j, 0);
        assert_int_equal(segments_there(), 1);
        assert_true(save_segment(&after, 1));
        assert_memory_not_equal(before.bytes, after.bytes, JOURNAL_HEADER_BYTES); /* another key */
    }
    turn(j, 0);
    turn(j, 0);
    assert_int_equal(segments_there(), 1);
    train(j, 0, 0);
    turn(j, 1);
    turn(j, 1);
    j = open_again(j, 1);
    assert_int_equal(segments_there(), 2);
    assert_string_equal(line_from(j, 0), "t0.0");
    journal_close(j);
}

static void test_no_process_appends_to_a_file_of_another(void **state)
{
    struct journal *j = open_journal(0);
    struct saved_file before, after;

    (void)state;
    train(j, 0, 0);
    assert_true(save_segment(&before, 1));
    j = open_again(j, 0);
    train(j, 1, 0);
    assert_true(save_segment(&after, 1));
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.bytes, after.bytes, before.n);
    assert_true(save_segment(&after, 2));
    assert_int_equal(after.n, JOURNAL_HEADER_BYTES + TRAIN_BYTES);
    journal_close(j);
}

static void test_its_files_are_private_and_say_nothing(void **state)
{
    struct journal *j = open_journal(0);
    struct saved_file file;
    float floats[SUM_FLOATS + GRADIENT_FLOATS];
    struct journal_record r = sample(floats, JOURNAL_TRAIN, 0, 0);
    struct stat st;

    (void)state;
    assert_int_equal(journal_append(j, &r, NULL), STATUS_OK);
    assert_int_equal(stat(segment_path(1), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(save_segment(&file, 1));
    assert_int_equal(file.n, JOURNAL_HEADER_BYTES + TRAIN_BYTES);
    assert_null(memmem(file.bytes, file.n, floats + 1, sizeof floats[1]));
    assert_null(memmem(file.bytes, file.n, r.gradient, GRADIENT_BYTES));
    journal_close(j);
}

static void test_a_journal_without_files_begins_where_the_checkpoint_is(void **state)
{
    struct journal *j = open_journal(12);

    (void)state;
    assert_int_equal(journal_first(j), 12);
    assert_int_equal(journal_next(j), 12);
    assert_int_equal(trail_after(j, 12), -1);
    train(j, 12, 0);
    j = open_again(j, 12);
    assert_string_equal(line_from(j, 12), "t12.0");
    journal_close(j);
}

static void test_a_complete_run_leaves_nothing(void **state)
{
    struct journal_place at = here();
    struct journal *j = open_journal(0);

    (void)state;
    train(j, 0, 0);
    turn(j, 1);
    train(j, 1, 0);
    journal_close(j);
    put_key("10112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"); /* whoever's */
    assert_int_equal(journal_remove(&at, NULL), STATUS_OK);
    assert_int_equal(segments_there(), 0);
    journal_close(open_journal(0));
}

/* --- what a caller must not do --- */

static void test_a_round_too_large_is_refused_before_it_is_looked_at(void **state)
{
    struct journal *j = open_journal(0);
    struct error err = {0};
    struct journal_record r = {.purpose = 1, .sum_floats = (size_t)JOURNAL_FLOATS_MAX + 1};

    (void)state;
    assert_int_equal(journal_append(j, &r, &err), STATUS_CONFIG);
    r = (struct journal_record){
        .purpose = JOURNAL_TRAIN, .sum_floats = 1, .gradient_words = JOURNAL_FLOATS_MAX};
    assert_int_equal(journal_append(j, &r, &err), STATUS_CONFIG);
    assert_string_equal(line_from(j, 0), "");
    journal_close(j);
}

static void leave_a_step_out(void *arg)
{
    struct error err = {0};

    (void)!append(arg, JOURNAL_TRAIN, 5, 0, &err);
}

static void evaluate_with_gradient(void *arg)
{
    float floats[SUM_FLOATS + GRADIENT_FLOATS];
    struct journal_record r = sample(floats, JOURNAL_TRAIN, 0, 0);

    r.purpose = JOURNAL_TRAIN + 1;
    (void)!journal_append(arg, &r, NULL);
}

static void turn_at_another_step(void *arg)
{
    (void)!journal_turn(arg, 1, NULL);
}

static void test_mistakes_abort(void **state)
{
    struct journal *j = open_journal(0);

    (void)state;
    assert_true(aborts(leave_a_step_out, j));
    assert_true(aborts(evaluate_with_gradient, j));
    assert_true(aborts(turn_at_another_step, j));
    assert_string_equal(line_from(j, 0), "");
    journal_close(j);
}

int main(void)
{
#define LAW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        LAW(test_what_is_appended_is_read_again_in_order),
        LAW(test_reading_begins_with_the_evaluations_of_the_model_before),
        LAW(test_the_reader_s_answer_ends_the_reading),
        LAW(test_who_goes_back_leaves_a_dead_line_behind),
        LAW(test_going_back_within_a_segment_is_seen_too),
        LAW(test_going_back_behind_what_was_forgotten_starts_the_line_anew),
        LAW(test_missed_gradients_come_as_many_as_fit),
        LAW(test_gradients_go_behind_what_is_there_and_not_over_its_limit),
        LAW(test_gradients_are_those_of_the_line_that_counts),
        LAW(test_only_what_nobody_can_need_is_forgotten),
        LAW(test_a_server_that_starts_again_and_again_leaves_one_empty_segment),
        LAW(test_no_process_appends_to_a_file_of_another),
        LAW(test_its_files_are_private_and_say_nothing),
        LAW(test_a_journal_without_files_begins_where_the_checkpoint_is),
        LAW(test_a_complete_run_leaves_nothing),
        LAW(test_a_round_too_large_is_refused_before_it_is_looked_at),
        LAW(test_mistakes_abort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
