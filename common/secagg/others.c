/* others.c -- a shown sum less the own part; shown payloads but the own one.
 *
 * The own part holds no noise (alone.c), so what is left is a function of what was released and of
 * the party's data.  And what is refused is refused for what is shown alone, before the own part is
 * looked at: were a sum refused for not being with the own code, a server that shows one sum after
 * the other would be told that code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/others.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/secagg/clear.h"
#include "common/secagg/lane.h"

#include <string.h>

enum { CHUNK = 2048 }; /* a multiple of 8, so that chunks begin at whole bytes */

bool others_apart(const struct secagg_shape *s)
{
    return s->concat || s->encode.compressed;
}

uint32_t others_sum_width(const struct secagg_shape *s)
{
    return s->encode.sum_bits;
}

static size_t chunk_at(size_t n, size_t at)
{
    return n - at < CHUNK ? n - at : CHUNK;
}

/* --- sums of codes --- */

/* out -= own; rounded once, from an exact difference or nearly so. */
static void take_own(float *restrict out, const float *restrict own, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)((double)out[i] - (double)own[i]);
}

static enum status of_codes(const struct secagg_shape *s, float *out, const struct others_of *o,
                            struct error *err)
{
    const uint32_t w = others_sum_width(s);
    uint32_t sum[CHUNK];

    if (!bits_clean(o->shown, o->n, w))
        return error_set(err, STATUS_PROTOCOL, "shown sums end in bits that are not 0");
    for (size_t at = 0, some; at < o->n; at += some) {
        some = chunk_at(o->n, at);
        bits_unpack32(sum, o->shown + bits_bytes(at, w), some, w);
        if (!encode_is_sum(&s->encode, sum, some))
            return error_set(err, STATUS_PROTOCOL, "a shown sum above %llu",
                             (unsigned long long)s->encode.span);
        encode_estimate(&s->encode, out + at, sum, some, s->parties);
    }
    take_own(out, o->own, o->n);
    return STATUS_OK;
}

/* --- sums of floats --- */

/* M members cannot reach more than M C, rounded: every addition rounds towards or away from numbers
 * that are themselves at most that. */
static enum status of_floats(const struct secagg_shape *s, float *out, const struct others_of *o,
                             struct error *err)
{
    const float max = (float)((double)s->encode.clip * s->parties);

    memcpy(out, o->shown, o->n * sizeof *out);
    if (!lane_within(out, o->n, max))
        return error_set(err, STATUS_PROTOCOL, "a shown sum that is not a number in [%g, %g]",
                         -(double)max, (double)max);
    take_own(out, o->own, o->n);
    return STATUS_OK;
}

/* --- payloads --- */

/* Member m's rows at their places in the rows of all. */
static void put_columns(const struct secagg_shape *s, float *out, const float *from,
                        const struct others_of *o, uint32_t m)
{
    for (size_t r = 0; r < o->n / o->width; r++)
        memcpy(out + (r * s->parties + m) * o->width, from + r * o->width, o->width * sizeof *out);
}

static enum status of_payloads(const struct secagg_shape *s, float *out, const struct others_of *o,
                               struct error *err)
{
    const size_t bytes = secagg_payload_bytes(AGGREGATION_CLEAR, s, o->n);
    float *one = o->round->scratch;

    CHECK(one != NULL && o->width > 0 && o->n % o->width == 0);
    memset(out, 0, (s->concat ? s->parties : 1) * o->n * sizeof *out);
    for (uint32_t m = 0; m < s->parties; m++) {
        const struct clear_upload u = {o->shown + m * bytes, o->n, m, o->round->dither};
        enum status st;

        if (m == s->self)
            continue;
        st = clear_open(s, one, &u, err);
        if (st != STATUS_OK) {
            error_wrap(err, "shown of member %u", m);
            return st;
        }
        if (s->concat)
            put_columns(s, out, one, o, m);
        for (size_t i = 0; i < o->n && !s->concat; i++)
            out[i] += one[i];
    }
    return STATUS_OK;
}

enum status others_estimate(const struct secagg_shape *s, float *out, const struct others_of *o,
                            struct error *err)
{
    if (others_apart(s))
        return of_payloads(s, out, o, err);
    return s->encode.integers ? of_codes(s, out, o, err) : of_floats(s, out, o, err);
}
