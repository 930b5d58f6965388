/* test_models.c -- packages are kept once each, never over another, and one is in use.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/daemon/models.h"

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/daemon/answers.h"
#include "tests/unit/daemon/packages.h"

static void keep(const char *state, struct packages *s, char run[PACKAGE_RUN_MAX + 1])
{
    struct package p;
    struct error err = {0};

    packages_head(&p);
    assert_int_equal(models_keep(state, &p, &s->head, true, &err), STATUS_OK);
    assert_int_equal(models_use(state, p.run, &err), STATUS_OK);
    snprintf(run, PACKAGE_RUN_MAX + 1, "%s", p.run);
    package_deinit(&p);
}

static void assert_served(const char *state, const char *want)
{
    char run[PACKAGE_RUN_MAX + 1];
    struct error err = {0};

    assert_int_equal(models_served(state, run, &err), STATUS_OK);
    assert_string_equal(run, want);
}

static void test_a_run_of_the_same_plan_gets_another_name(void **state)
{
    const char *dir = *state;
    char first[PACKAGE_RUN_MAX + 1], again[PACKAGE_RUN_MAX + 1], second[PACKAGE_RUN_MAX + 1],
        want[PACKAGE_RUN_MAX + 8], runs[4][PACKAGE_RUN_MAX + 1];
    struct packages s = {0};
    struct package p;
    struct error err = {0};
    size_t n;

    packages_init(&s);
    assert_served(dir, "");
    keep(dir, &s, first);
    keep(dir, &s, again); /* an end that is written down twice */
    assert_string_equal(again, first);
    s.head.layer[0].w[0] += 1;
    keep(dir, &s, second);
    snprintf(want, sizeof want, "%s-2", first);
    assert_string_equal(second, want);
    assert_served(dir, second);
    assert_int_equal(models_list(dir, runs, 4, &n, &err), STATUS_OK);
    assert_int_equal(n, 2);
    assert_string_equal(runs[0], first);
    assert_string_equal(runs[1], second);
    package_init(&p);
    assert_int_equal(models_load(dir, first, &p, &err), STATUS_OK);
    assert_string_equal(p.run, first);
    package_deinit(&p);
    packages_deinit(&s);
}

/* The second playing of a plan is -2 here, and may be the first that another side has kept. */
static void test_a_run_is_found_by_its_trail(void **state)
{
    uint8_t trail[DIGEST_BYTES] = {0}, plan[DIGEST_BYTES];
    char run[3][PACKAGE_RUN_MAX + 1], found[PACKAGE_RUN_MAX + 1];
    struct error err = {0};
    struct packages s = {0};
    struct package p;

    packages_init(&s);
    for (uint8_t i = 0; i < 3; i++) {
        packages_head(&p);
        p.trail[0] = i;
        assert_int_equal(models_keep(*state, &p, &s.head, true, &err), STATUS_OK);
        snprintf(run[i], sizeof run[i], "%s", p.run);
        memcpy(plan, p.plan_sha256, sizeof plan);
        memcpy(trail, p.trail, sizeof trail);
        package_deinit(&p);
    }
    assert_string_not_equal(run[0], run[2]);
    assert_int_equal(models_use(*state, run[2], &err), STATUS_OK);
    assert_int_equal(models_remove(*state, run[1], &err), STATUS_OK);
    for (uint8_t i = 0; i < 4; i++) {
        trail[0] = i;
        assert_int_equal(models_find(*state, plan, trail, found, &err), STATUS_OK);
        assert_string_equal(found, i == 1 || i == 3 ? "" : run[i]);
    }
    packages_deinit(&s);
}

/* One of the run with this trail and these weights. */
static void keep_of(const char *state, struct packages *s, uint8_t trail, float weight, bool over,
                    struct package *p)
{
    struct error err = {0};

    packages_head(p);
    memset(p->trail, trail, sizeof p->trail);
    s->head.layer[0].w[0] = weight;
    assert_int_equal(models_keep(state, p, &s->head, over, &err), STATUS_OK);
}

static void assert_kept(const char *state, size_t packages, const char *run, float weight)
{
    char runs[8][PACKAGE_RUN_MAX + 1];
    struct packages s = {0};
    struct package p;
    struct error err = {0};
    size_t n;

    packages_init(&s);
    package_init(&p);
    assert_int_equal(models_list(state, runs, 8, &n, &err), STATUS_OK);
    assert_int_equal(n, packages);
    assert_int_equal(models_load(state, run, &p, &err), STATUS_OK);
    assert_int_equal(package_weights(&p, &s.head, &err), STATUS_OK);
    assert_true(s.head.layer[0].w[0] == weight);
    package_deinit(&p);
    packages_deinit(&s);
}

