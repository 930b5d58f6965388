/* test_journal_load.c -- opening a journal that was cut, changed, exchanged or taken apart.
 *
 * One journal of three segments is written once for each test, kept in memory, and put back before
 * each damage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/daemon/journals.h"

#include <sys/stat.h>

#include "common/daemon/journal_load.h"

enum { SEGMENTS = 3 };

static const char whole_line[] = "t0.0 t1.0 e9.0 t2.0 e10.0 t3.0 e11.0 t4.0";
/* What is left without the last 0, 1, 2 or 3 records, which are those of the last segment. */
static const char *const shorter[] = {
    "t0.0 t1.0 e9.0 t2.0 e10.0 t3.0 e11.0 t4.0", "t0.0 t1.0 e9.0 t2.0 e10.0 t3.0 e11.0",
    "t0.0 t1.0 e9.0 t2.0 e10.0 t3.0", "t0.0 t1.0 e9.0 t2.0 e10.0"};

static void write_three(struct saved_file files[SEGMENTS])
{
    struct journal *j = open_journal(0);

    train(j, 0, 0);
    train(j, 1, 0);
    turn(j, 2);
    evaluate(j, 9, 0);
    train(j, 2, 0);
    evaluate(j, 10, 0);
    turn(j, 3);
    train(j, 3, 0);
    evaluate(j, 11, 0);
    train(j, 4, 0);
    journal_close(j);
    for (uint64_t i = 0; i < SEGMENTS; i++)
        assert_true(save_segment(&files[i], i + 1));
}

/* The answer of journal_open; what it can read goes to line. */
static enum status reopen(uint64_t first_step, char line[LINE_BYTES], struct error *err)
{
    struct journal_place at = here();
    struct journal *j;
    enum status s;

    *err = (struct error){0};
    line[0] = 0;
    s = journal_open(&j, &at, plan_label, first_step, err);
    if (s == STATUS_OK)
        assert_int_equal(journal_read(j, journal_first(j), note_record, line, err), STATUS_OK);
    else
        assert_null(j);
    journal_close(j);
    return s;
}

static void test_a_whole_journal_is_read_by_every_later_process(void **state)
{
    struct saved_file files[SEGMENTS], after;
    struct error err;
    char line[LINE_BYTES];

    (void)state;
    write_three(files);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(reopen(3, line, &err), STATUS_OK);
        assert_string_equal(line, whole_line);
    }
    for (uint64_t i = 0; i < SEGMENTS; i++) {
        assert_true(save_segment(&after, i + 1));
        assert_int_equal(after.n, files[i].n);
        assert_memory_equal(after.bytes, files[i].bytes, after.n);
    }
}

/* kill -9 in the midst of a write. */
static void test_the_last_segment_cut_at_any_byte_keeps_its_whole_records(void **state)
{
    struct saved_file files[SEGMENTS];
    struct error err;
    char line[LINE_BYTES];
    size_t records[4], kept = 0;

    (void)state;
    write_three(files);
    records[0] = JOURNAL_HEADER_BYTES;
    records[1] = records[0] + JOURNAL_RECORD_BYTES_MIN + 4 * (SUM_FLOATS + GRADIENT_FLOATS);
    records[2] = records[1] + JOURNAL_RECORD_BYTES_MIN + 4 * SUM_FLOATS;
    records[3] = records[2] + JOURNAL_RECORD_BYTES_MIN + 4 * (SUM_FLOATS + GRADIENT_FLOATS);
    assert_int_equal(files[2].n, records[3]);
    for (size_t n = JOURNAL_HEADER_BYTES; n <= files[2].n; n++) {
        struct saved_file last;

        while (kept < 3 && records[kept + 1] <= n)
            kept++;
        put_all(files, 2);
        unlink(segment_path(4));
        put_segment(3, files[2].bytes, n);
        assert_int_equal(reopen(0, line, &err), STATUS_OK);
        assert_string_equal(line, shorter[3 - kept]);
        /* What was torn is gone from the file, so that it is not taken for damage later. */
        if (kept > 0) {
            assert_true(save_segment(&last, 3));
            assert_int_equal(last.n, records[kept]);
        }
        if (n % 32 != 0)
            continue; /* each beginning of a segment waits for the disk */
        assert_int_equal(reopen(0, line, &err), STATUS_OK);
        assert_string_equal(line, shorter[3 - kept]);
    }
}

