/* test_guesses.c -- what is counted outlives a process, is an element and not how often it came, is
 * taken back by who shows that it holds the list alone, and cannot be changed without the key.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/guesses.h"

#include "common/base/check.h"
#include "common/base/file.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t p1[GUESSES_KEY_BYTES] = {1}, p2[GUESSES_KEY_BYTES] = {2},
                     list_a[GUESSES_KEY_BYTES] = "these ids are nobody's business",
                     list_b[GUESSES_KEY_BYTES] = {11};
static const uint8_t *const both[] = {p1, p2}, *const first[] = {p1}, *const second[] = {p2};
static struct sign_key key;
static struct guesses g;

static enum status try_open(struct error *err)
{
    guesses_close(&g);
    *err = (struct error){0};
    return guesses_open(&g, scratch_dir(), &key, true, err);
}

/* What another process finds. */
static void again(void)
{
    struct error err;

    if (try_open(&err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    (void)state;
    CHECK(sign_key_generate(&key) == STATUS_OK);
    unlink(scratch_path("guesses"));
    again();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    guesses_close(&g);
    sign_key_deinit(&key);
    return 0;
}

/* About to answer an element of each that begins with this. */
static enum status try_note(const uint8_t *const *peers, size_t n, const uint8_t *list,
                            uint8_t with, struct error *err)
{
    const uint8_t element[GUESSES_KEY_BYTES] = {with}, *const elements[] = {element, element};

    *err = (struct error){0};
    return guesses_note(&g, peers, elements, n, list, err);
}

static void note(const uint8_t *const *peers, size_t n, const uint8_t *list, uint8_t with)
{
    struct error err;

    if (try_note(peers, n, list, with, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static void equal(const uint8_t *const *peers, size_t n, const uint8_t *list)
{
    struct error err = {0};

    if (guesses_equal(&g, peers, n, list, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static bool known(const uint8_t *peer, const uint8_t *list, uint8_t with)
{
    const uint8_t element[GUESSES_KEY_BYTES] = {with};

    return guesses_known(&g, peer, list, element);
}

static void expect(uint64_t of_p1, uint64_t of_p2)
{
    assert_int_equal(guesses_count(&g, p1), of_p1);
    assert_int_equal(guesses_count(&g, p2), of_p2);
}

static void test_what_is_counted_is_there_for_the_next_process(void **state)
{
    (void)state;
    expect(0, 0);
    note(both, 2, list_a, 1);
    note(first, 1, list_a, 2);
    expect(2, 1);
    again();
    expect(2, 1);
    note(second, 1, list_b, 1);
    again();
    expect(2, 2);
}

static void test_an_element_counts_once_however_often_it_comes(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        note(both, 2, list_a, 1);
        if (i % 50 == 0)
            again();
    }
    expect(1, 1);
    assert_true(known(p1, list_a, 1));
    assert_false(known(p1, list_a, 2));
    assert_false(known(p1, list_b, 1));
    note(first, 1, list_b, 1); /* of another own list it is another answer */
    expect(2, 1);
    note(first, 1, list_a, 2);
    note(first, 1, list_a, 1); /* the last one alone is remembered */
    expect(4, 1);
    assert_false(known(p1, list_a, 2));
    assert_true(known(p2, list_a, 1));
}

static void test_who_shows_that_it_holds_a_list_has_guessed_at_no_part_of_that_one(void **state)
{
    (void)state;
    note(both, 2, list_a, 1);
    note(both, 2, list_a, 2);
    note(first, 1, list_b, 1);
    equal(first, 1, list_a);
    expect(1, 2);
    again();
    expect(1, 2);
    equal(first, 1, list_a); /* nothing more to take away */
    note(first, 1, list_a, 2);
    expect(1, 2);
    note(first, 1, list_a, 3);
    expect(2, 2);
    equal(first, 1, list_a);
    equal(first, 1, list_b);
    expect(0, 2);
    equal(second, 1, list_a);
    again();
    expect(0, 0);
}

/* The file is left alone, so nobody waits for a disk. */
static void test_what_changes_nothing_is_not_written(void **state)
{
    (void)state;
    note(both, 2, list_a, 1);
    equal(both, 2, list_a);
    assert_int_equal(mkdir(scratch_path("guesses.tmp"), 0700), 0);
    note(both, 2, list_a, 1);
    equal(both, 2, list_a);
    expect(0, 0);
    assert_int_equal(rmdir(scratch_path("guesses.tmp")), 0);
}

/* Of what counts nothing one row for each peer is left, however many lists there were. */
static void test_rows_that_count_nothing_do_not_pile_up(void **state)
{
    uint8_t list[GUESSES_KEY_BYTES] = {0};

    (void)state;
    note(second, 1, list_a, 1);
    for (list[0] = 0; list[0] < 20; list[0]++) {
        note(both, 2, list, 1);
        equal(both, 2, list);
    }
    assert_int_equal(g.n, 3);
    expect(0, 1);
}

/* Elements are made of it: another one would be another guess for everybody else. */
static void test_the_secret_is_there_before_anything_and_for_the_next_process(void **state)
{
    uint8_t secret[GUESSES_KEY_BYTES];
    struct sign_key own = key;
    struct error err;

    (void)state;
    memcpy(secret, g.secret, sizeof secret);
    again();
    assert_memory_equal(g.secret, secret, sizeof secret);
    note(first, 1, list_a, 1);
    again();
    assert_memory_equal(g.secret, secret, sizeof secret);
    assert_memory_not_equal(g.secret, g.seed, sizeof secret); /* nor without the key */
    unlink(scratch_path("guesses"));
    guesses_close(&g);
    assert_int_equal(guesses_open(&g, scratch_dir(), &key, false, &err), STATUS_OK);
    assert_int_not_equal(access(scratch_path("guesses"), F_OK), 0); /* who only looks */
    again();
    assert_memory_not_equal(g.secret, secret, sizeof secret);
    memcpy(secret, g.secret, sizeof secret);
    CHECK(sign_key_generate(&key) == STATUS_OK);
    unlink(scratch_path("guesses"));
    again();
    assert_memory_not_equal(g.secret, secret, sizeof secret);
    sign_key_deinit(&own);
}

static void test_no_file_no_start(void **state)
{
    struct error err;

    (void)state;
    unlink(scratch_path("guesses"));
    assert_int_equal(mkdir(scratch_path("guesses.tmp"), 0700), 0);
    assert_int_equal(try_open(&err), STATUS_IO);
    assert_int_equal(rmdir(scratch_path("guesses.tmp")), 0);
}

static void test_an_operator_forgets_one_and_no_other(void **state)
{
    struct error err = {0};
    struct buf out;

    (void)state;
    buf_init(&out, 4096);
    note(both, 2, list_a, 1);
    note(both, 2, list_b, 1);
    guesses_close(&g);
    assert_int_equal(guesses_order(scratch_dir(), &key, p1, "p1", &out, &err), STATUS_OK);
    assert_int_equal(guesses_order(scratch_dir(), &key, p1, "p1", &out, &err), STATUS_OK);
    assert_int_equal(guesses_order(scratch_dir(), &key, NULL, "px", &out, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "px"));
    assert_int_equal(guesses_order(scratch_dir(), &key, NULL, "all", &out, &err), STATUS_OK);
    assert_int_equal(buf_append(&out, "", 1), STATUS_OK);
    assert_string_equal((char *)out.data, "forgotten: 2 other lists of ids from p1\n"
                                          "no other lists of ids from p1\n"
                                          "forgotten: 2 other lists of ids from all\n");
    again();
    expect(0, 0);
    buf_deinit(&out);
}

static void read_them(struct buf *file)
{
    struct error err = {0};

    buf_init(file, 1 << 20);
    assert_int_equal(file_read(scratch_path("guesses"), file, &err), STATUS_OK);
}

static void put(const void *bytes, size_t n)
{
    struct error err = {0};

    assert_int_equal(file_write_atomic(scratch_path("guesses"), bytes, n, 0600, &err), STATUS_OK);
}

static void test_no_bit_can_be_turned_and_nothing_left_out(void **state)
{
    struct error err;
    struct buf file;

    (void)state;
    note(both, 2, list_a, 1);
    read_them(&file);
    for (size_t bit = 0; bit < 8 * file.len; bit += 3) {
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        put(file.data, file.len);
        assert_int_equal(try_open(&err), STATUS_POLICY);
        assert_non_null(strstr(err.text, "guesses"));
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t n = 0; n < file.len; n += 8) {
        put(file.data, n);
        assert_int_equal(try_open(&err), STATUS_POLICY);
    }
    put(file.data, file.len);
    again();
    expect(1, 1);
    buf_deinit(&file);
}

static void test_a_file_of_another_key_or_that_others_may_read_is_refused(void **state)
{
    struct sign_key own = key;
    struct error err;

    (void)state;
    note(first, 1, list_a, 1);
    CHECK(sign_key_generate(&key) == STATUS_OK);
    assert_int_equal(try_open(&err), STATUS_POLICY);
    assert_non_null(strstr(err.text, "another identity.key"));
    sign_key_deinit(&key);
    key = own;
    again();
    assert_int_equal(chmod(scratch_path("guesses"), 0644), 0);
    assert_int_equal(try_open(&err), STATUS_CONFIG);
}

/* Only a name that leads nowhere at all counts from nothing. */
static void test_a_link_is_no_file_and_not_none(void **state)
{
    char path[512], aside[512];
    struct error err;

    (void)state;
    snprintf(path, sizeof path, "%s", scratch_path("guesses"));
    snprintf(aside, sizeof aside, "%s", scratch_path("aside"));
    note(first, 1, list_a, 1);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0);
    assert_int_equal(try_open(&err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "no link"));
    assert_int_equal(unlink(aside), 0);
    assert_int_equal(try_open(&err), STATUS_CONFIG); /* and where it leads nowhere */
    assert_int_equal(unlink(path), 0);
    again();
    expect(0, 0);
}

/* A list is the digest of ids, which can be guessed: it is not what stands in the file. */
static void test_nobody_can_try_lists_on_the_file_alone(void **state)
{
    struct sign_key own = key;
    struct buf file, other;

    (void)state;
    note(first, 1, list_a, 1);
    read_them(&file);
    assert_null(memmem(file.data, file.len, list_a, sizeof list_a));
    unlink(scratch_path("guesses"));
    CHECK(sign_key_generate(&key) == STATUS_OK);
    again();
    note(first, 1, list_a, 1);
    read_them(&other);
    assert_int_equal(file.len, other.len);
    assert_memory_equal(file.data + 160, other.data + 160, GUESSES_KEY_BYTES); /* the peer */
    assert_memory_not_equal(file.data + 192, other.data + 192, GUESSES_KEY_BYTES);
    assert_null(memmem(file.data, file.len, g.secret, GUESSES_KEY_BYTES));
    buf_deinit(&file);
    buf_deinit(&other);
    sign_key_deinit(&own);
}

static void test_what_cannot_be_written_is_not_counted(void **state)
{
    struct error err = {0};

    (void)state;
    note(first, 1, list_a, 1);
    assert_int_equal(mkdir(scratch_path("guesses.tmp"), 0700), 0);
    assert_int_equal(try_note(both, 2, list_a, 2, &err), STATUS_IO);
    expect(1, 0);
    assert_int_equal(rmdir(scratch_path("guesses.tmp")), 0);
    again();
    expect(1, 0);
}

static void test_there_is_an_end_to_rows(void **state)
{
    uint8_t list[GUESSES_KEY_BYTES] = {0};
    struct error err = {0};

    (void)state;
    g.n = GUESSES_ROWS_MAX;
    for (size_t i = 0; i < g.n; i++) {
        g.row[i] = (struct guesses_row){.peer = {3}, .count = 1};
        memcpy(g.row[i].list, &i, sizeof i);
    }
    assert_int_equal(try_note(first, 1, list, 1, &err), STATUS_POLICY);
    assert_int_equal(g.n, GUESSES_ROWS_MAX);
    expect(0, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_counted_is_there_for_the_next_process),
        TEST(test_an_element_counts_once_however_often_it_comes),
        TEST(test_who_shows_that_it_holds_a_list_has_guessed_at_no_part_of_that_one),
        TEST(test_what_changes_nothing_is_not_written),
        TEST(test_rows_that_count_nothing_do_not_pile_up),
        TEST(test_the_secret_is_there_before_anything_and_for_the_next_process),
        TEST(test_no_file_no_start),
        TEST(test_an_operator_forgets_one_and_no_other),
        TEST(test_no_bit_can_be_turned_and_nothing_left_out),
        TEST(test_a_file_of_another_key_or_that_others_may_read_is_refused),
        TEST(test_a_link_is_no_file_and_not_none),
        TEST(test_nobody_can_try_lists_on_the_file_alone),
        TEST(test_what_cannot_be_written_is_not_counted),
        TEST(test_there_is_an_end_to_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