/* Its server had lost its end, and played that anew; with the new one it is over. */
static void test_what_a_run_kept_before_it_was_over_gives_way(void **state)
{
    struct packages s = {0};
    struct package other, early, late, end, more;
    struct error err = {0};

    packages_init(&s);
    keep_of(*state, &s, 1, 1, false, &other);
    keep_of(*state, &s, 2, 2, false, &early);
    keep_of(*state, &s, 2, 3, false, &late);
    assert_string_equal(late.run, early.run);
    assert_kept(*state, 2, late.run, 3);
    keep_of(*state, &s, 2, 4, true, &end);
    assert_string_equal(end.run, early.run);
    assert_kept(*state, 2, end.run, 4);
    assert_kept(*state, 2, other.run, 1); /* it is another run's */
    keep_of(*state, &s, 2, 5, true, &more);
    assert_string_not_equal(more.run, end.run);
    assert_kept(*state, 3, end.run, 4);
    assert_int_equal(models_remove(*state, other.run, &err), STATUS_OK); /* with its mark */
    assert_kept(*state, 2, end.run, 4);
    package_deinit(&other);
    package_deinit(&early);
    package_deinit(&late);
    package_deinit(&end);
    package_deinit(&more);
    packages_deinit(&s);
}

static void test_only_what_was_kept_before_its_run_was_over_can_be_withdrawn(void **state)
{
    char found[PACKAGE_RUN_MAX + 1];
    struct packages s = {0};
    struct package early, end;
    struct error err = {0};

    packages_init(&s);
    keep_of(*state, &s, 1, 1, true, &end);
    keep_of(*state, &s, 2, 2, false, &early);
    assert_int_equal(models_withdraw(*state, end.run, &err), STATUS_OK);
    assert_int_equal(models_withdraw(*state, early.run, &err), STATUS_OK);
    assert_int_equal(models_withdraw(*state, early.run, &err), STATUS_OK);
    assert_int_equal(models_withdraw(*state, "../x", &err), STATUS_OK);
    assert_kept(*state, 1, end.run, 1);
    assert_int_equal(models_find(*state, early.plan_sha256, early.trail, found, &err), STATUS_OK);
    assert_string_equal(found, "");
    package_deinit(&early);
    package_deinit(&end);
    packages_deinit(&s);
}

/* Of a party that has not heard the end: what it answers with is what it answered with before. */
static void test_what_is_withdrawn_is_in_use_no_more(void **state)
{
    char now[PACKAGE_RUN_MAX + 1];
    struct packages s = {0};
    struct package first, early;
    struct error err = {0};

    packages_init(&s);
    keep_of(*state, &s, 1, 1, false, &early);
    assert_int_equal(models_use(*state, early.run, &err), STATUS_OK);
    assert_int_equal(models_withdraw(*state, early.run, &err), STATUS_OK);
    assert_served(*state, "");
    package_deinit(&early);
    keep_of(*state, &s, 2, 2, true, &first);
    keep_of(*state, &s, 1, 3, false, &early);
    assert_int_equal(models_use(*state, first.run, &err), STATUS_OK);
    assert_int_equal(models_use(*state, early.run, &err), STATUS_OK);
    assert_served(*state, early.run);
    assert_int_equal(models_withdraw(*state, early.run, &err), STATUS_OK);
    assert_served(*state, first.run);
    assert_int_equal(models_rollback(*state, now, &err), STATUS_CONFIG); /* its line is gone, too */
    package_deinit(&early);
    keep_of(*state, &s, 1, 4, false, &early);
    assert_int_equal(models_withdraw(*state, early.run, &err), STATUS_OK); /* it was not in use */
    assert_served(*state, first.run);
    package_deinit(&first);
    package_deinit(&early);
    packages_deinit(&s);
}

/* What is kept as `run` is these bytes. */
static void put(const char *state, const char *run, const void *bytes, size_t n)
{
    char path[512];
    struct error err = {0};

    snprintf(path, sizeof path, "%s/models/%s/model.safetensors", state, run);
    assert_int_equal(file_write_atomic(path, bytes, n, 0600, &err), STATUS_OK);
}

/* It stops no other of its plan; whose it is its first bytes say, and with the rest it is found to
 * be broken. */