/* A header is whole or not there: it comes by a rename. */
static void test_a_cut_header_is_refused(void **state)
{
    struct saved_file files[SEGMENTS];
    struct error err;
    char line[LINE_BYTES];

    (void)state;
    write_three(files);
    for (size_t n = 0; n < JOURNAL_HEADER_BYTES; n++) {
        put_segment(3, files[2].bytes, n);
        assert_int_equal(reopen(0, line, &err), STATUS_IO);
        put_segment(3, files[2].bytes, files[2].n);
        put_segment(1, files[0].bytes, n);
        assert_int_equal(reopen(0, line, &err), STATUS_CONFIG);
        put_segment(1, files[0].bytes, files[0].n);
    }
    assert_int_equal(reopen(0, line, &err), STATUS_OK);
}

static void test_an_earlier_segment_cut_at_any_byte_is_refused(void **state)
{
    struct saved_file files[SEGMENTS];
    struct error err;
    char line[LINE_BYTES];

    (void)state;
    write_three(files);
    for (uint64_t i = 0; i < SEGMENTS - 1; i++) {
        for (size_t n = JOURNAL_HEADER_BYTES; n < files[i].n; n++) {
            put_segment(i + 1, files[i].bytes, n);
            assert_int_equal(reopen(0, line, &err), STATUS_IO);
            assert_non_null(strstr(err.text, "journal-0000000"));
        }
        put_segment(i + 1, files[i].bytes, files[i].n);
    }
    assert_int_equal(reopen(0, line, &err), STATUS_OK);
    assert_string_equal(line, whole_line);
}

/* Refused, but where it may be the end of a write that came to no end. */
static void test_a_changed_byte_is_never_read(void **state)
{
    struct saved_file files[SEGMENTS];
    struct error err;
    char line[LINE_BYTES];
    size_t last_floats;

    (void)state;
    write_three(files);
    last_floats = files[2].n - AEAD_TAG_BYTES - 4 * (SUM_FLOATS + GRADIENT_FLOATS);
    for (uint64_t i = 0; i < SEGMENTS; i++) {
        for (size_t at = 0; at < files[i].n; at++) {
            files[i].bytes[at] ^= (uint8_t)(1u << (at % 8));
            put_segment(i + 1, files[i].bytes, files[i].n);
            files[i].bytes[at] ^= (uint8_t)(1u << (at % 8));
            if (i + 1 < SEGMENTS || at < last_floats) {
                assert_int_equal(reopen(0, line, &err),
                                 i == 0 && at < JOURNAL_HEADER_BYTES ? STATUS_CONFIG : STATUS_IO);
                assert_non_null(strstr(err.text, segment_path(i + 1)));
            } else {
                assert_int_equal(reopen(0, line, &err), STATUS_OK);
                assert_string_equal(line, shorter[1]);
                put_all(files, SEGMENTS);
            }
        }
        put_all(files, SEGMENTS);
    }
    assert_int_equal(reopen(0, line, &err), STATUS_OK);
    assert_string_equal(line, whole_line);
}

static void test_a_refused_journal_is_left_as_it_is(void **state)
{
    struct saved_file files[SEGMENTS], after;
    struct error err;
    char line[LINE_BYTES];

    (void)state;
    write_three(files);
    put_segment(3, files[2].bytes, files[2].n - 1);
    assert_int_equal(reopen(9, line, &err), STATUS_IO);
    assert_true(save_segment(&after, 3));
    assert_int_equal(after.n, files[2].n - 1);
    assert_false(save_segment(&after, 4));
}

