/* test_values.c -- where a table's values lie: what holds for memory and for a mapped file alike,
 * and what a file is for.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/values.h"

#include "common/base/mem.h"
#include "common/data/intake.h"
#include "common/data/scale.h"
#include "common/data/schema_fit.h"
#include "common/data/validate.h"
#include "tests/lib/instrumented.h"
#include "tests/lib/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct error err;

/* Memory, and a file in this folder, which has nothing in it otherwise. */
static const char *folder_of(int kind)
{
    static char folder[256];

    snprintf(folder, sizeof folder, "%s/mapped", scratch_dir());
    (void)mkdir(folder, 0700);
    return kind == 0 ? NULL : folder;
}

static void grow(struct values *v, float **x, size_t old, size_t n)
{
    assert_int_equal(STATUS_OK, values_grow(v, x, old, n, &err));
    assert_int_equal(0, (uintptr_t)*x % MEM_ALIGNMENT);
}

/* --- of both kinds --- */

static void test_what_grows_keeps_what_it_has_and_the_rest_is_zero(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 1024, 1025, 300000, 300000};

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct values v = {.folder = folder_of(kind)};
        float *x = NULL;
        size_t old = 0;

        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; old = sizes[k++]) {
            grow(&v, &x, old, sizes[k]);
            for (size_t i = 0; i < sizes[k]; i++) {
                assert_true(x[i] == (i < old ? (float)i + 1 : 0.0F));
                x[i] = (float)i + 1;
            }
        }
        assert_int_equal(values_settle(&v, NULL), STATUS_OK);
        assert_true(x[299999] == 300000);
        values_free(&v, x);
    }
}

static void test_what_was_cut_keeps_what_is_left(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct values v = {.folder = folder_of(kind)};
        float *x = NULL;

        values_cut(&v, &x, 0);
        grow(&v, &x, 0, 5000);
        for (size_t i = 0; i < 5000; i++)
            x[i] = (float)i + 1;
        values_cut(&v, &x, 100);
        assert_true(kind == 0 || v.file.n == 100 * sizeof *x);
        grow(&v, &x, 100, 6000);
        for (size_t i = 0; i < 6000; i++)
            assert_true(x[i] == (i < 100 ? (float)i + 1 : 0.0F));
        values_cut(&v, &x, 0);
        values_free(&v, x);
    }
}

static void test_what_cannot_grow_is_as_it_was(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct values v = {.folder = folder_of(kind)};
        float *x = NULL, *before;

        mem_fail_at(1);
        assert_int_equal(STATUS_MEMORY, values_grow(&v, &x, 0, 10, &err));
        assert_null(x);
        grow(&v, &x, 0, 10);
        before = x;
        x[9] = 3;
        mem_fail_at(1);
        assert_int_equal(STATUS_MEMORY, values_grow(&v, &x, 10, 20, &err));
        assert_int_equal(STATUS_MEMORY, values_grow(&v, &x, 10, SIZE_MAX / 2, &err));
        assert_true(x == before && x[9] == 3);
        values_free(&v, x);
    }
}

/* --- a table on its way to training --- */

struct shape {
    size_t rows, numbers;
    bool apart; /* a column of texts, different everywhere, which makes no feature; else of three */
};

/* Of ids from `first` on, the last one first; some numbers are missing. */
static const char *write_table(const struct shape *s, const char *name, size_t first)
{
    const char *path = scratch_write_text(name, "");
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs("id,word", f);
    for (size_t c = 0; c < s->numbers; c++)
        fprintf(f, ",n%zu", c);
    for (size_t i = s->rows; i-- > 0;) {
        fprintf(f, "\n%zu,w%zu", first + i, s->apart ? first + i : i % 3);
        for (size_t c = 0; c < s->numbers; c++)
            c == 0 && i % 7 == 0 ? fputs(",", f)
                                 : fprintf(f, ",%zu", (i * 31 + c * 7 + first) % 10);
    }
    fputs("\n", f);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* As a party does it: read, fitted to what is left, split, made features, scaled. */
static enum status prepare(const struct shape *s, const char *folder, struct table *train,
                           struct table *test)
{
    const struct intake_want want = {
        .kind = SCHEMA_AUTO, .mapped = folder, .limits = &INTAKE_LIMITS};
    const struct validate_rule rule = {.share = 0.3};
    struct schema schema = {0};
    struct scale scale = {0};
    struct validate v = {0};
    size_t unseen, filled;
    enum status status;

    *test = (struct table){0};
    status = intake_read(train, &schema, write_table(s, "train.csv", 1), &want, &err);
    if (status == STATUS_OK)
        status = validate_choose(&v, train, &rule, &err);
    if (status == STATUS_OK)
        status = schema_fit(&schema, train, &v, &err);
    validate_deinit(&v);
    if (status == STATUS_OK)
        status = intake_read(test, &schema, write_table(s, "test.csv", 1000000), &want, &err);
    if (status == STATUS_OK)
        status = validate_split(&v, train, test, &rule, &err);
    validate_deinit(&v);
    if (status == STATUS_OK)
        status = schema_apply(&schema, train, &unseen, &filled, &err);
    if (status == STATUS_OK)
        status = schema_apply(&schema, test, &unseen, &filled, &err);
    if (status == STATUS_OK)
        status = scale_fit(&scale, train);
    if (status == STATUS_OK) {
        scale_apply(&scale, train);
        scale_apply(&scale, test);
        (void)table_limit(train);
    }
    scale_deinit(&scale);
    schema_deinit(&schema);
    return status;
}

static void same(const struct table *a, const struct table *b)
{
    assert_true(table_same_ids(a, b) && a->cols == b->cols);
    assert_memory_equal(a->x, b->x, a->rows * a->cols * sizeof *a->x);
}

static void test_a_table_has_the_same_bits_wherever_it_lies(void **state)
{
    static const struct shape shapes[] = {{400, 3, false}, {400, 3, true}};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct table train[2], test[2];

        for (int kind = 0; kind < 2; kind++)
            assert_int_equal(STATUS_OK,
                             prepare(&shapes[k], folder_of(kind), &train[kind], &test[kind]));
        assert_int_equal(train[0].cols, shapes[k].apart ? 4 : 7);
        assert_true(train[0].values.file.data == NULL && train[1].values.file.data != NULL);
        assert_int_equal(train[1].values.file.n, train[1].rows * train[1].cols * sizeof(float));
        assert_int_equal(test[1].values.file.n, test[1].rows * test[1].cols * sizeof(float));
        same(&train[0], &train[1]);
        same(&test[0], &test[1]);
        for (int kind = 0; kind < 2; kind++) {
            table_deinit(&train[kind]);
            table_deinit(&test[kind]);
        }
    }
}

