/* secret.c -- wiping, comparing, and a process that leaves no core.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/secret.h"

#include <openssl/crypto.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void secret_wipe(void *bytes, size_t n)
{
    OPENSSL_cleanse(bytes, n);
}

int secret_equal(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

void secret_harden_process(void)
{
    struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
}
