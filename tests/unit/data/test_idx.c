/* test_idx.c -- IDX files: what is read, and that no header is believed before its bytes are
 * counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/idx.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct table_want FEATURES = {.labels = false}, LABELS = {.labels = true};
static struct error err;

/* Three images of 2 x 2. */
static const uint8_t IMAGES[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0,  0,   2,   0,   0,
                                 0, 2, 0, 1, 2, 3, 4, 5, 6, 51, 102, 153, 204, 255};
static const uint8_t DIGITS[] = {0, 0, 8, 1, 0, 0, 0, 4, 7, 0, 255, 3};
enum { HEADER = 16 };

static enum status read_bytes(struct table *t, const void *bytes, size_t n,
                              const struct table_want *want)
{
    err = (struct error){0};
    return array_read(t, scratch_write("t.idx", bytes, n), &IDX_FORMAT, want, &err);
}

static const char *said(void)
{
    return err.text + strlen(scratch_dir()) + 1;
}

static void refuse(const void *bytes, size_t n, const struct table_want *want, const char *expected)
{
    struct table t;

    assert_int_equal(read_bytes(&t, bytes, n, want), STATUS_DATA);
    assert_string_equal(said(), expected);
    assert_true(t.x == NULL && t.id_text == NULL && t.id_at == NULL && t.rows == 0);
}

/* IMAGES with one byte changed. */
static void refuse_changed(size_t at, uint8_t value, const char *expected)
{
    uint8_t bytes[sizeof IMAGES];

    memcpy(bytes, IMAGES, sizeof bytes);
    bytes[at] = value;
    refuse(bytes, sizeof bytes, &FEATURES, expected);
}

static void check_images(const struct table *t)
{
    assert_int_equal(t->rows, 3);
    assert_int_equal(t->cols, 4);
    assert_null(t->names);
    assert_true(t->counted);
    for (size_t i = 0; i < 12; i++)
        assert_true(t->x[i] == (float)IMAGES[HEADER + i] / 255.0f);
    assert_true(t->x[11] == 1 && t->x[0] == 0 && t->x[7] == 0.2f);
    assert_string_equal(table_id(t, 0), "0");
    assert_string_equal(table_id(t, 2), "2");
}

static void test_images_are_read_as_fractions_of_255(void **unused)
{
    struct table t;

    (void)unused;
    assert_int_equal(read_bytes(&t, IMAGES, sizeof IMAGES, &FEATURES), STATUS_OK);
    check_images(&t);
    table_deinit(&t);
    assert_int_equal(array_read(&t, scratch_write_gzip("t.idx.gz", IMAGES, sizeof IMAGES),
                                &IDX_FORMAT, &FEATURES, &err),
                     STATUS_OK);
    check_images(&t);
    table_deinit(&t);
}

static void test_labels_are_read_as_they_are(void **unused)
{
    struct table t;

    (void)unused;
    assert_int_equal(read_bytes(&t, DIGITS, sizeof DIGITS, &LABELS), STATUS_OK);
    assert_int_equal(t.rows, 4);
    assert_int_equal(t.cols, 1);
    assert_true(t.x[0] == 7 && t.x[1] == 0 && t.x[2] == 255 && t.x[3] == 3);
    table_deinit(&t);
    refuse(DIGITS, sizeof DIGITS, &FEATURES,
           "t.idx: one IDX dimension: a label file, not features");
    refuse(IMAGES, sizeof IMAGES, &LABELS, "t.idx: labels need an IDX file of one dimension");
}

static void test_another_magic_is_refused(void **unused)
{
    (void)unused;
    refuse_changed(0, 1, "t.idx: not an IDX file");
    refuse_changed(1, 1, "t.idx: not an IDX file");
    refuse_changed(2, 0x0d, "t.idx: IDX type 0x0d, only 0x08 (unsigned byte) is read");
    refuse_changed(3, 0, "t.idx: 0 IDX dimensions, 1 to 8 are read");
    refuse_changed(3, 9, "t.idx: 9 IDX dimensions, 1 to 8 are read");
}

