/* test_npy.c -- arrays of NumPy: what is read, and that no header is believed before its bytes are
 * counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/npy.h"

#include "common/data/intake.h"
#include "tests/lib/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const struct table_want FEATURES = {.labels = false}, LABELS = {.labels = true};
static struct error err;
static uint8_t file[8192];

/* A file of version 1.0 with this dictionary, padded by blanks, and these bytes behind it. */
static size_t make(const char *dict, const void *bytes, size_t n)
{
    const size_t used = strlen(dict), head = (10 + used + 1 + 63) / 64 * 64;

    memset(file, ' ', head);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (uint8_t)(head - 10);
    file[9] = (uint8_t)((head - 10) >> 8);
    memcpy(file + 10, dict, used);
    file[head - 1] = '\n';
    memcpy(file + head, bytes, n);
    return head + n;
}

static enum status read_file(struct table *t, size_t n, const struct table_want *want)
{
    err = (struct error){0};
    return array_read(t, scratch_write("t.npy", file, n), &NPY_FORMAT, want, &err);
}

static void refused(size_t n, const char *expected)
{
    struct table t;

    assert_int_equal(read_file(&t, n, &FEATURES), STATUS_DATA);
    assert_string_equal(err.text + strlen(scratch_dir()) + 1, expected);
    assert_true(t.x == NULL && t.id_text == NULL && t.rows == 0);
}

#define DICT(type, shape) "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }"

/* 2 x 3 of -1, 0, 1, 2, 3, 4 in that type. */
static void reads(const char *dict, const void *bytes, size_t n)
{
    struct table t;

    if (read_file(&t, make(dict, bytes, n), &FEATURES) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_true(t.rows == 2 && t.cols == 3 && t.counted && t.names == NULL);
    for (int i = 0; i < 6; i++)
        assert_true(t.x[i] == (float)(i - 1));
    assert_string_equal(table_id(&t, 1), "1");
    table_deinit(&t);
}

static void test_each_type_is_read(void **state)
{
    const float f4[] = {-1, 0, 1, 2, 3, 4};
    const double f8[] = {-1, 0, 1, 2, 3, 4};
    const int8_t i1[] = {-1, 0, 1, 2, 3, 4};
    const int16_t i2[] = {-1, 0, 1, 2, 3, 4};
    const int32_t i4[] = {-1, 0, 1, 2, 3, 4};
    const int64_t i8[] = {-1, 0, 1, 2, 3, 4};
    const uint16_t u2[] = {65535, 7};
    struct table t;

    (void)state;
    reads(DICT("<f4", "(2, 3)"), f4, sizeof f4);
    reads(DICT("<f8", "(2, 3)"), f8, sizeof f8);
    reads(DICT("|i1", "(2, 3)"), i1, sizeof i1);
    reads(DICT("<i2", "(2, 3)"), i2, sizeof i2);
    reads(DICT("<i4", "(2, 3)"), i4, sizeof i4);
    reads(DICT("<i8", "(2, 3,)"), i8, sizeof i8);
    reads("{'shape':(2,3),'fortran_order':False,'descr':'<i8'}", i8, sizeof i8);
    assert_int_equal(read_file(&t, make(DICT("<u2", "(2,)"), u2, sizeof u2), &LABELS), STATUS_OK);
    assert_true(t.rows == 2 && t.cols == 1 && t.x[0] == 65535 && t.x[1] == 7);
    table_deinit(&t);
}

static void test_it_is_known_by_its_content_and_read_by_intake(void **state)
{
    const struct intake_want any = {.limits = &INTAKE_LIMITS};
    const float f4[] = {1, 2};
    const size_t n = make(DICT("<f4", "(1, 2)"), f4, sizeof f4);
    static const char *const names[] = {"t.npy", "t.npy.gz", "array"};
    struct schema s = {0};
    struct table t;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const char *path =
            i == 1 ? scratch_write_gzip(names[i], file, n) : scratch_write(names[i], file, n);

        assert_int_equal(intake_read(&t, &s, path, &any, &err), STATUS_OK);
        assert_true(t.rows == 1 && t.cols == 2 && t.x[1] == 2 && s.n == 0);
        table_deinit(&t);
    }
}

static void test_what_numpy_does_not_write_is_refused(void **state)
{
    static const char *const dicts[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f4'}",
        DICT("<f4", "(1, 1)") " x",
        DICT("<f4", "(1, 1)") "}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), 'more': 1}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (1, 1)}",
        "{\"descr\": '<f4', 'fortran_order': False, 'shape': (1, 1)}",
    };
    float one = 1;

    (void)state;
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++)
        refused(make(dicts[i], &one, sizeof one), "t.npy: a header that NumPy does not write");
}