static void test_one_that_cannot_be_read_hides_no_other(void **state)
{
    static const char head[] = "........{\"__metadata__\":{\"run\":\"", no_run[] = "{\"trail\":";
    char found[PACKAGE_RUN_MAX + 1], path[512];
    struct packages s = {0};
    struct package broken, whole, got;
    struct error err = {0};
    struct buf b;

    packages_init(&s);
    keep_of(*state, &s, 1, 1, false, &broken);
    keep_of(*state, &s, 2, 2, true, &whole);
    snprintf(path, sizeof path, "%s/models/%s/model.safetensors", (char *)*state, broken.run);
    buf_init(&b, 1 << 20);
    assert_int_equal(file_read(path, &b, &err), STATUS_OK);
    for (size_t n = 0; n < b.len; n++) {
        put(*state, broken.run, b.data, n);
        assert_int_equal(models_find(*state, whole.plan_sha256, whole.trail, found, &err),
                         STATUS_OK);
        assert_string_equal(found, whole.run);
        package_init(&got);
        assert_int_not_equal(models_load(*state, broken.run, &got, &err), STATUS_OK);
        package_deinit(&got);
    }
    assert_int_equal(models_find(*state, broken.plan_sha256, broken.trail, found, &err), STATUS_OK);
    assert_string_equal(found, broken.run); /* all but its last byte is there */
    put(*state, broken.run, head, sizeof head);
    assert_int_equal(models_find(*state, broken.plan_sha256, broken.trail, found, &err), STATUS_OK);
    assert_string_equal(found, "");
    put(*state, broken.run, no_run, sizeof no_run);
    package_deinit(&broken);
    keep_of(*state, &s, 1, 3, true, &broken); /* of the same run: not over what is there */
    assert_int_equal(models_find(*state, broken.plan_sha256, broken.trail, found, &err), STATUS_OK);
    assert_string_equal(found, broken.run);
    assert_string_not_equal(found, whole.run);
    assert_kept(*state, 3, whole.run, 2);
    buf_deinit(&b);
    package_deinit(&broken);
    package_deinit(&whole);
    packages_deinit(&s);
}

/* Which one the others answer with is not known here. */
static void test_of_two_packages_of_one_run_none_is_found(void **state)
{
    char found[PACKAGE_RUN_MAX + 1];
    struct packages s = {0};
    struct package one, two, other;
    struct error err = {0};

    packages_init(&s);
    keep_of(*state, &s, 1, 1, true, &one);
    keep_of(*state, &s, 1, 2, true, &two);
    keep_of(*state, &s, 2, 2, true, &other);
    assert_int_equal(models_find(*state, one.plan_sha256, one.trail, found, &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, one.run));
    assert_non_null(strstr(err.text, two.run));
    assert_int_equal(models_find(*state, one.plan_sha256, other.trail, found, &err), STATUS_OK);
    assert_string_equal(found, other.run);
    assert_int_equal(models_remove(*state, one.run, &err), STATUS_OK);
    assert_int_equal(models_find(*state, one.plan_sha256, one.trail, found, &err), STATUS_OK);
    assert_string_equal(found, two.run);
    package_deinit(&one);
    package_deinit(&two);
    package_deinit(&other);
    packages_deinit(&s);
}

static void test_going_back_is_to_the_one_before_that_is_still_there(void **state)
{
    const char *dir = *state;
    char run[3][PACKAGE_RUN_MAX + 1], now[PACKAGE_RUN_MAX + 1];
    const struct answers_key key = {.outputs = 1};
    struct answers answers = {0};
    struct packages s = {0};
    struct error err = {0};

    packages_init(&s);
    for (int i = 0; i < 3; i++) {
        s.head.layer[0].w[0] += 1;
        keep(dir, &s, run[i]);
    }
    assert_int_equal(models_remove(dir, run[2], &err), STATUS_CONFIG); /* it is in use */
    assert_int_equal(answers_open(&answers, dir, run[1], &key, &err), STATUS_OK);
    assert_int_equal(models_remove(dir, run[1], &err), STATUS_CONFIG); /* a job gives its answers */
    answers_close(&answers);
    assert_int_equal(models_remove(dir, run[1], &err), STATUS_OK);
    assert_int_equal(models_remove(dir, run[1], &err), STATUS_CONFIG);
    assert_int_equal(models_rollback(dir, now, &err), STATUS_OK);
    assert_string_equal(now, run[0]);
    assert_served(dir, run[0]);
    assert_int_equal(models_rollback(dir, now, &err), STATUS_CONFIG);
    assert_served(dir, run[0]);
    packages_deinit(&s);
}

static void make_file(const char *dir, const char *name)
{
    char path[512];
    struct error err = {0};

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write_atomic(path, "", 0, 0600, &err), STATUS_OK);
}

static void remove_file(const char *dir, const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(remove(path), 0);
}

