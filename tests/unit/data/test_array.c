/* test_array.c -- what holds for arrays of every format alike: of any rank the same rows are the
 * same table, and no header is believed before its bytes are counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/idx.h"
#include "common/data/npy.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { FILE_MAX = 4096 };

static const struct table_want FEATURES = {.labels = false}, LABELS = {.labels = true};
static struct error err;

static size_t put_idx(uint8_t *out, const struct array *a)
{
    return idx_header(out, a);
}

static size_t put_npy(uint8_t *out, const struct array *a)
{
    return npy_header((char *)out, a);
}

static const struct kind {
    const char *name, *word;
    const struct array_format *format;
    size_t (*put)(uint8_t *out, const struct array *a);
} kinds[] = {
    {"t.idx", "IDX", &IDX_FORMAT, put_idx},
    {"t.npy", ".npy", &NPY_FORMAT, put_npy},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Unsigned bytes 0, 1, ... of these sides, which are as many as fit; returns the length. */
static size_t make(uint8_t file[FILE_MAX], const struct kind *k, size_t rank, const size_t *dim)
{
    struct array a = {.kind = 'u', .element = 1, .rank = rank};
    size_t at, which, n;

    memcpy(a.dim, dim, rank * sizeof *dim);
    assert_true(array_measure(&a, &which));
    at = k->put(file, &a);
    n = a.dim[0] * a.columns;
    for (size_t i = 0; i < n; i++)
        file[at + i] = (uint8_t)i;
    return at + n;
}

static enum status read_file(struct table *t, const struct kind *k, const uint8_t *file, size_t n,
                             const struct table_want *want)
{
    err = (struct error){0};
    return array_read(t, scratch_write(k->name, file, n), k->format, want, &err);
}

/* The longest sides first, then every number of sides. */
static const size_t SIDES[][ARRAY_RANK_MAX] = {
    {3, 24},
    {3, 2, 12},
    {3, 4, 2, 3},
    {3, 2, 2, 2, 3},
    {3, 2, 1, 2, 2, 3},
    {3, 2, 1, 2, 1, 2, 3},
    {3, 2, 1, 2, 1, 2, 1, 3},
};

static void test_rows_of_any_rank_are_the_same_table(void **state)
{
    uint8_t file[FILE_MAX];

    (void)state;
    for (size_t i = 0; i < KINDS; i++)
        for (size_t rank = 2; rank <= ARRAY_RANK_MAX; rank++) {
            const size_t n = make(file, &kinds[i], rank, SIDES[rank - 2]);
            struct table t;

            if (read_file(&t, &kinds[i], file, n, &FEATURES) != STATUS_OK)
                fail_msg("%s", err.text);
            assert_true(t.rows == 3 && t.cols == 24 && t.counted && t.names == NULL);
            for (size_t k = 0; k < 72; k++)
                assert_true(t.x[k] == (float)k / kinds[i].format->unit);
            assert_string_equal(table_id(&t, 2), "2");
            table_deinit(&t);
        }
}

static void test_labels_have_one_side_and_no_unit(void **state)
{
    const size_t rows = 5;
    uint8_t file[FILE_MAX];
    struct table t;

    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const size_t n = make(file, &kinds[i], 1, &rows);

        assert_int_equal(read_file(&t, &kinds[i], file, n, &LABELS), STATUS_OK);
        assert_true(t.rows == 5 && t.cols == 1 && t.x[4] == 4);
        table_deinit(&t);
        assert_int_equal(read_file(&t, &kinds[i], file, n, &FEATURES), STATUS_DATA);
        assert_non_null(strstr(err.text, "dimension: a label file, not features"));
    }
}

static void test_a_file_cut_anywhere_or_longer_is_one_line(void **state)
{
    uint8_t file[FILE_MAX];
    char promise[64];

    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const size_t n = make(file, &kinds[i], 4, SIDES[2]);

        for (size_t cut = 0; cut <= n + 1; cut++) {
            struct table t;

            if (cut == n)
                continue;
            assert_int_equal(read_file(&t, &kinds[i], file, cut, &FEATURES), STATUS_DATA);
            assert_true(t.x == NULL && t.id_text == NULL && strchr(err.text, '\n') == NULL);
            snprintf(promise, sizeof promise,
                     "%s: the %s header promises 72 bytes, the file has %s", kinds[i].name,
                     kinds[i].word, cut < n ? "fewer" : "more");
            assert_non_null(strstr(err.text, cut >= n - 72 ? promise : "ends inside the"));
        }
    }
}

static void test_sides_too_large_are_found_before_memory_is_taken(void **state)
{
    static const struct array claims[] = {
        {'u', 1, 2, {0, 1}, 0},          {'u', 1, 3, {1, 2, 0}, 0},
        {'u', 1, 2, {100000001, 1}, 0},  {'u', 1, 3, {1, 256, 257}, 0},
        {'u', 1, 2, {1, 65537}, 0},      {'u', 1, 4, {1, 65536, 65536, 65536}, 0},
        {'u', 1, 2, {90000000, 100}, 0}, {'u', 1, 2, {80000000, 100}, 0},
    };
    uint8_t file[FILE_MAX];

    (void)state;
    for (size_t i = 0; i < KINDS; i++)
        for (size_t c = 0; c < sizeof claims / sizeof *claims; c++) {
            const size_t n = kinds[i].put(file, &claims[c]);
            const uint64_t before = mem_count();
            struct table t;

            assert_int_equal(read_file(&t, &kinds[i], file, n, &FEATURES), STATUS_DATA);
            assert_int_equal(mem_count() - before, 1); /* the buffer that it is read by */
        }
}

static void test_no_column_has_a_name(void **state)
{
    const struct table_want group = {.group = "who"}, time = {.time = "when"};
    uint8_t file[FILE_MAX];
    struct table t;

    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        const size_t n = make(file, &kinds[i], 2, SIDES[0]);

        assert_int_equal(read_file(&t, &kinds[i], file, n, &group), STATUS_DATA);
        assert_non_null(strstr(err.text, "has no columns with names: data.group needs CSV"));
        assert_int_equal(read_file(&t, &kinds[i], file, n, &time), STATUS_DATA);
        assert_non_null(strstr(err.text, "has no columns with names: data.time needs CSV"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_any_rank_are_the_same_table),
        cmocka_unit_test(test_labels_have_one_side_and_no_unit),
        cmocka_unit_test(test_a_file_cut_anywhere_or_longer_is_one_line),
        cmocka_unit_test(test_sides_too_large_are_found_before_memory_is_taken),
        cmocka_unit_test(test_no_column_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
