/* secret.c -- the arena of secrets, wiping, comparing, and a process that leaves no core.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/secret.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <openssl/crypto.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void secret_wipe(void *bytes, size_t n)
{
    if (n > 0)
        explicit_bzero(bytes, n); /* as wide as memset, which OPENSSL_cleanse is not */
}

void secret_buf_deinit(struct buf *b)
{
    if (b->data != NULL)
        secret_wipe(b->data, b->cap);
    buf_deinit(b);
}

int secret_equal(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

/* --- the arena --- */

enum { SMALLEST_BLOCK = 32, ARENA_LOCKED = 1 };

/* The library does not ask for this.  The whole arena, taken once, tells where it is. */
static bool wipe_on_fork(void)
{
    void *all = OPENSSL_secure_malloc(SECRET_ARENA_BYTES);
    bool done = all != NULL && madvise(all, SECRET_ARENA_BYTES, MADV_WIPEONFORK) == 0;

#ifdef __SANITIZE_ADDRESS__ /* what only the arena points to is no leak */
    if (all != NULL)
        __lsan_register_root_region(all, SECRET_ARENA_BYTES);
#endif
    OPENSSL_secure_free(all);
    return done;
}

enum status secret_arena_open(bool *locked)
{
    static int made;

    if (made == 0) {
        made = CRYPTO_secure_malloc_init(SECRET_ARENA_BYTES, SMALLEST_BLOCK);
        if (made != 0 && !wipe_on_fork())
            return STATUS_MEMORY;
    }
    *locked = made == ARENA_LOCKED;
    return made == 0 ? STATUS_MEMORY : STATUS_OK;
}

void *secret_alloc(size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes) || !mem_admit())
        return NULL;
    return OPENSSL_secure_zalloc(bytes == 0 ? 1 : bytes);
}

void secret_free(void *block, size_t n, size_t size)
{
    OPENSSL_secure_clear_free(block, n * size == 0 ? 1 : n * size);
}

/* --- the process --- */

void secret_harden_process(void)
{
    struct rlimit none = {0, 0};

    CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
#ifndef __SANITIZE_ADDRESS__ /* the leak checker at exit is a tracer */
    CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
#endif
}
