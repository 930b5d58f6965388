/* test_answers.c -- an answer is found again by model, id, set and epoch, and forgotten for good.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/answers.h"

#include "common/base/file.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char ids[] = "b\nab\na b\n";
static const uint32_t at[] = {0, 2, 5, 9};
static const float scores[] = {0.1F, 0.9F, 0.25F, 0.75F, 1e-30F, 1};
static const struct answers_key plain = {.epoch = 3, .outputs = 2};

/* A state directory of the test's own, with a model of run r1. */
static const char *state_of(const char *test)
{
    static char state[4096];
    struct error err = {0};
    char path[8192];

    snprintf(state, sizeof state, "%s/%s", scratch_dir(), test);
    snprintf(path, sizeof path, "%s/models/r1", state);
    assert_int_equal(file_make_dir(path, 0700, &err), STATUS_OK);
    return state;
}

static void remove_state(const char *state)
{
    static const char *const folders[] = {"/models/r1", "/models", ""};
    struct error err = {0};
    char path[8192];

    assert_int_equal(answers_remove(state, "r1", &err), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", state, folders[i]);
        assert_int_equal(rmdir(path), 0);
    }
}

static enum status open_as(struct answers *a, const char *state, const struct answers_key *key)
{
    struct error err = {0};

    *a = (struct answers){0};
    return answers_open(a, state, "r1", key, &err);
}

static bool has(const struct answers *a, const char *id, float first)
{
    const float *got = answers_find(a, id, strlen(id));

    return got != NULL && got[0] == first;
}

static void keep(const char *state, const struct answers_key *key)
{
    struct answers a;
    struct error err = {0};

    assert_int_equal(open_as(&a, state, key), STATUS_OK);
    assert_int_equal(answers_keep(&a, ids, at, 3, scores, &err), STATUS_OK);
    assert_true(has(&a, "b", 0.1F) && has(&a, "ab", 0.25F) && has(&a, "a b", 1e-30F));
    answers_close(&a);
}

static void test_what_is_kept_is_found_again_to_the_bit(void **unused)
{
    const char *state = state_of(__func__);
    struct answers a;

    (void)unused;
    keep(state, &plain);
    assert_int_equal(open_as(&a, state, &plain), STATUS_OK);
    assert_int_equal(a.n, 3);
    assert_true(has(&a, "b", 0.1F) && has(&a, "ab", 0.25F) && has(&a, "a b", 1e-30F));
    assert_true(answers_find(&a, "b", 1)[1] == 0.9F);
    assert_null(answers_find(&a, "a", 1));
    assert_null(answers_find(&a, "abc", 3));
    answers_close(&a);
    remove_state(state);
}

static void test_another_epoch_or_set_has_answers_of_its_own(void **unused)
{
    const struct answers_key epoch = {.epoch = 30, .outputs = 2},
                             set = {.epoch = 3, .absent = "0+2", .outputs = 2};
    const char *state = state_of(__func__);
    struct answers a;

    (void)unused;
    keep(state, &plain);
    assert_int_equal(open_as(&a, state, &epoch), STATUS_OK);
    assert_int_equal(a.n, 0);
    answers_close(&a);
    assert_int_equal(open_as(&a, state, &set), STATUS_OK);
    assert_null(answers_find(&a, "b", 1));
    answers_close(&a);
    keep(state, &set);
    assert_int_equal(open_as(&a, state, &plain), STATUS_OK);
    assert_int_equal(a.n, 3);
    answers_close(&a);
    remove_state(state);
}

/* In the process that has kept it, it answers; a later one asks by sets. */
static void test_what_another_set_has_answered_is_named_and_kept_as_its_own(void **unused)
{
    const struct answers_key set = {.epoch = 3, .absent = "0+2", .outputs = 2};
    const struct answers_rows rows = {ids, at, 3, scores, set.absent};
    const bool missing[4] = {true, false, true, false};
    const char *state = state_of(__func__);
    char absent[ANSWERS_ABSENT_MAX];
    struct answers a;
    struct error err = {0};
    size_t n;

    (void)unused;
    answers_missing(absent, missing, 4);
    assert_string_equal(absent, set.absent);
    answers_missing(absent, missing + 3, 1);
    assert_string_equal(absent, "");
    assert_int_equal(open_as(&a, state, &plain), STATUS_OK);
    assert_int_equal(answers_keep_rows(&a, &rows, &err), STATUS_OK);
    assert_true(has(&a, "b", 0.1F) && has(&a, "ab", 0.25F));
    assert_memory_equal(answers_without(&a, "ab", 2, &n), "0+2", 3);
    assert_int_equal(n, 3);
    answers_without(&a, "xyz", 3, &n);
    assert_int_equal(n, 0);
    answers_close(&a);
    assert_int_equal(open_as(&a, state, &plain), STATUS_OK);
    assert_null(answers_find(&a, "ab", 2));
    answers_close(&a);
    assert_int_equal(open_as(&a, state, &set), STATUS_OK);
    assert_true(has(&a, "ab", 0.25F) && a.n == 3);
    answers_close(&a);
    remove_state(state);
}

static bool is_that(const void *owner, const char *alignment, const char *id, size_t n)
{
    return alignment[0] == 0 && n == strlen(owner) && memcmp(id, owner, n) == 0;
}

static enum status forget(const char *state, const char *id, size_t *n, struct error *err)
{
    const struct answers_goes whose = {id, is_that};

    return answers_forget(state, "r1", &whose, n, err);
}