static void test_another_key_or_another_plan_is_refused(void **state)
{
    static const uint8_t other_plan[JOURNAL_LABEL_BYTES] = "the digest of another plan";
    struct saved_file files[SEGMENTS];
    struct journal_place at = here();
    struct error err = {0};
    struct journal *j;
    char line[LINE_BYTES];

    (void)state;
    write_three(files);
    assert_int_equal(journal_open(&j, &at, other_plan, 0, &err), STATUS_CONFIG);
    assert_null(j);
    assert_non_null(strstr(err.text, "another plan"));
    put_key("10112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
    assert_int_equal(reopen(0, line, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "state_key"));
    put_key(first_key);
    assert_int_equal(reopen(0, line, &err), STATUS_OK);
    at.state_key = "";
    assert_int_equal(journal_open(&j, &at, plan_label, 0, &err), STATUS_CONFIG);
    assert_null(j);
    assert_non_null(strstr(err.text, "needs a state_key"));
    at.state_key = "/nowhere/state.key";
    assert_int_equal(journal_open(&j, &at, plan_label, 0, &err), STATUS_CONFIG);
}

static void test_a_missing_segment_is_noticed(void **state)
{
    struct saved_file files[SEGMENTS];
    struct error err;
    char line[LINE_BYTES];

    (void)state;
    write_three(files);
    unlink(segment_path(2));
    assert_int_equal(reopen(0, line, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "journal-00000002.sealed: missing"));
    put_all(files, SEGMENTS);
    unlink(segment_path(1));
    assert_int_equal(reopen(0, line, &err), STATUS_IO); /* the checkpoint needs it, ... */
    assert_non_null(strstr(err.text, "older than the journal"));
    assert_int_equal(reopen(1, line, &err), STATUS_IO);
    assert_int_equal(reopen(2, line, &err), STATUS_OK); /* ... and this one does not */
    assert_string_equal(line, "e9.0 t2.0 e10.0 t3.0 e11.0 t4.0");
    unlink(segment_path(4));
    put_all(files, 2);
    assert_int_equal(reopen(4, line, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "newer than the journal"));
    assert_int_equal(reopen(3, line, &err), STATUS_OK); /* a journal of an earlier moment */
    assert_string_equal(line, shorter[3]);
}

static void test_segments_cannot_change_names(void **state)
{
    struct saved_file files[SEGMENTS];
    struct error err;
    char line[LINE_BYTES];

    (void)state;
    write_three(files);
    for (uint64_t i = 0; i < SEGMENTS; i++) {
        for (uint64_t k = 0; k < SEGMENTS; k++) {
            put_all(files, SEGMENTS);
            put_segment(i + 1, files[k].bytes, files[k].n);
            assert_int_equal(reopen(0, line, &err), i == k ? STATUS_OK : STATUS_IO);
            if (i != k)
                assert_non_null(strstr(err.text, "under another name"));
            unlink(segment_path(4));
        }
    }
}

/* The same plan, key, numbers and steps, but another run's. */
static void test_a_segment_of_another_journal_does_not_fit(void **state)
{
    struct saved_file one[SEGMENTS], two[SEGMENTS];
    struct journal_place at = here();
    struct error err;
    char line[LINE_BYTES];

    (void)state;
    write_three(one);
    assert_int_equal(journal_remove(&at, &err), STATUS_OK);
    write_three(two);
    for (uint64_t i = 0; i < SEGMENTS; i++) {
        put_segment(i + 1, one[i].bytes, one[i].n);
        assert_int_equal(reopen(0, line, &err), STATUS_IO);
        assert_non_null(strstr(err.text, "does not follow"));
        put_segment(i + 1, two[i].bytes, two[i].n);
    }
    assert_int_equal(reopen(0, line, &err), STATUS_OK);
}

/* A process that saw fewer records than there are: it, or the file, is of another line. */
static void test_a_segment_that_went_on_after_its_successor_began_is_refused(void **state)
{
    struct saved_file files[SEGMENTS], shorter_file;
    struct error err;
    char line[LINE_BYTES];
    struct journal *j;

    (void)state;
    j = open_journal(0);
    train(j, 0, 0);
    assert_true(save_segment(&shorter_file, 1));
    train(j, 1, 0);
    journal_close(j);
    assert_true(save_segment(&files[0], 1));
    put_segment(1, shorter_file.bytes, shorter_file.n);
    assert_int_equal(reopen(0, line, &err), STATUS_OK); /* segment 2 counts one record */
    put_segment(1, files[0].bytes, files[0].n);
    assert_int_equal(reopen(0, line, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "2 records, of 1"));
}

/* By one who has the key, or by a mistake of ours. */
static void test_a_step_too_far_is_refused(void **state)
{
    struct saved_file files[SEGMENTS];
    uint8_t state_key[SEALED_KEY_BYTES], key[AEAD_KEY_BYTES];
    struct journal_segment head;
    struct aead seals;
    struct error err;
    char line[LINE_BYTES];

    (void)state;
    write_three(files);
    assert_int_equal(sealed_key_load(state_key, key_path, &err), STATUS_OK);
    assert_int_equal(journal_segment_parse(&head, state_key, files[2].bytes, key), STATUS_OK);
    for (uint64_t step = 5; step <= 6; step++) {
        float floats[SUM_FLOATS + GRADIENT_FLOATS];
        struct journal_record r = sample(floats, JOURNAL_TRAIN, step, 0);

        put_all(files, SEGMENTS);
        assert_int_equal(aead_init(&seals, true, key), STATUS_OK);
        journal_record_seal(&seals, 3, 3, &r, files[2].bytes + files[2].n);
        aead_deinit(&seals);
        put_segment(3, files[2].bytes, files[2].n + journal_record_bytes(&r));
        assert_int_equal(reopen(0, line, &err), step == 5 ? STATUS_OK : STATUS_IO);
        if (step == 6)
            assert_non_null(strstr(err.text, "step 6 stands where 5 should"));
    }
}

static void test_only_a_plain_file_is_a_segment(void **state)
{
    struct saved_file files[SEGMENTS];
    struct error err;
    char line[LINE_BYTES], target[PATH_MAX];

    (void)state;
    write_three(files);
    snprintf(target, sizeof target, "%s/elsewhere", dir);
    assert_int_equal(rename(segment_path(2), target), 0);
    assert_int_equal(symlink(target, segment_path(2)), 0);
    assert_int_equal(reopen(0, line, &err), STATUS_IO);
    unlink(segment_path(2));
    assert_int_equal(mkfifo(segment_path(2), 0600), 0);
    assert_int_equal(reopen(0, line, &err), STATUS_IO);
    unlink(segment_path(2));
    assert_int_equal(rename(target, segment_path(2)), 0);
    assert_int_equal(reopen(0, line, &err), STATUS_OK);
}

static void test_a_segment_exchanged_under_a_running_server_is_noticed(void **state)
{
    struct saved_file one[SEGMENTS], two[SEGMENTS];
    struct journal_place at = here();
    struct error err = {0};
    struct journal *j;
    char line[LINE_BYTES] = "";
    struct buf out;
    uint64_t steps;

    (void)state;
    write_three(one);
    assert_int_equal(journal_remove(&at, &err), STATUS_OK);
    write_three(two);
    j = open_journal(0);
    buf_init(&out, 1024);
    put_segment(1, one[0].bytes, one[0].n);
    assert_int_equal(journal_read(j, 0, note_record, line, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "exchanged"));
    assert_string_equal(line, "");
    assert_int_equal(journal_gradients(j, 0, 1024, &out, &steps, &err), STATUS_IO);
    assert_int_equal(out.len, 0);
    assert_int_equal(steps, 0);
    put_segment(1, two[0].bytes, two[0].n - 1);
    assert_int_equal(journal_gradients(j, 0, 1024, &out, &steps, &err), STATUS_IO);
    assert_int_equal(out.len, 0);
    put_segment(1, two[0].bytes, two[0].n);
    assert_int_equal(journal_gradients(j, 0, 1024, &out, &steps, &err), STATUS_OK);
    assert_int_equal(steps, 5);
    buf_deinit(&out);
    journal_close(j);
}

int main(void)
{
#define LAW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        LAW(test_a_whole_journal_is_read_by_every_later_process),
        LAW(test_the_last_segment_cut_at_any_byte_keeps_its_whole_records),
        LAW(test_a_cut_header_is_refused),
        LAW(test_an_earlier_segment_cut_at_any_byte_is_refused),
        LAW(test_a_changed_byte_is_never_read),
        LAW(test_a_refused_journal_is_left_as_it_is),
        LAW(test_another_key_or_another_plan_is_refused),
        LAW(test_a_missing_segment_is_noticed),
        LAW(test_segments_cannot_change_names),
        LAW(test_a_segment_of_another_journal_does_not_fit),
        LAW(test_a_segment_that_went_on_after_its_successor_began_is_refused),
        LAW(test_a_step_too_far_is_refused),
        LAW(test_only_a_plain_file_is_a_segment),
        LAW(test_a_segment_exchanged_under_a_running_server_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
