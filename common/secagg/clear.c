/* clear.c -- no protection: the measured baseline.
 *
 * Integers accumulate as they come, since their order cannot be seen in the sum.  Floats are kept
 * by member and added in member order, so that the sum does not depend on who was faster; concat
 * keeps whatever it gets by member.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/clear.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/crypto/secret.h"

#include <endian.h>
#include <string.h>

enum { FLOAT_BITS = 32 };

static uint32_t clear_width(const struct secagg_shape *s)
{
    if (!s->encode.integers)
        return FLOAT_BITS;
    if (!s->concat && (uint64_t)s->encode.value_max * s->parties > UINT32_MAX)
        return 0; /* the sums are held in 32 bits */
    return bits_width((uint64_t)s->encode.value_max + 1);
}

static uint32_t clear_checks(const struct secagg_shape *s)
{
    (void)s;
    return 0;
}

static enum status clear_party_init(struct secagg_party *p, const uint8_t *pair_keys)
{
    (void)p;
    (void)pair_keys;
    return STATUS_OK;
}

static void floats_to_bytes(uint8_t *out, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word;

        memcpy(&word, &y[i], sizeof word);
        word = htole32(word);
        memcpy(out + 4 * i, &word, sizeof word);
    }
}

static void floats_from_bytes(float *y, const uint8_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word;

        memcpy(&word, in + 4 * i, sizeof word);
        word = le32toh(word);
        memcpy(&y[i], &word, sizeof word);
    }
}

static enum status clear_protect(struct secagg_party *p, uint8_t *payload, uint8_t *check,
                                 const float *x, size_t n, const struct secagg_round *r,
                                 struct rng *noise)
{
    struct protocol_scratch *s = p->scratch;

    (void)check;
    (void)r;
    for (size_t take; n > 0; n -= take, x += take) {
        take = n < PROTOCOL_CHUNK ? n : PROTOCOL_CHUNK;
        if (p->shape.encode.integers) {
            encode_integers(&p->shape.encode, s->codes, x, take, noise);
            bits_pack32(payload, s->codes, take, p->width);
        } else {
            encode_floats(&p->shape.encode, s->reals, x, take, noise);
            floats_to_bytes(payload, s->reals, take);
        }
        payload += bits_bytes(take, p->width);
    }
    secret_wipe(s, sizeof *s);
    return STATUS_OK;
}

/* All codes are looked at before one is added: a refused upload leaves no trace in the sums. */
static enum status check_codes(struct secagg_server *p, const uint8_t *payload, struct error *err)
{
    const uint32_t top = p->shape.encode.value_max;

    for (size_t i = 0, take; i < p->n; i += take) {
        uint32_t largest = 0;

        take = p->n - i < PROTOCOL_CHUNK ? p->n - i : PROTOCOL_CHUNK;
        bits_unpack32(p->codes, payload + bits_bytes(i, p->width), take, p->width);
        for (size_t k = 0; k < take; k++)
            largest = p->codes[k] > largest ? p->codes[k] : largest;
        if (largest > top)
            return error_set(err, STATUS_PROTOCOL, "a code is above the largest (%lu > %lu)",
                             (unsigned long)largest, (unsigned long)top);
    }
    return STATUS_OK;
}

static enum status add_codes(struct secagg_server *p, float *slot, const uint8_t *payload,
                             struct error *err)
{
    enum status s = check_codes(p, payload, err);

    if (s != STATUS_OK)
        return s;
    for (size_t i = 0, take; i < p->n; i += take) {
        take = p->n - i < PROTOCOL_CHUNK ? p->n - i : PROTOCOL_CHUNK;
        bits_unpack32(p->codes, payload + bits_bytes(i, p->width), take, p->width);
        if (slot != NULL)
            encode_estimate(&p->shape.encode, slot + i, p->codes, take, 1);
        else
            for (size_t k = 0; k < take; k++)
                p->sums32[i + k] += p->codes[k];
    }
    return STATUS_OK;
}

static enum status add_floats(struct secagg_server *p, float *slot, const uint8_t *payload,
                              struct error *err)
{
    const float top = encode_float_max(&p->shape.encode);

    floats_from_bytes(slot, payload, p->n);
    for (size_t i = 0; i < p->n; i++) {
        if (!(slot[i] >= -top && slot[i] <= top)) /* also when it is no number */
            return error_set(err, STATUS_PROTOCOL, "value %zu is not a number in [-%g, %g]", i,
                             (double)top, (double)top);
    }
    return STATUS_OK;
}

static enum status clear_add(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                             const uint8_t *check, struct error *err)
{
    float *slot = p->slots == NULL ? NULL : p->slots + (size_t)member * p->shape.values_max;

    (void)check;
    return p->shape.encode.integers ? add_codes(p, slot, payload, err)
                                    : add_floats(p, slot, payload, err);
}

/* Row r of the result holds row r of every member, in member order. */
static void lay_side_by_side(const struct secagg_server *p, float *out, uint32_t width)
{
    const size_t parties = p->shape.parties;

    CHECK(width > 0 && p->n % width == 0);
    for (size_t m = 0; m < parties; m++) {
        const float *slot = p->slots + m * p->shape.values_max;

        for (size_t r = 0; r < p->n / width; r++)
            memcpy(out + (r * parties + m) * width, slot + r * width, width * sizeof *out);
    }
}

static enum status clear_combine(struct secagg_server *p, float *out, uint32_t width,
                                 struct error *err)
{
    (void)err;
    if (p->shape.concat) {
        lay_side_by_side(p, out, width);
    } else if (p->shape.encode.integers) {
        encode_estimate(&p->shape.encode, out, p->sums32, p->n, p->shape.parties);
    } else {
        memset(out, 0, p->n * sizeof *out);
        for (size_t m = 0; m < p->shape.parties; m++)
            for (size_t i = 0; i < p->n; i++)
                out[i] += p->slots[m * p->shape.values_max + i];
    }
    return STATUS_OK;
}

const struct secagg_protocol clear_protocol = {
    .width = clear_width,
    .checks = clear_checks,
    .party_init = clear_party_init,
    .protect = clear_protect,
    .add = clear_add,
    .combine = clear_combine,
};
