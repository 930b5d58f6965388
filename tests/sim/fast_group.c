/* fast_group.c -- points that are numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/fast_group.h"

#include "common/base/le.h"
#include "common/crypto/digest.h"
#include "common/field/fp61.h"

#include <string.h>

static const uint8_t rest[GROUP_BYTES - 8];

static uint64_t number(const uint8_t *bytes)
{
    return le_take(&bytes, 8) % FP61_P;
}

/* False: the identity. */
static bool put(uint8_t out[GROUP_BYTES], uint64_t v)
{
    memset(out, 0, GROUP_BYTES);
    le_put(out, v % FP61_P, 8);
    return v % FP61_P != 0;
}

static void hash(uint8_t out[DIGEST_BYTES], const char *label, const void *bytes, size_t n)
{
    struct digest d;

    digest_begin(&d);
    digest_update(&d, label, strlen(label) + 1);
    digest_update(&d, bytes, n);
    digest_final(&d, out);
    digest_deinit(&d);
}

enum status __wrap_group_hash(uint8_t out[GROUP_BYTES], const char *label, const void *bytes,
                              size_t n)
{
    uint8_t digest[DIGEST_BYTES];

    hash(digest, label, bytes, n);
    return put(out, number(digest)) ? STATUS_OK : STATUS_CRYPTO;
}

void __wrap_group_scalar(uint8_t out[GROUP_BYTES], const uint8_t random[GROUP_RANDOM_BYTES])
{
    (void)put(out, number(random));
}

void __wrap_group_scalar_hash(uint8_t out[GROUP_BYTES], const char *label, const void *bytes,
                              size_t n)
{
    (void)__wrap_group_hash(out, label, bytes, n);
}

void __wrap_group_scalar_add_product(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                                     const uint8_t b[GROUP_BYTES], const uint8_t c[GROUP_BYTES])
{
    (void)put(out, fp61_add(number(a), fp61_mul(number(b), number(c))));
}

bool __wrap_group_is_point(const uint8_t p[GROUP_BYTES])
{
    const uint8_t *at = p;
    const uint64_t v = le_take(&at, 8);

    return v > 0 && v < FP61_P && memcmp(at, rest, sizeof rest) == 0;
}

bool __wrap_group_raise(uint8_t out[GROUP_BYTES], const uint8_t scalar[GROUP_BYTES],
                        const uint8_t p[GROUP_BYTES])
{
    return __wrap_group_is_point(p) && put(out, fp61_mul(number(scalar), number(p)));
}

bool __wrap_group_raise_base(uint8_t out[GROUP_BYTES], const uint8_t scalar[GROUP_BYTES])
{
    return put(out, number(scalar));
}

static bool is_encoding(const uint8_t p[GROUP_BYTES])
{
    static const uint8_t identity[GROUP_BYTES];

    return __wrap_group_is_point(p) || memcmp(p, identity, sizeof identity) == 0;
}

bool __wrap_group_sum(uint8_t out[GROUP_BYTES], const uint8_t *points, size_t n)
{
    uint64_t sum = 0;
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        good = good && is_encoding(points + i * GROUP_BYTES);
        sum = fp61_add(sum, number(points + i * GROUP_BYTES));
    }
    (void)put(out, sum);
    return good;
}

bool __wrap_group_subtract(uint8_t out[GROUP_BYTES], const uint8_t a[GROUP_BYTES],
                           const uint8_t b[GROUP_BYTES])
{
    return __wrap_group_is_point(a) && __wrap_group_is_point(b) &&
           put(out, fp61_sub(number(a), number(b)));
}
