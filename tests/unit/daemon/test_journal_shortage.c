/* test_journal_shortage.c -- the journal when the disk is full or memory is short.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/daemon/journals.h"

#include <signal.h>
#include <sys/resource.h>

#include "common/base/mem.h"
#include "common/daemon/journal_segment.h"

enum { TRAIN_BYTES = JOURNAL_RECORD_BYTES_MIN + 4 * (SUM_FLOATS + GRADIENT_FLOATS) };

/* --- a full disk --- */

static void limit_files(rlim_t bytes)
{
    struct rlimit l;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_a_record_that_does_not_fit_the_disk_is_not_written_at_all(void **state)
{
    (void)state;
    for (rlim_t room = 0; room < TRAIN_BYTES; room += 7) {
        struct journal_place at = here();
        struct journal *j = open_journal(0);
        struct error err = {0};
        struct saved_file file;

        train(j, 0, 0);
        limit_files(JOURNAL_HEADER_BYTES + TRAIN_BYTES + room);
        assert_int_equal(append(j, JOURNAL_TRAIN, 1, 5, &err), STATUS_IO);
        assert_non_null(strstr(err.text, dir));
        assert_int_equal(journal_next(j), 1);
        assert_string_equal(line_from(j, 0), "t0.0");
        assert_true(save_segment(&file, 1));
        assert_int_equal(file.n, JOURNAL_HEADER_BYTES + TRAIN_BYTES);
        assert_int_equal(segments_there(), 1);
        limit_files(RLIM_INFINITY);
        /* The index of the failed record has been used: another key from here on. */
        train(j, 1, 0);
        assert_int_equal(segments_there(), 2);
        train(j, 2, 0);
        assert_string_equal(line_from(j, 0), "t0.0 t1.0 t2.0");
        j = open_again(j, 0);
        assert_string_equal(line_from(j, 0), "t0.0 t1.0 t2.0");
        journal_close(j);
        assert_int_equal(journal_remove(&at, &err), STATUS_OK);
    }
}

static void test_a_segment_that_does_not_fit_the_disk_is_begun_later(void **state)
{
    struct journal *j = open_journal(0);
    struct error err = {0};

    (void)state;
    train(j, 0, 0);
    limit_files(JOURNAL_HEADER_BYTES - 1);
    assert_int_equal(journal_turn(j, 1, &err), STATUS_IO);
    assert_int_equal(append(j, JOURNAL_TRAIN, 1, 0, &err), STATUS_IO); /* the write */
    assert_int_equal(append(j, JOURNAL_TRAIN, 1, 0, &err), STATUS_IO); /* the new segment */
    assert_string_equal(line_from(j, 0), "t0.0");
    limit_files(RLIM_INFINITY);
    train(j, 1, 0);
    turn(j, 2);
    assert_int_equal(segments_there(), 3);
    j = open_again(j, 2);
    assert_string_equal(line_from(j, 0), "t0.0 t1.0");
    journal_close(j);
}

static void test_without_room_for_a_segment_the_old_ones_are_kept(void **state)
{
    struct journal_place at = here();
    struct journal *j = open_journal(0);
    struct error err = {0};

    (void)state;
    train(j, 0, 0);
    turn(j, 1); /* and an empty one, whose place would be taken */
    journal_close(j);
    limit_files(JOURNAL_HEADER_BYTES - 1);
    assert_int_equal(journal_open(&j, &at, plan_label, 0, &err), STATUS_IO);
    assert_null(j);
    assert_int_equal(segments_there(), 2);
    limit_files(RLIM_INFINITY);
    j = open_journal(0);
    assert_string_equal(line_from(j, 0), "t0.0");
    assert_int_equal(trail_after(j, 1), 0);
    journal_close(j);
}

/* --- memory --- */

static void test_appending_allocates_once_for_a_size(void **state)
{
    struct journal *j = open_journal(0);
    uint64_t before;

    (void)state;
    train(j, 0, 0);
    before = mem_count();
    for (uint64_t s = 1; s < 500; s++) {
        train(j, s, 0);
        evaluate(j, s, 0);
    }
    assert_int_equal(mem_count(), before);
    journal_close(j);
}

/* Everything once; false when memory was short somewhere. */
static bool whole_life(void)
{
    struct journal_place at = here();
    char line[LINE_BYTES] = "";
    struct error err = {0};
    struct journal *j;
    struct buf out;
    uint64_t steps;
    enum status s = journal_open(&j, &at, plan_label, 0, &err);

    buf_init(&out, 1024);
    if (s == STATUS_OK)
        s = append(j, JOURNAL_TRAIN, journal_next(j), 0, &err);
    if (s == STATUS_OK)
        s = journal_turn(j, journal_next(j), &err);
    if (s == STATUS_OK)
        s = journal_read(j, 0, note_record, line, &err);
    if (s == STATUS_OK)
        s = journal_gradients(j, 0, 1024, &out, &steps, &err);
    buf_deinit(&out);
    journal_close(j);
    assert_true(s == STATUS_OK || s == STATUS_MEMORY);
    assert_int_equal(err.status, s);
    return s == STATUS_OK;
}

static void test_the_nth_allocation_fails_and_nothing_is_lost(void **state)
{
    struct journal *j;
    bool done = false;
    int failures = -1;

    (void)state;
    assert_true(whole_life());
    for (uint64_t n = 1; !done; n++) {
        mem_fail_at(n);
        done = whole_life();
        mem_fail_at(0);
        failures++;
    }
    assert_true(failures >= 4);
    j = open_journal(0);
    assert_non_null(strstr(line_from(j, 0), "t0.0 t1.0"));
    assert_null(strstr(line_from(j, 0), "wrong"));
    journal_close(j);
}

int main(void)
{
#define LAW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        LAW(test_a_record_that_does_not_fit_the_disk_is_not_written_at_all),
        LAW(test_a_segment_that_does_not_fit_the_disk_is_begun_later),
        LAW(test_without_room_for_a_segment_the_old_ones_are_kept),
        LAW(test_appending_allocates_once_for_a_size),
        LAW(test_the_nth_allocation_fails_and_nothing_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
