/* fuzz_shown.c -- what a server shows and what a member uploads, to whoever decodes it.
 *
 * Input: byte 0 the encoding and whether members are kept apart, byte 1 members and who of them
 * looks, byte 2 rows and width, byte 3 bits; the rest is what is shown, zeros at its end.
 *
 * Whatever is accepted is finite and within what all other members can reach.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/secagg/secagg.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4, PARTIES_MAX = 4, VALUES_MAX = 8 * 16, BYTES_MAX = PARTIES_MAX * 8 * VALUES_MAX };

static struct secagg_shape shape_of(const uint8_t *head, uint32_t *width, uint32_t *values)
{
    struct secagg_shape s = {.shown = true, .concat = (head[0] & 0x80) != 0};
    struct plan p;

    plan_defaults(&p);
    p.protocol.encoding = (enum plan_encoding)(head[0] % PLAN_ENCODINGS);
    p.protocol.bits = 1 + head[3] % 8;
    p.protocol.fixed.bits = 1 + head[3] % 24;
    p.protocol.pbm.trials = 1 + head[3];
    *width = 1 + head[2] % 8;
    *values = *width * (1 + head[2] / 8 % 16);
    p.model.embedding = *width;
    s.parties = 1 + head[1] % PARTIES_MAX;
    s.self = head[1] / PARTIES_MAX % s.parties;
    s.values_max = *values;
    CHECK(encode_init(&s.encode, &p, s.parties) == STATUS_OK);
    return s;
}

/* One member's part of an estimate is at most 2 C under pbm (beta 1/4), what the residues can say
 * under gaussian, C otherwise. */
static void expect_bounded(const struct secagg_shape *s, const float *y, size_t n, uint32_t members)
{
    const float one = s->encode.encoding == ENCODING_PBM ? 2 * s->encode.clip
                      : s->encode.residues
                          ? (float)ldexp(s->encode.step, (int)s->encode.sum_bits - 1)
                          : s->encode.clip;

    for (size_t i = 0; i < n; i++)
        CHECK(fabsf(y[i]) <= one * (float)members * 1.001F);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t dither[SECAGG_KEY_BYTES] = "fuzz";
    static uint8_t shown[BYTES_MAX];
    static float x[VALUES_MAX], own[VALUES_MAX], out[PARTIES_MAX * VALUES_MAX];
    static float scratch[BYTES_MAX];
    struct secagg_round round = {.dither = dither, .scratch = scratch};
    struct error err = {0};
    struct secagg_shape s;
    uint32_t width, n;
    size_t bytes;
    enum status st;

    if (size < HEAD)
        return 0;
    s = shape_of(data, &width, &n);
    bytes = secagg_shown_bytes(AGGREGATION_CLEAR, &s, n);
    CHECK(bytes > 0 && bytes <= sizeof shown && secagg_scratch_bytes(&s, n) <= sizeof scratch);
    memset(shown, 0, bytes);
    memcpy(shown, data + HEAD, size - HEAD < bytes ? size - HEAD : bytes);
    secagg_alone(&s, own, x, n, &round);
    st = secagg_others(&s, out, shown, own, n, width, &round, &err);
    CHECK(err.status == st && (st == STATUS_OK || st == STATUS_PROTOCOL));
    if (st == STATUS_OK) /* all codes, and the own part besides */
        expect_bounded(&s, out, s.concat ? (size_t)n * s.parties : n, s.parties + 1);
    err = (struct error){0};
    st = secagg_open(&s, out, shown, n, s.self, dither, &err);
    CHECK(err.status == st && (st == STATUS_OK || st == STATUS_PROTOCOL));
    if (st == STATUS_OK)
        expect_bounded(&s, out, n, 1);
    return 0;
}
