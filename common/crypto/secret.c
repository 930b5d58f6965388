/* secret.c -- wiping, comparing, and a process that leaves no core.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/secret.h"

#include "common/base/check.h"

#include <openssl/crypto.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void secret_wipe(void *bytes, size_t n)
{
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

void secret_harden_process(void)
{
    struct rlimit none = {0, 0};

    CHECK(setrlimit(RLIMIT_CORE, &none) == 0);
#ifndef __SANITIZE_ADDRESS__ /* the leak checker at exit is a tracer */
    CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
#endif
}