static void test_dimensions_are_checked_before_allocation(void **unused)
{
    /* 256 x 257 columns: each dimension is small enough, their product is not. */
    static const uint8_t wide[HEADER] = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1};
    uint64_t before = mem_count();

    (void)unused;
    refuse_changed(7, 0, "t.idx: IDX dimension 1 is 0");
    refuse_changed(15, 0, "t.idx: IDX dimension 3 is 0");
    refuse_changed(4, 0xff, "t.idx: IDX dimension 1 is too large: 4278190083");
    refuse_changed(9, 1, "t.idx: IDX dimension 2 is too large: 65538");
    refuse_changed(13, 0x80, "t.idx: IDX dimension 3 is too large: 8388610");
    refuse(wide, sizeof wide, &FEATURES, "t.idx: IDX dimension 3 is too large: 257");
    assert_int_equal(mem_count() - before, 6); /* the buffer of each read, no table */
}

static void test_the_bytes_are_those_the_header_promises(void **unused)
{
    uint8_t longer[sizeof IMAGES + 1] = {0};

    (void)unused;
    for (size_t cut = 0; cut < HEADER; cut++)
        refuse(IMAGES, cut, &FEATURES, "t.idx: ends inside the IDX header");
    for (size_t cut = HEADER; cut < sizeof IMAGES; cut++)
        refuse(IMAGES, cut, &FEATURES,
               "t.idx: the IDX header promises 12 bytes, the file has fewer");
    memcpy(longer, IMAGES, sizeof IMAGES);
    refuse(longer, sizeof longer, &FEATURES,
           "t.idx: the IDX header promises 12 bytes, the file has more");
}

/* 100 000 000 rows of 80 columns claimed by a file of some bytes: no table is asked for. */
static void test_a_claim_costs_no_memory(void **unused)
{
    static const uint8_t claim[] = {0, 0, 8, 2, 0x05, 0xf5, 0xe1, 0, 0, 0, 0, 80, 1, 2, 3};
    uint64_t before = mem_count();

    (void)unused;
    refuse(claim, sizeof claim, &FEATURES,
           "t.idx: the IDX header promises 8000000000 bytes, the file has fewer");
    assert_int_equal(mem_count() - before, 1);
}

/* More than one chunk of the reader, and ids of several lengths. */
static void test_a_large_file_is_read_whole(void **unused)
{
    enum { ROWS = 30000, COLS = 7, START = 12 };
    static const uint8_t header[START] = {0, 0, 8, 2, 0, 0, ROWS >> 8, ROWS & 255, 0, 0, 0, COLS};
    uint8_t *bytes = malloc(START + ROWS * COLS);
    struct table t;

    (void)unused;
    assert_non_null(bytes);
    memcpy(bytes, header, START);
    for (size_t i = 0; i < ROWS * COLS; i++)
        bytes[START + i] = (uint8_t)(i * 31 + i / 256);
    assert_int_equal(read_bytes(&t, bytes, START + ROWS * COLS, &FEATURES), STATUS_OK);
    for (size_t i = 0; i < ROWS * COLS; i++)
        assert_true(t.x[i] == (float)bytes[START + i] / 255.0f);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(strtol(table_id(&t, i), NULL, 10), i);
    table_deinit(&t);
    free(bytes);
}

static void test_each_failing_allocation_is_reported(void **unused)
{
    struct table t;

    (void)unused;
    for (uint64_t n = 1; n <= 4; n++) {
        mem_fail_at(n);
        assert_int_equal(read_bytes(&t, IMAGES, sizeof IMAGES, &FEATURES), STATUS_MEMORY);
        assert_true(t.x == NULL && t.id_text == NULL && t.id_at == NULL);
    }
    mem_fail_at(5);
    assert_int_equal(read_bytes(&t, IMAGES, sizeof IMAGES, &FEATURES), STATUS_OK);
    mem_fail_at(0);
    table_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images_are_read_as_fractions_of_255),
        cmocka_unit_test(test_labels_are_read_as_they_are),
        cmocka_unit_test(test_another_magic_is_refused),
        cmocka_unit_test(test_dimensions_are_checked_before_allocation),
        cmocka_unit_test(test_the_bytes_are_those_the_header_promises),
        cmocka_unit_test(test_a_claim_costs_no_memory),
        cmocka_unit_test(test_a_large_file_is_read_whole),
        cmocka_unit_test(test_each_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