/* Of a run in a folder of its own, and of the one that has the state folder. */
static void test_what_an_unfinished_run_goes_on_from_is_not_removed(void **state)
{
    static const char *const by[] = {"0123456789abcdef", ""};
    static const char *const file[] = {"runs/0123456789abcdef/checkpoint.sealed",
                                       "checkpoint.before.sealed"};
    const char *dir = *state;
    char first[PACKAGE_RUN_MAX + 1], second[PACKAGE_RUN_MAX + 1], path[512];
    struct packages s = {0};
    struct package p;
    struct error err = {0};

    packages_init(&s);
    snprintf(path, sizeof path, "%s/runs", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/runs/0123456789abcdef", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 2; i++) {
        keep(dir, &s, first);
        s.head.layer[0].w[0] += 1;
        keep(dir, &s, second);
        assert_int_equal(models_need(dir, first, by[i], &err), STATUS_OK);
        make_file(dir, file[i]);
        assert_int_equal(models_remove(dir, first, &err), STATUS_CONFIG);
        assert_non_null(strstr(err.text, "not complete"));
        package_init(&p);
        assert_int_equal(models_load(dir, first, &p, &err), STATUS_OK);
        package_deinit(&p);
        remove_file(dir, file[i]); /* it is over */
        assert_int_equal(models_remove(dir, first, &err), STATUS_OK);
        s.head.layer[0].w[0] += 1;
    }
    packages_deinit(&s);
}

static void test_a_name_leads_nowhere_else(void **state)
{
    const char *dir = *state, *const names[] = {"..", "../x", "a/b", "served", "A", "", "a b"};
    struct error err = {0};
    struct package p;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_false(models_name(names[i]));
        package_init(&p);
        assert_int_equal(models_load(dir, names[i], &p, &err), STATUS_CONFIG);
        package_deinit(&p);
        assert_int_equal(models_remove(dir, names[i], &err), STATUS_CONFIG);
    }
    assert_true(models_name("0123456789abcdef-2"));
}

/* Moved to another run's folder it would be taken for that run's. */
static void test_a_package_in_another_runs_folder_is_refused(void **state)
{
    const char *dir = *state;
    char run[PACKAGE_RUN_MAX + 1], from[512], to[512];
    struct packages s = {0};
    struct package p;
    struct error err = {0};

    packages_init(&s);
    keep(dir, &s, run);
    snprintf(from, sizeof from, "%s/models/%s", dir, run);
    snprintf(to, sizeof to, "%s/models/other", dir);
    assert_int_equal(rename(from, to), 0);
    package_init(&p);
    assert_int_equal(models_load(dir, "other", &p, &err), STATUS_DATA);
    package_deinit(&p);
    packages_deinit(&s);
}

static void test_which_was_in_use_longest_ago_is_forgotten_for_a_new_one(void **state)
{
    const char *dir = *state;
    static char full[MODELS_MAX * (PACKAGE_RUN_MAX + 1)];
    char path[512], run[PACKAGE_RUN_MAX + 1];
    struct buf after;
    struct error err = {0};

    memset(full, 'a', sizeof full);
    for (size_t end = PACKAGE_RUN_MAX; end < sizeof full; end += PACKAGE_RUN_MAX + 1)
        full[end] = '\n';
    full[sizeof full - 2] = 'b';
    snprintf(path, sizeof path, "%s/models", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/models/served", dir);
    assert_int_equal(file_write_atomic(path, full, sizeof full, 0600, &err), STATUS_OK);
    assert_int_equal(models_use(dir, "newest", &err), STATUS_OK);
    assert_served(dir, "newest");
    buf_init(&after, sizeof full);
    assert_int_equal(file_read_own(path, &after, &err), STATUS_OK);
    assert_int_equal(after.len, sizeof full - (PACKAGE_RUN_MAX + 1) + strlen("newest\n"));
    snprintf(run, sizeof run, "%.*s", PACKAGE_RUN_MAX,
             (char *)after.data + after.len - strlen("newest\n") - PACKAGE_RUN_MAX - 1);
    assert_int_equal(run[PACKAGE_RUN_MAX - 1], 'b');
    buf_deinit(&after);
}

static int make_state(void **state)
{
    static char dir[64];

    snprintf(dir, sizeof dir, "/tmp/colonnade-models.XXXXXX");
    *state = mkdtemp(dir);
    return *state == NULL;
}

static int remove_one(const char *path, const struct stat *is, int type, struct FTW *at)
{
    (void)is;
    (void)type;
    (void)at;
    return remove(path);
}

static int remove_state(void **state)
{
    return nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_state, remove_state)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_run_of_the_same_plan_gets_another_name),
        TEST(test_a_run_is_found_by_its_trail),
        TEST(test_what_a_run_kept_before_it_was_over_gives_way),
        TEST(test_only_what_was_kept_before_its_run_was_over_can_be_withdrawn),
        TEST(test_what_is_withdrawn_is_in_use_no_more),
        TEST(test_one_that_cannot_be_read_hides_no_other),
        TEST(test_of_two_packages_of_one_run_none_is_found),
        TEST(test_going_back_is_to_the_one_before_that_is_still_there),
        TEST(test_which_was_in_use_longest_ago_is_forgotten_for_a_new_one),
        TEST(test_what_an_unfinished_run_goes_on_from_is_not_removed),
        TEST(test_a_name_leads_nowhere_else),
        TEST(test_a_package_in_another_runs_folder_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
