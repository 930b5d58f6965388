/* test_room.c -- memory that two processes see.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static void test_what_one_writes_the_other_sees_and_neither_changes_its_size(void **state)
{
    struct room r = {.fd = -1};
    uint8_t *other;

    (void)state;
    assert_int_equal(room_make(&r, 100), STATUS_OK);
    other = mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, 0);
    assert_true(other != MAP_FAILED);
    assert_int_equal(r.at[99], 0);
    other[99] = 7;
    assert_int_equal(r.at[99], 7);
    assert_int_not_equal(ftruncate(r.fd, 0), 0);
    assert_int_not_equal(ftruncate(r.fd, 1 << 20), 0);
    munmap(other, 100);
    room_free(&r);
    assert_int_equal(r.fd, -1);
    assert_null(r.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_one_writes_the_other_sees_and_neither_changes_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
