/* openssl_mem.c -- an allocator for OpenSSL in programs of one thread.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/openssl_mem.h"

#include "common/base/check.h"

#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdlib.h>

static uint64_t left;
static size_t lacking;
static int64_t blocks;

static bool refused(size_t n)
{
    if (lacking > 0 && n == lacking)
        return true;
    return left > 0 && --left == 0;
}

static void *take(size_t n, const char *file, int line)
{
    void *block;

    (void)file, (void)line;
    if (n == 0 || refused(n))
        return NULL;
    block = malloc(n);
    blocks += block != NULL;
    return block;
}

static void give(void *block, const char *file, int line)
{
    (void)file, (void)line;
    blocks -= block != NULL;
    free(block);
}

static void *change(void *block, size_t n, const char *file, int line)
{
    if (block == NULL)
        return take(n, file, line);
    if (n == 0) {
        give(block, file, line);
        return NULL;
    }
    return refused(n) ? NULL : realloc(block, n);
}

void openssl_mem_init(void)
{
    CHECK(CRYPTO_set_mem_functions(take, change, give) == 1);
}

void openssl_mem_fail_at(uint64_t n)
{
    left = n;
}

void openssl_mem_fail_size(size_t n)
{
    lacking = n;
}

uint64_t openssl_mem_fail_left(void)
{
    return left;
}

int64_t openssl_mem_live(void)
{
    return blocks;
}
