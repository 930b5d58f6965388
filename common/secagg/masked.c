/* masked.c -- pairwise masks over w-bit integers, and the check elements that prove they cancelled.
 *
 * A lane is 16 bits wide when w <= 16, else 32; arithmetic on lanes wraps at their own width, of
 * which 2^w is a divisor, and packing keeps the low w bits.  The check elements are zeros masked by
 * the words that follow those of the values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/masked.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/crypto/secret.h"

#include <string.h>

enum { NARROW = 16, WIDTH_MAX = 32 };

static uint32_t masked_width(const struct secagg_shape *s)
{
    const uint64_t parties = s->parties, top = s->encode.value_max;
    uint32_t w;

    if (!s->encode.integers || s->concat)
        return 0;
    if (s->encode.encoding == ENCODING_FIXED)
        w = bits_width(parties * (top + 1)) + 1;
    else
        w = bits_width(parties * top + 1);
    return w <= WIDTH_MAX ? w : 0;
}

static uint32_t masked_checks(const struct secagg_shape *s)
{
    const uint32_t w = masked_width(s);

    return w == 0 ? 0 : (64 + w - 1) / w;
}

static enum status masked_party_init(struct secagg_party *p, const uint8_t *pair_keys)
{
    return mask_init(&p->mask, p->shape.parties, p->shape.self, pair_keys);
}

/* codes[n] -> out, masked and packed; n <= PROTOCOL_CHUNK. */
static void mask_and_pack(struct secagg_party *p, uint8_t *out, size_t n)
{
    struct protocol_scratch *s = p->scratch;

    if (p->width > NARROW) {
        mask_add32(&p->mask, s->codes, n);
        bits_pack32(out, s->codes, n, p->width);
        return;
    }
    for (size_t i = 0; i < n; i++)
        s->lanes[i] = (uint16_t)s->codes[i];
    mask_add16(&p->mask, s->lanes, n);
    bits_pack16(out, s->lanes, n, p->width);
}

static enum status masked_protect(struct secagg_party *p, uint8_t *payload, uint8_t *check,
                                  const float *x, size_t n, const struct secagg_round *r,
                                  struct rng *noise)
{
    struct protocol_scratch *s = p->scratch;

    mask_open(&p->mask, r);
    for (size_t take; n > 0; n -= take, x += take) {
        take = n < PROTOCOL_CHUNK ? n : PROTOCOL_CHUNK;
        encode_integers(&p->shape.encode, s->codes, x, take, noise);
        mask_and_pack(p, payload, take);
        payload += bits_bytes(take, p->width);
    }
    memset(s->codes, 0, p->checks * sizeof s->codes[0]);
    mask_and_pack(p, check, p->checks);
    secret_wipe(s, sizeof *s);
    return STATUS_OK;
}

static enum status masked_add(struct secagg_server *p, uint32_t member, const uint8_t *payload,
                              const uint8_t *check, struct error *err)
{
    (void)member;
    (void)err; /* any w-bit value is a possible masked one */
    if (p->sums16 != NULL)
        bits_add16(p->sums16, payload, p->n, p->width);
    else
        bits_add32(p->sums32, payload, p->n, p->width);
    bits_add32(p->check_sums, check, p->checks, p->width);
    return STATUS_OK;
}

static uint32_t largest_sum(const struct secagg_server *p)
{
    uint16_t narrow = 0;
    uint32_t wide = 0;

    if (p->sums16 != NULL)
        for (size_t i = 0; i < p->n; i++)
            narrow = p->sums16[i] > narrow ? p->sums16[i] : narrow;
    else
        for (size_t i = 0; i < p->n; i++)
            wide = p->sums32[i] > wide ? p->sums32[i] : wide;
    return p->sums16 != NULL ? narrow : wide;
}

static void estimate(struct secagg_server *p, float *out)
{
    const struct secagg_shape *shape = &p->shape;

    if (p->sums16 == NULL) {
        encode_estimate(&shape->encode, out, p->sums32, p->n, shape->parties);
        return;
    }
    for (size_t i = 0, take; i < p->n; i += take) {
        take = p->n - i < PROTOCOL_CHUNK ? p->n - i : PROTOCOL_CHUNK;
        for (size_t k = 0; k < take; k++)
            p->codes[k] = p->sums16[i + k];
        encode_estimate(&shape->encode, out + i, p->codes, take, shape->parties);
    }
}

static enum status masked_combine(struct secagg_server *p, float *out, uint32_t width,
                                  struct error *err)
{
    const uint64_t top = (uint64_t)p->shape.encode.value_max * p->shape.parties;
    const uint32_t largest = largest_sum(p);
    uint32_t rest = 0;

    (void)width;
    for (uint32_t i = 0; i < p->checks; i++)
        rest |= p->check_sums[i];
    if (rest != 0)
        return error_set(
            err, STATUS_INTEGRITY,
            "check elements do not vanish: a member saw another broadcast, or sent other masks");
    if (largest > top)
        return error_set(err, STATUS_INTEGRITY,
                         "a sum is above what %u members can reach: %lu > %llu", p->shape.parties,
                         (unsigned long)largest, (unsigned long long)top);
    estimate(p, out);
    return STATUS_OK;
}

const struct secagg_protocol masked_protocol = {
    .width = masked_width,
    .checks = masked_checks,
    .lanes16 = true,
    .party_init = masked_party_init,
    .protect = masked_protect,
    .add = masked_add,
    .combine = masked_combine,
};
