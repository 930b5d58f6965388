/* digest.c -- SHA-256 by OpenSSL, HMAC after RFC 2104.
 *
 * By the library's older functions, whose state the caller holds: they can neither allocate nor
 * fail, and what names rounds and moves keys on must not.  Its newer ones, HMAC among them,
 * allocate in every call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common/crypto/digest.h"

#include "common/base/check.h"
#include "common/crypto/secret.h"

#include <openssl/sha.h>
#include <string.h>

enum { BLOCK_BYTES = 64, INNER = 0x36, OUTER = 0x5c };

_Static_assert(sizeof(SHA256_CTX) <= sizeof((struct digest *)0)->state, "the state has its room");
_Static_assert(_Alignof(SHA256_CTX) <= _Alignof(struct digest), "and its place");

static SHA256_CTX *state_of(struct digest *d)
{
    return (SHA256_CTX *)d->state;
}

enum status digest_init(struct digest *d)
{
    digest_begin(d);
    return STATUS_OK;
}

void digest_deinit(struct digest *d)
{
    secret_wipe(d, sizeof *d);
}

void digest_begin(struct digest *d)
{
    CHECK(SHA256_Init(state_of(d)) == 1);
}

void digest_update(struct digest *d, const void *bytes, size_t n)
{
    CHECK(SHA256_Update(state_of(d), bytes, n) == 1);
}

void digest_final(struct digest *d, uint8_t out[DIGEST_BYTES])
{
    CHECK(SHA256_Final(out, state_of(d)) == 1);
}

void digest_sha256(uint8_t out[DIGEST_BYTES], const void *bytes, size_t n)
{
    struct digest d;

    digest_begin(&d);
    digest_update(&d, bytes, n);
    digest_final(&d, out);
    digest_deinit(&d);
}

static void toggle(uint8_t block[BLOCK_BYTES], uint8_t bits)
{
    for (int i = 0; i < BLOCK_BYTES; i++)
        block[i] ^= bits;
}

/* H(key ^ outer || H(key ^ inner || bytes)), a key of more than a block hashed first. */
void digest_hmac(uint8_t out[DIGEST_BYTES], const uint8_t *key, size_t key_len, const void *bytes,
                 size_t n)
{
    uint8_t block[BLOCK_BYTES] = {0}, inner[DIGEST_BYTES];
    struct digest d;

    if (key_len > BLOCK_BYTES)
        digest_sha256(block, key, key_len);
    else if (key_len > 0)
        memcpy(block, key, key_len);
    toggle(block, INNER);
    digest_begin(&d);
    digest_update(&d, block, sizeof block);
    digest_update(&d, bytes, n);
    digest_final(&d, inner);
    toggle(block, INNER ^ OUTER);
    digest_begin(&d);
    digest_update(&d, block, sizeof block);
    digest_update(&d, inner, sizeof inner);
    digest_final(&d, out);
    digest_deinit(&d);
    secret_wipe(block, sizeof block);
    secret_wipe(inner, sizeof inner);
}

void digest_hex(char *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = 0;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int digest_from_hex(uint8_t *out, size_t n, const char *hex)
{
    for (size_t i = 0; i < n; i++) {
        int high = digit_of(hex[2 * i]), low = high < 0 ? -1 : digit_of(hex[2 * i + 1]);
        if (low < 0)
            return 0;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return hex[2 * n] == 0;
}
