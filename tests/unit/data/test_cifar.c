/* test_cifar.c -- batches of CIFAR: several files are one set, and what is no record has its place.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/cifar.h"

#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RECORDS_MAX = 3, FILE_MAX = RECORDS_MAX * (CIFAR_PIXELS + 2) + 1 };

static struct error err;
static uint8_t file[FILE_MAX];

static uint8_t pixel(size_t record, size_t i)
{
    return (uint8_t)(record * 17 + i * 3 + i / 256);
}

/* Records from `first` on, which have `labels` labels: record r has r % 10 last, and 19 before. */
static size_t make(size_t first, size_t records, size_t labels)
{
    uint8_t *at = file;

    for (size_t r = first; r < first + records; r++) {
        if (labels == 2)
            *at++ = 19;
        *at++ = (uint8_t)(r % 10);
        for (size_t i = 0; i < CIFAR_PIXELS; i++)
            *at++ = pixel(r, i);
    }
    return (size_t)(at - file);
}

static void holds(const char *files, enum cifar_label which, size_t rows, const uint8_t *labels)
{
    uint8_t pixels[CIFAR_PIXELS], label;
    struct cifar c;

    err = (struct error){0};
    if (cifar_open(&c, files, which, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(c.rows, rows);
    for (size_t r = 0; r < rows; r++) {
        if (cifar_next(&c, pixels, &label, &err) != STATUS_OK)
            fail_msg("%s", err.text);
        assert_int_equal(label, labels[r]);
        for (size_t i = 0; i < CIFAR_PIXELS; i++)
            assert_int_equal(pixels[i], pixel(r, i));
    }
    assert_int_equal(cifar_next(&c, pixels, &label, &err), STATUS_DATA);
    cifar_close(&c);
}

static void refused(const char *files, enum cifar_label which, enum status status,
                    const char *expected)
{
    uint8_t pixels[CIFAR_PIXELS], label;
    struct cifar c;
    enum status s;

    err = (struct error){0};
    s = cifar_open(&c, files, which, &err);
    for (size_t i = 0; s == STATUS_OK && i < c.rows; i++)
        s = cifar_next(&c, pixels, &label, &err);
    cifar_close(&c);
    assert_int_equal(s, status);
    if (strstr(err.text, expected) == NULL || strchr(err.text, '\n') != NULL)
        fail_msg("%s", err.text);
}

static void test_several_files_are_one_set(void **state)
{
    static const uint8_t labels[] = {0, 1, 2, 3, 4, 5};
    char list[3 * PATH_MAX];
    size_t n;

    (void)state;
    n = make(0, 2, 1);
    snprintf(list, sizeof list, "%s", scratch_write("a.bin", file, n));
    holds(list, CIFAR_ANY, 2, labels);
    n = make(2, 1, 1);
    strcat(strcat(list, ","), scratch_write_gzip("b.bin.gz", file, n));
    n = make(3, 3, 1);
    strcat(strcat(list, ","), scratch_write("c.bin", file, n));
    holds(list, CIFAR_ANY, 6, labels);
}

static void test_of_two_labels_either_is_taken(void **state)
{
    static const uint8_t fine[] = {0, 1, 2}, coarse[] = {19, 19, 19};
    const size_t n = make(0, 3, 2);
    const char *path = scratch_write("h.bin", file, n);

    (void)state;
    holds(path, CIFAR_ANY, 3, fine);
    holds(path, CIFAR_FINE, 3, fine);
    holds(path, CIFAR_COARSE, 3, coarse);
}

static void test_another_length_is_refused(void **state)
{
    static const size_t lengths[] = {1, CIFAR_PIXELS, CIFAR_PIXELS + 3, 2 * (CIFAR_PIXELS + 1) - 1,
                                     (CIFAR_PIXELS + 1) + (CIFAR_PIXELS + 2)};
    char list[2 * PATH_MAX];

    (void)state;
    make(0, 3, 1);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        refused(scratch_write("l.bin", file, lengths[i]), CIFAR_ANY, STATUS_DATA,
                "bytes are no whole number of records of CIFAR-10, which are 3073 each");
    refused(scratch_write("l.bin", file, CIFAR_PIXELS + 1), CIFAR_COARSE, STATUS_DATA,
            "l.bin: 3073 bytes are no whole number of records of CIFAR-100, which are 3074 each");
    refused(scratch_write("l.bin", file, 0), CIFAR_ANY, STATUS_DATA, "l.bin: empty");
    /* The first file says what the set is. */
    snprintf(list, sizeof list, "%s", scratch_write("a.bin", file, CIFAR_PIXELS + 1));
    strcat(strcat(list, ","), scratch_write("b.bin", file, CIFAR_PIXELS + 2));
    refused(list, CIFAR_ANY, STATUS_DATA, "b.bin: 3074 bytes are no whole number");
}

static void test_a_label_that_is_none_has_its_place(void **state)
{
    size_t n = make(0, 3, 1);

    (void)state;
    file[2 * (CIFAR_PIXELS + 1)] = 10;
    refused(scratch_write("l.bin", file, n), CIFAR_ANY, STATUS_DATA,
            "l.bin: record 3: label 10, where CIFAR-10 has 0 to 9");
    n = make(0, 2, 2);
    file[CIFAR_PIXELS + 2] = 20;
    refused(scratch_write("l.bin", file, n), CIFAR_FINE, STATUS_DATA,
            "l.bin: record 2: label 20, where CIFAR-100 has 0 to 19");
    file[CIFAR_PIXELS + 2] = 0;
    file[1] = 100;
    refused(scratch_write("l.bin", file, n), CIFAR_COARSE, STATUS_DATA,
            "l.bin: record 1: label 100, where CIFAR-100 has 0 to 99");
}

static void test_a_list_of_names_is_checked(void **state)
{
    char list[2 * CIFAR_FILES_MAX * 64] = "";
    const size_t n = make(0, 1, 1);
    const char *path = scratch_write("a", file, n);

    (void)state;
    refused("", CIFAR_ANY, STATUS_CONFIG, "expected FILE[,FILE...]");
    refused(",", CIFAR_ANY, STATUS_CONFIG, "expected FILE[,FILE...]");
    refused("/nowhere/there", CIFAR_ANY, STATUS_DATA, "/nowhere/there");
    refused("/nowhere/a,b/there", CIFAR_ANY, STATUS_DATA, "a comma parts files");
    for (size_t i = 0; i <= CIFAR_FILES_MAX && strlen(path) < 60; i++)
        strcat(strcat(list, i > 0 ? "," : ""), path);
    refused(list, CIFAR_ANY, STATUS_CONFIG, "more than 64 files of images");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_files_are_one_set),
        cmocka_unit_test(test_of_two_labels_either_is_taken),
        cmocka_unit_test(test_another_length_is_refused),
        cmocka_unit_test(test_a_label_that_is_none_has_its_place),
        cmocka_unit_test(test_a_list_of_names_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
