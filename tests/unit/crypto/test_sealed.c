/* test_sealed.c -- a sealed file opens for its key and only as it was written.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/crypto/sealed.h"

static char dir[64], path[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/colonnade-sealed.XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/file", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static const uint8_t key[SEALED_KEY_BYTES] = {1, 2, 3}, other_key[SEALED_KEY_BYTES] = {1, 2, 4};
static const char secret[] = "weights that memorise records";

static enum status open_with(const uint8_t *k, char label[SEALED_LABEL_MAX], struct buf *out)
{
    struct error err = {0};

    buf_init(out, 4096);
    return sealed_read(path, k, label, out, &err);
}

static void test_what_was_sealed_opens_with_its_label(void **state)
{
    char label[SEALED_LABEL_MAX];
    struct error err = {0};
    struct stat st;
    struct buf out;

    (void)state;
    assert_int_equal(sealed_write(path, key, "what it is", secret, sizeof secret, &err), STATUS_OK);
    assert_int_equal(open_with(key, label, &out), STATUS_OK);
    assert_string_equal(label, "what it is");
    assert_int_equal(out.len, sizeof secret);
    assert_memory_equal(out.data, secret, sizeof secret);
    buf_deinit(&out);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(open_with(other_key, label, &out), STATUS_CONFIG);
    buf_deinit(&out);
}

static void test_the_content_is_not_in_the_file_and_never_sealed_alike(void **state)
{
    struct error err = {0};
    struct buf one, two;

    (void)state;
    buf_init(&one, 4096);
    buf_init(&two, 4096);
    assert_int_equal(sealed_write(path, key, "x", secret, sizeof secret, &err), STATUS_OK);
    assert_int_equal(file_read(path, &one, &err), STATUS_OK);
    assert_null(memmem(one.data, one.len, secret, 8));
    assert_int_equal(sealed_write(path, key, "x", secret, sizeof secret, &err), STATUS_OK);
    assert_int_equal(file_read(path, &two, &err), STATUS_OK);
    assert_int_equal(one.len, two.len);
    assert_memory_not_equal(one.data + one.len - 32, two.data + two.len - 32, 32);
    buf_deinit(&one);
    buf_deinit(&two);
}

static void test_the_label_stands_in_the_file_before_nonce_content_and_tag(void **state)
{
    static const uint8_t head[] = {'V', 'F', 'L', 'S', 'E', 'A', 'L', '1', 5,
                                   0,   0,   0,   'l', 'a', 'b', 'e', 'l'};
    struct error err = {0};
    struct buf file;

    (void)state;
    buf_init(&file, 4096);
    assert_int_equal(sealed_write(path, key, "label", secret, sizeof secret, &err), STATUS_OK);
    assert_int_equal(file_read(path, &file, &err), STATUS_OK);
    assert_int_equal(file.len, sizeof head + 12 + sizeof secret + 16);
    assert_memory_equal(file.data, head, sizeof head);
    buf_deinit(&file);
}

/* A file that there is no memory for is not called damaged. */
static void test_short_memory_is_called_that(void **state)
{
    char label[SEALED_LABEL_MAX];
    struct error err = {0};
    struct buf out;

    (void)state;
    mem_fail_at(1);
    assert_int_equal(sealed_write(path, key, "label", secret, sizeof secret, &err), STATUS_MEMORY);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sealed_write(path, key, "label", secret, sizeof secret, &err), STATUS_OK);
    for (uint64_t n = 1; n <= 2; n++) { /* for the file, for its content */
        mem_fail_at(n);
        assert_int_equal(open_with(key, label, &out), STATUS_MEMORY);
        buf_deinit(&out);
    }
    mem_fail_at(0);
    assert_int_equal(open_with(key, label, &out), STATUS_OK);
    buf_deinit(&out);
}

static void test_every_flipped_bit_and_every_cut_is_refused(void **state)
{
    char label[SEALED_LABEL_MAX];
    struct error err = {0};
    struct buf good, out;

    (void)state;
    buf_init(&good, 4096);
    assert_int_equal(sealed_write(path, key, "label", secret, sizeof secret, &err), STATUS_OK);
    assert_int_equal(file_read(path, &good, &err), STATUS_OK);
    for (size_t i = 0; i < 8 * good.len; i++) {
        good.data[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(file_write_atomic(path, good.data, good.len, 0600, &err), STATUS_OK);
        assert_int_equal(open_with(key, label, &out), STATUS_CONFIG);
        buf_deinit(&out);
        good.data[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t n = 0; n < good.len; n++) {
        assert_int_equal(file_write_atomic(path, good.data, n, 0600, &err), STATUS_OK);
        assert_int_equal(open_with(key, label, &out), STATUS_CONFIG);
        buf_deinit(&out);
    }
    buf_deinit(&good);
}

static enum status load(const char *text, mode_t mode)
{
    uint8_t got[SEALED_KEY_BYTES];
    struct error err = {0};

    assert_int_equal(file_write_atomic(path, text, strlen(text), mode, &err), STATUS_OK);
    return sealed_key_load(got, path, &err);
}

static void test_a_key_that_is_made_is_new_and_for_its_owner_alone(void **state)
{
    uint8_t first[SEALED_KEY_BYTES], second[SEALED_KEY_BYTES], read[SEALED_KEY_BYTES];
    struct error err = {0};
    struct stat is;

    (void)state;
    assert_int_equal(sealed_key_make(first, path, &err), STATUS_OK);
    assert_int_equal(sealed_key_load(read, path, &err), STATUS_OK);
    assert_memory_equal(read, first, sizeof first);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0600);
    assert_int_equal(sealed_key_make(second, path, &err), STATUS_OK);
    assert_memory_not_equal(first, second, sizeof first);
    assert_int_equal(sealed_key_make(first, "/nonexistent/key", &err), STATUS_IO);
}

static void test_a_key_file_is_64_hexadecimal_digits_for_its_owner_alone(void **state)
{
    static const char hex[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
    char more[130] = {0};

    (void)state;
    assert_int_equal(load(hex, 0600), STATUS_OK);
    assert_int_equal(load(hex, 0640), STATUS_CONFIG);
    assert_int_equal(load(hex + 1, 0600), STATUS_CONFIG);
    assert_int_equal(load("", 0600), STATUS_CONFIG);
    memset(more, '\n', sizeof more - 1);
    memcpy(more, hex, sizeof hex - 1);
    assert_int_equal(load(more, 0600), STATUS_CONFIG); /* one's own fault, and not a peer's */
    more[sizeof more - 2] = 0;
    assert_int_equal(load(more, 0600), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_sealed_opens_with_its_label, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_content_is_not_in_the_file_and_never_sealed_alike,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_the_label_stands_in_the_file_before_nonce_content_and_tag, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short_memory_is_called_that, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_key_that_is_made_is_new_and_for_its_owner_alone,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_flipped_bit_and_every_cut_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_key_file_is_64_hexadecimal_digits_for_its_owner_alone, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
