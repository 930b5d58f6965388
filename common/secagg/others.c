/* others.c -- a shown sum less the own part; shown payloads but the own one.
 *
 * Codes are subtracted as integers, before anything is estimated: what is left is exactly what the
 * others' codes add up to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/others.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/crypto/secret.h"
#include "common/secagg/clear.h"
#include "common/secagg/lane.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 2048 }; /* a multiple of 8, so that chunks begin at whole bytes */

bool others_apart(const struct secagg_shape *s)
{
    return s->concat || s->encode.compressed;
}

uint32_t others_sum_width(const struct secagg_shape *s)
{
    return bits_width((uint64_t)s->encode.value_max * s->parties + 1);
}

static size_t chunk_at(size_t n, size_t at)
{
    return n - at < CHUNK ? n - at : CHUNK;
}

/* --- sums of codes --- */

/* The spare bits of the last byte. */
static bool filled_with_zeros(const uint8_t *shown, size_t n, uint32_t w)
{
    const size_t used = n * w % 8;

    return used == 0 || shown[bits_bytes(n, w) - 1] >> used == 0;
}

/* sum -= own; false when the others cannot have made what is left. */
static bool subtract(uint32_t *restrict sum, const uint32_t *restrict own, size_t n, uint32_t most)
{
    int strange = 0;

    for (size_t i = 0; i < n; i++) {
        strange |= (sum[i] < own[i]) | (sum[i] - own[i] > most);
        sum[i] -= own[i];
    }
    return !strange;
}

/* A replay that knows not its codes: the estimate of all, less what the codes stood for. */
static void less_values(const struct secagg_shape *s, float *out, const uint32_t *sum,
                        const float *own, size_t n)
{
    encode_estimate(&s->encode, out, sum, n, s->parties);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)((double)out[i] - (double)own[i]);
}

static enum status of_codes(const struct secagg_shape *s, float *out, const uint8_t *shown,
                            const float *own, size_t n, bool guessed, struct error *err)
{
    const uint32_t w = others_sum_width(s), most = s->encode.value_max * (s->parties - 1);
    uint32_t sum[CHUNK], q[CHUNK];
    enum status st = STATUS_OK;

    if (!filled_with_zeros(shown, n, w))
        return error_set(err, STATUS_PROTOCOL, "shown sums end in bits that are not 0");
    for (size_t at = 0, some; at < n && st == STATUS_OK; at += some) {
        some = chunk_at(n, at);
        bits_unpack32(sum, shown + bits_bytes(at, w), some, w);
        if (lane_max32(sum, some) > most + s->encode.value_max) {
            st =
                error_set(err, STATUS_PROTOCOL, "a shown sum above %u", most + s->encode.value_max);
        } else if (guessed) {
            less_values(s, out + at, sum, own + at, some);
        } else {
            CHECK(encode_codes(&s->encode, q, own + at, some));
            if (!subtract(sum, q, some, most))
                st = error_set(err, STATUS_PROTOCOL,
                               "a shown sum that cannot be with what this party sent");
            encode_estimate(&s->encode, out + at, sum, some, s->parties - 1);
        }
    }
    secret_wipe(q, sizeof q);
    secret_wipe(sum, sizeof sum); /* beside what is shown it gives q again */
    return st;
}

/* --- sums of floats --- */

/* M members cannot reach more than M F, rounded: every addition rounds towards or away from numbers
 * that are themselves at most that. */
static enum status of_floats(const struct secagg_shape *s, float *out, const uint8_t *shown,
                             const float *own, size_t n, struct error *err)
{
    const float max = (float)((double)encode_float_max(&s->encode) * s->parties);
    int strange = 0;

    memcpy(out, shown, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        strange |= !(fabsf(out[i]) <= max);
        out[i] = (float)((double)out[i] - (double)own[i]);
    }
    if (strange)
        return error_set(err, STATUS_PROTOCOL, "a shown sum that is not a number in [%g, %g]",
                         -(double)max, (double)max);
    return STATUS_OK;
}

/* --- payloads --- */

/* Member m's rows at their places in the rows of all. */
static void put_columns(const struct secagg_shape *s, float *out, const float *from, size_t n,
                        uint32_t width, uint32_t m)
{
    for (size_t r = 0; r < n / width; r++)
        memcpy(out + (r * s->parties + m) * width, from + r * width, width * sizeof *out);
}

static enum status of_payloads(const struct secagg_shape *s, float *out, const uint8_t *shown,
                               size_t n, uint32_t width, const struct secagg_round *r,
                               struct error *err)
{
    const size_t bytes = secagg_payload_bytes(AGGREGATION_CLEAR, s, n);
    float *one = r->scratch;

    CHECK(one != NULL && width > 0 && n % width == 0);
    memset(out, 0, (s->concat ? s->parties : 1) * n * sizeof *out);
    for (uint32_t m = 0; m < s->parties; m++) {
        enum status st;

        if (m == s->self)
            continue;
        st = clear_open(s, one, shown + m * bytes, n, m, r->dither, err);
        if (st != STATUS_OK) {
            error_wrap(err, "shown of member %u", m);
            return st;
        }
        if (s->concat)
            put_columns(s, out, one, n, width, m);
        for (size_t i = 0; i < n && !s->concat; i++)
            out[i] += one[i];
    }
    return STATUS_OK;
}

enum status others_estimate(const struct secagg_shape *s, float *out, const uint8_t *shown,
                            const float *own, size_t n, uint32_t width,
                            const struct secagg_round *r, struct error *err)
{
    if (others_apart(s))
        return of_payloads(s, out, shown, n, width, r, err);
    if (s->encode.integers)
        return of_codes(s, out, shown, own, n, r->replayed && encode_noisy(&s->encode), err);
    return of_floats(s, out, shown, own, n, err);
}
