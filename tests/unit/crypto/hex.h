/* hex.h -- expected bytes written as in the standards.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_CRYPTO_HEX_H
#define COLONNADE_TESTS_CRYPTO_HEX_H

#include "common/crypto/digest.h"

#include <string.h>

/* out[n] of exactly 2n digits. */
static inline void hex(uint8_t *out, size_t n, const char *digits)
{
    assert_int_equal(strlen(digits), 2 * n);
    assert_true(digest_from_hex(out, n, digits));
}

static inline void assert_hex(const uint8_t *got, size_t n, const char *digits)
{
    char text[1024];

    assert_true(2 * n < sizeof text);
    digest_hex(text, got, n);
    assert_string_equal(text, digits);
}

#endif
