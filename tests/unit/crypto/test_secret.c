/* test_secret.c -- wiping, comparing, and a process that leaves no core.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/secret.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void test_wipe_clears_exactly_what_it_was_given(void **state)
{
    uint8_t bytes[66], want[66];

    (void)state;
    memset(bytes, 0xee, sizeof bytes);
    memset(want, 0, sizeof want);
    want[0] = want[65] = 0xee;
    secret_wipe(bytes + 1, 64);
    assert_memory_equal(bytes, want, sizeof bytes);
    secret_wipe(bytes, 0);
    assert_memory_equal(bytes, want, sizeof bytes);
}

/* Freed memory is read from outside, as a thief would. */
static void test_a_buffer_is_wiped_to_its_end_before_it_is_freed(void **state)
{
    enum { CAP = 4096, CHAINS = 64 /* bytes that the heap may use in a free block */ };
    static uint8_t left[CAP];
    struct iovec here = {left, CAP}, there = {NULL, CAP};
    struct buf b;

    (void)state;
    buf_init(&b, CAP);
    assert_int_equal(buf_reserve(&b, CAP), STATUS_OK);
    memset(b.data, 0x5a, CAP);
    b.len = 1;
    there.iov_base = b.data;
    secret_buf_deinit(&b);
    assert_null(b.data);
    assert_int_equal(process_vm_readv(getpid(), &here, 1, &there, 1, 0), CAP);
    assert_null(memchr(left + CHAINS, 0x5a, CAP - CHAINS));
    secret_buf_deinit(&b);
}

static void test_equal_sees_any_differing_byte(void **state)
{
    uint8_t a[32], b[32];

    (void)state;
    memset(a, 7, sizeof a);
    memset(b, 7, sizeof b);
    assert_int_equal(secret_equal(a, b, sizeof a), 1);
    for (size_t i = 0; i < sizeof a; i++) {
        b[i] ^= 0x80;
        assert_int_equal(secret_equal(a, b, sizeof a), 0);
        assert_int_equal(secret_equal(a, b, i), 1);
        b[i] ^= 0x80;
    }
}

static void test_hardened_process_leaves_no_core_and_cannot_be_traced(void **state)
{
    struct rlimit core;

    (void)state;
    secret_harden_process();
    assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
    assert_int_equal(core.rlim_cur, 0);
    assert_int_equal(core.rlim_max, 0);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wipe_clears_exactly_what_it_was_given),
        cmocka_unit_test(test_a_buffer_is_wiped_to_its_end_before_it_is_freed),
        cmocka_unit_test(test_equal_sees_any_differing_byte),
        cmocka_unit_test(test_hardened_process_leaves_no_core_and_cannot_be_traced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