static bool is_of_another(const void *owner, const char *alignment, const char *id, size_t n)
{
    return strcmp(alignment, owner) != 0 || (n == 1 && id[0] == '0');
}

/* Places of one alignment are none of another's, and no ids. */
static void test_answers_of_an_alignment_are_no_others(void **unused)
{
    struct answers_key key[3] = {plain, plain, plain};
    static const char places[] = "0\n17\n";
    const uint32_t begins[3] = {0, 2, 5};
    const char *state = state_of(__func__);
    struct answers_goes others = {.goes = is_of_another};
    struct answers a;
    struct error err = {0};
    size_t n;

    (void)unused;
    memset(key[1].alignment, 'a', DIGEST_HEX_CHARS);
    memset(key[2].alignment, 'b', DIGEST_HEX_CHARS);
    for (int k = 0; k < 3; k++) {
        const float said[4] = {0.125F * (float)k, 0, 0.5F + 0.125F * (float)k, 1};

        assert_int_equal(open_as(&a, state, &key[k]), STATUS_OK);
        assert_null(answers_find(&a, "17", 2));
        assert_int_equal(answers_keep(&a, places, begins, 2, said, &err), STATUS_OK);
        answers_close(&a);
    }
    for (int k = 0; k < 3; k++) {
        assert_int_equal(open_as(&a, state, &key[k]), STATUS_OK);
        assert_true(has(&a, "17", 0.5F + 0.125F * (float)k) && has(&a, "0", 0.125F * (float)k));
        assert_int_equal(a.n, 2);
        answers_close(&a);
    }
    others.owner = key[1].alignment;
    assert_int_equal(answers_forget(state, "r1", &others, &n, &err), STATUS_OK);
    assert_int_equal(n, 5);
    assert_int_equal(open_as(&a, state, &key[1]), STATUS_OK);
    assert_true(has(&a, "17", 0.625F) && a.n == 1);
    answers_close(&a);
    remove_state(state);
}

static void test_who_is_forgotten_is_in_no_line(void **unused)
{
    const struct answers_key set = {.epoch = 3, .absent = "1", .outputs = 2};
    const char *state = state_of(__func__);
    struct error err = {0};
    struct answers a;
    size_t n;

    (void)unused;
    keep(state, &plain);
    keep(state, &set);
    assert_int_equal(forget(state, "ab", &n, &err), STATUS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(answers_count(state, "r1", &n, &err), STATUS_OK);
    assert_int_equal(n, 4);
    assert_int_equal(forget(state, "ab", &n, &err), STATUS_OK);
    assert_int_equal(n, 0);
    assert_int_equal(open_as(&a, state, &plain), STATUS_OK);
    assert_true(has(&a, "b", 0.1F) && has(&a, "a b", 1e-30F));
    assert_null(answers_find(&a, "ab", 2));
    /* Whoever reads them would write them again. */
    assert_int_equal(forget(state, "b", &n, &err), STATUS_CONFIG);
    answers_close(&a);
    remove_state(state);
}

static void append(const char *state, const char *text)
{
    char path[8192];
    FILE *f;

    snprintf(path, sizeof path, "%s/models/r1/answers", state);
    f = fopen(path, "a");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_a_line_cut_short_is_dropped_and_one_changed_is_refused(void **unused)
{
    const char *state = state_of(__func__);
    struct answers a;

    (void)unused;
    keep(state, &plain);
    append(state, "3,,c,0.5,0.");
    assert_int_equal(open_as(&a, state, &plain), STATUS_OK);
    assert_int_equal(a.n, 3);
    assert_null(answers_find(&a, "c", 1));
    answers_close(&a);
    keep(state, &plain); /* over it */
    assert_int_equal(open_as(&a, state, &plain), STATUS_OK);
    assert_int_equal(a.n, 6);
    answers_close(&a);
    append(state, "3,,c,0.5\n");
    assert_int_equal(open_as(&a, state, &plain), STATUS_IO);
    answers_close(&a);
    remove_state(state);
}

static void test_a_file_never_grows_beyond_what_is_read(void **state)
{
    const char *dir = state_of("full");
    struct answers_file f, after;
    struct error err = {0};
    struct buf lines;
    char path[8192];

    (void)state;
    keep(dir, &plain);
    buf_init(&lines, 4096);
    assert_int_equal(answers_print(&lines, &plain, "c", 1, scores), STATUS_OK);
    snprintf(path, sizeof path, "%s/models/r1/answers", dir);
    for (size_t over = 0; over < 2; over++) {
        assert_int_equal(truncate(path, (off_t)(ANSWERS_FILE_MAX - lines.len + over)), 0);
        answers_stand(dir, "r1", &f);
        assert_int_equal(answers_append(dir, "r1", &lines, &f, &err),
                         over == 0 ? STATUS_OK : STATUS_IO);
        answers_stand(dir, "r1", &after);
        assert_true(after.size == ANSWERS_FILE_MAX - over * (lines.len - 1));
    }
    buf_deinit(&lines);
    remove_state(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_kept_is_found_again_to_the_bit),
        cmocka_unit_test(test_another_epoch_or_set_has_answers_of_its_own),
        cmocka_unit_test(test_what_another_set_has_answered_is_named_and_kept_as_its_own),
        cmocka_unit_test(test_answers_of_an_alignment_are_no_others),
        cmocka_unit_test(test_who_is_forgotten_is_in_no_line),
        cmocka_unit_test(test_a_file_never_grows_beyond_what_is_read),
        cmocka_unit_test(test_a_line_cut_short_is_dropped_and_one_changed_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