static void test_other_arrays_are_refused_by_what_they_are(void **state)
{
    static const char *const types[] = {">f4", "<f2", "<c8", "|b1", "|O8", "<U4", "|f4", "<i3"};
    char dict[128];

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 1), }",
                 types[i]);
        refused(make(dict, "", 0),
                "t.npy: elements that are no little-endian float32, float64 or whole numbers");
    }
    refused(make("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "", 0),
            "t.npy: elements that are no little-endian float32, float64 or whole numbers");
    refused(make("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "", 0),
            "t.npy: an array in Fortran order: save numpy.ascontiguousarray of it");
    refused(make(DICT("<f4", "()"), "", 0), "t.npy: an array of no or more than eight dimensions");
    refused(make(DICT("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "", 0),
            "t.npy: an array of no or more than eight dimensions");
    refused(make(DICT("<f4", "(-1, 1)"), "", 0),
            "t.npy: an array of no or more than eight dimensions");
    refused(make(DICT("<f4", "(0, 1)"), "", 0), "t.npy: a dimension of 0");
    refused(make(DICT("<f4", "(100000001, 1)"), "", 0), "t.npy: too large a table");
    refused(make(DICT("<f4", "(1, 65537)"), "", 0), "t.npy: too large a table");
    refused(make(DICT("<f4", "(99999999, 65536)"), "", 0), "t.npy: too large a table");
    refused(make(DICT("<f4", "(1, 256, 257)"), "", 0), "t.npy: too large a table");
    refused(make(DICT("<f4", "(1, 2, 0)"), "", 0), "t.npy: a dimension of 0");
    refused(make(DICT("<f4", "(999999999999999999999, 1)"), "", 0),
            "t.npy: an array of no or more than eight dimensions");
    refused(make(DICT("<f4", "(1,)"), "", 0),
            "t.npy: one .npy dimension: a label file, not features");
}

static void test_a_claim_is_nothing_before_its_bytes_are_there(void **state)
{
    const float two[] = {1, 2};

    (void)state;
    refused(make(DICT("<f4", "(99999999, 80)"), two, sizeof two),
            "t.npy: the .npy header promises 31999999680 bytes, the file has fewer");
    refused(make(DICT("<f4", "(1, 1)"), two, sizeof two),
            "t.npy: the .npy header promises 4 bytes, the file has more");
}

static void test_half_a_header_and_other_versions_are_refused(void **state)
{
    const float one = 1;
    const size_t n = make(DICT("<f4", "(1, 1)"), &one, sizeof one);

    (void)state;
    for (size_t cut = 1; cut < n - 4; cut++)
        refused(cut, "t.npy: ends inside the .npy header");
    file[6] = 3;
    refused(n, "t.npy: a .npy file of a version that is not 1.0 or 2.0");
    file[6] = 1;
    file[9] = 0x20;
    refused(n, "t.npy: a .npy header of more than 4096 bytes");
    file[0] = 'x';
    refused(n, "t.npy: not a .npy file");
}

static void test_what_is_no_number_has_its_place(void **state)
{
    const float nan[] = {1, 2, 3, NAN}, inf[] = {1, INFINITY, 3, 4};
    const double large[] = {1, 2, 1e39, 4};

    (void)state;
    refused(make(DICT("<f4", "(2, 2)"), nan, sizeof nan),
            "t.npy: row 2, column 2: not a number, or too large a one");
    refused(make(DICT("<f4", "(2, 2)"), inf, sizeof inf),
            "t.npy: row 1, column 2: not a number, or too large a one");
    refused(make(DICT("<f8", "(2, 2)"), large, sizeof large),
            "t.npy: row 2, column 1: not a number, or too large a one");
}

static void test_a_header_that_is_written_is_read(void **state)
{
    static const struct array some[] = {
        {'u', 1, 2, {99999999, 80}, 80},
        {'f', 4, 1, {7}, 1},
        {'i', 8, 8, {3, 2, 4, 2, 4, 2, 4, 128}, 65536},
    };

    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const struct array *a = &some[i];
        struct array back;
        char text[NPY_TEXT_MAX];
        const size_t n = npy_header(text, a);
        const char *reason;

        assert_int_equal(n % 64, 0);
        assert_true(npy_parse(&back, text + 10, n - 10, &reason));
        assert_true(back.kind == a->kind && back.element == a->element && back.rank == a->rank);
        assert_memory_equal(back.dim, a->dim, a->rank * sizeof *a->dim);
        assert_int_equal(back.columns, a->columns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_type_is_read),
        cmocka_unit_test(test_it_is_known_by_its_content_and_read_by_intake),
        cmocka_unit_test(test_what_numpy_does_not_write_is_refused),
        cmocka_unit_test(test_other_arrays_are_refused_by_what_they_are),
        cmocka_unit_test(test_a_claim_is_nothing_before_its_bytes_are_there),
        cmocka_unit_test(test_half_a_header_and_other_versions_are_refused),
        cmocka_unit_test(test_what_is_no_number_has_its_place),
        cmocka_unit_test(test_a_header_that_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
