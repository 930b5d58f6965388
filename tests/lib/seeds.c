/* seeds.c -- one input, compared or written.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/lib/seeds.h"

#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void write_seed(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static bool holds(const char *path, const void *bytes, size_t n)
{
    uint8_t *there = mem_alloc(n + 1, 1);
    FILE *file = fopen(path, "rb");
    bool same;

    assert_non_null(there);
    same = file != NULL && fread(there, 1, n + 1, file) == n && memcmp(there, bytes, n) == 0;
    if (file != NULL)
        fclose(file);
    mem_free(there);
    return same;
}

void seeds_hold(const char *target, const char *name, const void *bytes, size_t n)
{
    char path[256];

    snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s", target, name);
    if (getenv("SEEDS_WRITE") != NULL)
        write_seed(path, bytes, n);
    if (!holds(path, bytes, n))
        fail_msg("%s is not what this test prints: SEEDS_WRITE=1 has it written", path);
}
