/* test_secret.c -- wiping, comparing, and a process that leaves no core.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/secret.h"

#include "common/base/mem.h"
#include "common/crypto/sign.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
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

/* --- the arena --- */

enum { NOBODY = 65534, BLOCK = 1000 };

static bool locked;

static int open_arena(void **state)
{
    (void)state;
    return secret_arena_open(&locked) == STATUS_OK ? 0 : -1;
}

static void test_a_secret_is_gone_once_it_is_freed(void **state)
{
    static const uint8_t zeros[BLOCK];
    uint8_t *secret = secret_alloc(BLOCK / 4, 4), *again;

    (void)state;
    assert_non_null(secret);
    assert_memory_equal(secret, zeros, BLOCK);
    memset(secret, 0x5a, BLOCK);
    secret_free(secret, BLOCK / 4, 4);
    assert_null(memchr(secret, 0x5a, BLOCK)); /* the arena is still there; so would a thief read */
    again = secret_alloc(BLOCK, 1);
    assert_ptr_equal(again, secret);
    assert_memory_equal(again, zeros, BLOCK);
    secret_free(again, BLOCK, 1);
    secret_free(NULL, BLOCK, 1);
}

/* The flags of the mapping that an address lies in; "" when there is none. */
static void flags_of(const void *address, char out[256])
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long from, to, at = (unsigned long)(uintptr_t)address;
    char line[4096];
    bool here = false;

    assert_non_null(maps);
    out[0] = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            here = from <= at && at < to;
        if (here && strncmp(line, "VmFlags:", 8) == 0)
            snprintf(out, 256, "%.200s", line + 8);
    }
    fclose(maps);
}

static void test_the_arena_is_locked_undumped_and_not_inherited(void **state)
{
    uint8_t *secret = secret_alloc(1, BLOCK), *usual = mem_alloc(1, BLOCK);
    char flags[256];

    (void)state;
    flags_of(secret, flags);
    if (locked)
        assert_non_null(strstr(flags, " lo"));
    assert_non_null(strstr(flags, " dd"));
    assert_non_null(strstr(flags, " wf"));
    flags_of(usual, flags);
    assert_null(strstr(flags, " dd"));
    secret_free(secret, 1, BLOCK);
    mem_free(usual);
}

static void test_a_child_has_nothing_of_it(void **state)
{
    uint8_t *secret = secret_alloc(1, BLOCK);
    pid_t child;
    int how;

    (void)state;
    memset(secret, 0x5a, BLOCK);
    child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0)
        _exit(memchr(secret, 0x5a, BLOCK) != NULL);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_int_equal(secret[0], 0x5a);
    secret_free(secret, 1, BLOCK);
}

static void test_what_does_not_fit_is_nothing(void **state)
{
    uint64_t before = mem_count();

    (void)state;
    assert_null(secret_alloc(SIZE_MAX / 2 + 1, 2));
    assert_int_equal(mem_count(), before);
    assert_null(secret_alloc(2, SECRET_ARENA_BYTES));
    mem_fail_at(1);
    assert_null(secret_alloc(1, 1));
    secret_free(secret_alloc(1, 1), 1, 1);
    secret_free(secret_alloc(0, 1), 0, 1);
}

static void test_private_keys_of_the_library_lie_there_too(void **state)
{
    struct sign_key key;
    size_t before;

    (void)state;
    assert_int_equal(sign_key_generate(&key), STATUS_OK); /* and the library's generator */
    sign_key_deinit(&key);
    before = CRYPTO_secure_used();
    assert_int_equal(sign_key_generate(&key), STATUS_OK);
    assert_true(CRYPTO_secure_used() >= before + 32);
    sign_key_deinit(&key);
    assert_int_equal(CRYPTO_secure_used(), before);
}

/* In a child, which has made no arena yet: 0 locked, 1 not locked, 2 none. */
static int open_under(rlim_t limit)
{
    struct rlimit few = {limit, limit};
    pid_t child = fork();
    bool is_locked;
    int how;

    assert_int_not_equal(child, -1);
    if (child == 0) {
        if (setrlimit(RLIMIT_MEMLOCK, &few) != 0 || (geteuid() == 0 && setuid(NOBODY) != 0))
            _exit(3); /* the superuser has no limit */
        if (secret_arena_open(&is_locked) != STATUS_OK)
            _exit(2);
        _exit(is_locked ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how);
}

static void test_too_small_a_limit_is_told_and_a_sufficient_one_is_enough(void **state)
{
    struct rlimit now;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &now), 0);
    assert_int_equal(open_under(SECRET_ARENA_BYTES - 4096), 1);
    if (now.rlim_max >= SECRET_ARENA_BYTES)
        assert_int_equal(open_under(SECRET_ARENA_BYTES), 0);
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
        cmocka_unit_test(test_too_small_a_limit_is_told_and_a_sufficient_one_is_enough),
        cmocka_unit_test_setup(test_a_secret_is_gone_once_it_is_freed, open_arena),
        cmocka_unit_test_setup(test_the_arena_is_locked_undumped_and_not_inherited, open_arena),
        cmocka_unit_test_setup(test_a_child_has_nothing_of_it, open_arena),
        cmocka_unit_test_setup(test_what_does_not_fit_is_nothing, open_arena),
        cmocka_unit_test_setup(test_private_keys_of_the_library_lie_there_too, open_arena),
        cmocka_unit_test(test_wipe_clears_exactly_what_it_was_given),
        cmocka_unit_test(test_a_buffer_is_wiped_to_its_end_before_it_is_freed),
        cmocka_unit_test(test_equal_sees_any_differing_byte),
        cmocka_unit_test(test_hardened_process_leaves_no_core_and_cannot_be_traced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
