/* secrets.h -- calls bytes undefined, and counts what valgrind has to say about it.
 *
 * memcheck complains when a branch or an address depends on undefined bytes, and lets arithmetic
 * pass; so undefined stands for secret.  The programs here are compiled like those that are
 * shipped, but for common/base/public.h, and run by `make valgrind` alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_VALGRIND_SECRETS_H
#define COLONNADE_TESTS_VALGRIND_SECRETS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <valgrind/memcheck.h>

static inline void hide(void *bytes, size_t n)
{
    VALGRIND_MAKE_MEM_UNDEFINED(bytes, n);
}

static inline void show(void *bytes, size_t n)
{
    VALGRIND_MAKE_MEM_DEFINED(bytes, n);
}

/* Did a secret go into these bytes?  Guards against tests that pass because nothing was hidden. */
static inline bool is_secret(const void *bytes, size_t n)
{
    uint8_t *bits = malloc(n);
    bool any = false;

    assert_int_equal(VALGRIND_GET_VBITS(bytes, bits, n), 1);
    for (size_t i = 0; i < n; i++)
        any |= bits[i] != 0;
    free(bits);
    return any;
}

/* Branches and addresses so far that depended on a secret. */
static inline unsigned slips(void)
{
    return VALGRIND_COUNT_ERRORS;
}

#define BRANCH_FREE(call)                                                                          \
    do {                                                                                           \
        unsigned before_ = slips();                                                                \
        call;                                                                                      \
        if (slips() != before_)                                                                    \
            fail_msg("%u branches on secrets: %s", slips() - before_, #call);                      \
    } while (0)

#define BRANCHES(call)                                                                             \
    do {                                                                                           \
        unsigned before_ = slips();                                                                \
        call;                                                                                      \
        if (slips() == before_)                                                                    \
            fail_msg("no branch on a secret was seen: %s", #call);                                 \
    } while (0)

/* Without valgrind these tests would pass whatever the code did. */
static inline int watched(void **state)
{
    (void)state;
    return RUNNING_ON_VALGRIND ? 0 : -1;
}

#endif