/* --- what a file is for --- */

static size_t data_bytes(void)
{
    unsigned long long kb = 0;
    char line[128];
    FILE *f = fopen("/proc/self/status", "r");

    assert_non_null(f);
    while (kb == 0 && fgets(line, sizeof line, f) != NULL)
        (void)sscanf(line, "VmData: %llu", &kb);
    fclose(f);
    return (size_t)kb << 10;
}

enum { LIMIT_BYTES = 12 << 20 };

/* In a process of its own, whose limit counts memory and not files. */
static enum status prepare_in_little(const struct shape *s, const char *folder)
{
    const pid_t child = fork();
    int how;

    if (child == 0) {
        const struct rlimit little = {data_bytes() + LIMIT_BYTES, RLIM_INFINITY};
        struct table train, test;

        _exit(setrlimit(RLIMIT_DATA, &little) != 0 ? 99 : (int)prepare(s, folder, &train, &test));
    }
    assert_true(child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how));
    return (enum status)WEXITSTATUS(how);
}

/* 24 MB of values, of which no step may make a second set in memory. */
static void test_a_table_may_be_larger_than_memory(void **state)
{
    static const struct shape wider = {1500, 4000, false}, narrower = {1500, 4000, true};

    (void)state;
    if (INSTRUMENTED) /* its shadow is data */
        skip();
    assert_int_equal(STATUS_MEMORY, prepare_in_little(&wider, NULL));
    assert_int_equal(STATUS_OK, prepare_in_little(&wider, folder_of(1)));
    assert_int_equal(STATUS_OK, prepare_in_little(&narrower, folder_of(1)));
}

static void test_the_file_has_no_name_and_is_its_owners(void **state)
{
    struct values v = {.folder = folder_of(1)};
    float *x = NULL;
    struct stat st;
    DIR *d;
    int names = 0;

    (void)state;
    grow(&v, &x, 0, 10);
    assert_int_equal(fstat(v.file.fd, &st), 0);
    assert_true(st.st_nlink == 0 && (st.st_mode & 0777) == 0600);
    d = opendir(v.folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        names += e->d_name[0] != '.';
    closedir(d);
    assert_int_equal(names, 0);
    values_free(&v, x);
}

static void test_a_disk_without_room_is_one_line_and_nothing_is_lost(void **state)
{
    struct values v = {.folder = folder_of(1)}, nowhere = {.folder = "/nowhere"};
    float *x = NULL, *none = NULL;
    struct rlimit all, few;

    (void)state;
    grow(&v, &x, 0, 1000);
    x[999] = 5;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    few = (struct rlimit){8192, all.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    assert_int_equal(STATUS_IO, values_grow(&v, &x, 1000, 10000, &err));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_true(strncmp(err.text, "data.mapped: ", 13) == 0);
    assert_non_null(strstr(err.text, v.folder));
    assert_non_null(strstr(err.text, strerror(EFBIG)));
    assert_true(x[999] == 5 && v.file.n == 1000 * sizeof *x);
    values_free(&v, x);
    assert_int_equal(STATUS_IO, values_grow(&nowhere, &none, 0, 1, &err));
    assert_string_equal(err.text, "data.mapped: /nowhere: No such file or directory");
    assert_null(none);
}

/* Nothing is mapped there any more, which is as near to a failing disk as a test comes. */
static void test_a_disk_that_takes_nothing_is_one_line(void **state)
{
    struct values v = {.folder = folder_of(1)}, gone;
    float *x = NULL;

    (void)state;
    grow(&v, &x, 0, 5000);
    assert_int_equal(values_settle(&v, &err), STATUS_OK);
    gone = v;
    values_free(&v, x);
    assert_int_equal(values_settle(&gone, &err), STATUS_IO);
    assert_true(strncmp(err.text, "data.mapped: ", 13) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_grows_keeps_what_it_has_and_the_rest_is_zero),
        cmocka_unit_test(test_what_was_cut_keeps_what_is_left),
        cmocka_unit_test(test_what_cannot_grow_is_as_it_was),
        cmocka_unit_test(test_a_table_has_the_same_bits_wherever_it_lies),
        cmocka_unit_test(test_a_table_may_be_larger_than_memory),
        cmocka_unit_test(test_the_file_has_no_name_and_is_its_owners),
        cmocka_unit_test(test_a_disk_without_room_is_one_line_and_nothing_is_lost),
        cmocka_unit_test(test_a_disk_that_takes_nothing_is_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
