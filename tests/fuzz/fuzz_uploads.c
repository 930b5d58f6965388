/* fuzz_uploads.c -- what members upload, to the server that adds it up, under every aggregation.
 *
 * Input: bytes 0 to 2 the aggregation, the encoding and bits, of gaussian then its grid and noise
 * (plan_feed.h); a byte of segments and what is shown, one of who uploads late, or not at all; the
 * rest are payloads and checks, member after member.
 *
 * Laws: sizes are those that the shape says, whatever is in them; a sum that is given out is finite
 * and what M members can reach; an upload is taken once; what a server shows is what was added up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/secagg/secagg.h"
#include "tests/fuzz/plan_feed.h"

#include <math.h>

enum { MEMBERS = 4, WIDTH = 2, VALUES = 3 * WIDTH, BYTES_MAX = 1 << 12 };

static struct plan plan_of(struct feed *f, enum plan_aggregation a)
{
    static const enum plan_encoding sums[] = {ENCODING_PBM, ENCODING_FIXED, ENCODING_GAUSSIAN};
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = WIDTH;
    p.shape.parties = MEMBERS;
    p.protocol.aggregation = a;
    p.protocol.encoding = a == AGGREGATION_CLEAR
                              ? (enum plan_encoding)feed_among(f, ENCODING_PBM, ENCODING_TOPK)
                          : a == AGGREGATION_FEDVS ? ENCODING_FIXED
                                                   : sums[feed_among(f, 0, 2)];
    p.protocol.bits = feed_among(f, 1, 8);
    p.protocol.fixed.bits = 2 + p.protocol.bits;
    p.protocol.pbm.trials = 1 << p.protocol.bits;
    p.protocol.fedvs.prime = p.protocol.bits % 2 == 0 ? PRIME_31 : PRIME_61;
    p.protocol.fedvs.x_bits = p.protocol.fedvs.w_bits = 4;
    p.protocol.fedvs.x_max = p.protocol.fedvs.w_max = 1;
    plan_feed_noise(f, &p);
    return p;
}

/* False when there is no such shape. */
static bool shape_of(struct feed *f, struct secagg_shape *s, enum plan_aggregation a)
{
    static const uint32_t features[MEMBERS] = {1, 2, 3, 1}, degree[MEMBERS] = {2, 1, 1, 1};
    const struct plan p = plan_of(f, a);
    const uint8_t choice = feed_byte(f);

    *s = (struct secagg_shape){.parties = MEMBERS,
                               .values_max = VALUES,
                               .segments = 1 + choice % 3,
                               .privacy = 1 + choice / 3 % 2,
                               .deal_rows_max = 1};
    s->concat = a == AGGREGATION_CLEAR && choice & 0x40;
    s->partial = a == AGGREGATION_CLEAR && choice & 0x80;
    s->shown = choice & 0x20 && !s->partial && a != AGGREGATION_FEDVS;
    if (encode_init(&s->encode, &p, MEMBERS) != STATUS_OK) {
        CHECK(p.protocol.encoding == ENCODING_GAUSSIAN); /* noise that no plan may have */
        return false;
    }
    if (a == AGGREGATION_FEDVS)
        CHECK(fedvs_terms_init(&s->terms, &p, MEMBERS, features, degree, NULL) == STATUS_OK);
    return secagg_width(a, s) > 0;
}

/* The most that one member's part of a sum can be. */
static float most_of_one(const struct secagg_shape *s, enum plan_aggregation a)
{
    if (a == AGGREGATION_FEDVS)
        return (float)ldexp((double)s->terms.bound, -(int)(s->terms.x_bits + s->terms.w_bits));
    if (s->encode.residues)
        return (float)ldexp(s->encode.step, (int)s->encode.sum_bits - 1);
    return s->encode.encoding == ENCODING_PBM ? 2 * s->encode.clip : s->encode.clip;
}

static void check_sum(const struct secagg_shape *s, enum plan_aggregation a, const float *sum,
                      size_t n)
{
    const float most = most_of_one(s, a) * (float)(a == AGGREGATION_FEDVS ? 1 : MEMBERS) * 1.001F;

    for (size_t i = 0; i < n; i++)
        CHECK(fabsf(sum[i]) <= most);
}

/* What is shown of a sum is what everybody makes of it again. */
static void check_shown(const struct secagg_shape *s, enum plan_aggregation a,
                        const struct secagg_server *server, const float *sum)
{
    static const uint8_t dither[SECAGG_KEY_BYTES] = "dither";
    static uint8_t shown[BYTES_MAX];
    static float scratch[BYTES_MAX], others[MEMBERS * VALUES];
    static const float own[VALUES];
    struct secagg_round r = {.dither = dither, .scratch = scratch};
    struct error err = {0};

    CHECK(secagg_shown_bytes(a, s, VALUES) <= sizeof shown);
    CHECK(secagg_scratch_bytes(s, VALUES) <= sizeof scratch);
    secagg_show(server, shown);
    CHECK(secagg_others(s, others, shown, own, VALUES, WIDTH, &r, &err) == STATUS_OK);
    for (size_t i = 0; i < VALUES && !s->concat && !s->encode.compressed; i++)
        CHECK(fabsf(others[i] - sum[i]) <= 1e-4F * (1 + fabsf(sum[i])));
}

/* One member's bytes, of exactly the size they must have. */
static enum status upload(struct feed *f, struct secagg_server *server,
                          const struct secagg_shape *s, enum plan_aggregation a, uint32_t member)
{
    uint8_t payload[BYTES_MAX], check[BYTES_MAX];
    struct error err = {0};
    enum status st, twice;

    CHECK(secagg_payload_bytes(a, s, VALUES) <= sizeof payload);
    CHECK(secagg_check_bytes(a, s) <= sizeof check);
    feed_bytes(f, payload, secagg_payload_bytes(a, s, VALUES));
    feed_bytes(f, check, secagg_check_bytes(a, s));
    st = secagg_add(server, member, payload, check, &err);
    CHECK(st == err.status && (st == STATUS_OK || st == STATUS_PROTOCOL));
    twice = secagg_add(server, member, payload, check, &err);
    CHECK(twice == STATUS_PROTOCOL);
    return st;
}

static void combine(struct secagg_server *server, const struct secagg_shape *s,
                    enum plan_aggregation a)
{
    static float sum[MEMBERS * VALUES];
    const uint8_t *faulty;
    struct error err = {0};
    size_t faulty_n = 0;
    enum status st = secagg_combine(server, sum, WIDTH, &err);

    CHECK(st == err.status && (st == STATUS_OK || st == STATUS_INTEGRITY));
    if (st != STATUS_OK) {
        feed_check_words(err.text);
        return;
    }
    check_sum(s, a, sum, s->concat ? MEMBERS * VALUES : VALUES);
    (void)secagg_verdict(server, &faulty, &faulty_n);
    CHECK(faulty_n <= (MEMBERS - secagg_quorum(server)) / 2);
    if (s->shown)
        check_shown(s, a, server, sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t dither[SECAGG_KEY_BYTES] = "dither";
    struct feed f = {data, size};
    const enum plan_aggregation a =
        (enum plan_aggregation)feed_among(&f, AGGREGATION_MASKED, AGGREGATION_CLEAR);
    struct secagg_server *server;
    struct secagg_shape s;
    uint8_t absent[PLAN_PARTIES_MAX], late;
    struct error err = {0};
    uint32_t taken = 0;
    enum status st;

    if (!shape_of(&f, &s, a))
        return 0;
    late = feed_byte(&f);
    st = secagg_server_new(&server, a, &s);
    if (st != STATUS_OK) {
        CHECK(st == STATUS_CONFIG);
        return 0;
    }
    secagg_begin(server, VALUES);
    secagg_dither(server, dither);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        if (!(late >> m & 1))
            taken += upload(&f, server, &s, a, m) == STATUS_OK;
    }
    CHECK(secagg_present(server, absent) == taken);
    if (taken >= secagg_quorum(server)) {
        combine(server, &s, a);
        for (uint32_t m = 0; m < MEMBERS && (a == AGGREGATION_CODED || a == AGGREGATION_FEDVS);
             m++) {
            uint8_t payload[BYTES_MAX];
            const size_t bytes = secagg_payload_bytes(a, &s, VALUES) + late / 16 % 2;

            feed_bytes(&f, payload, bytes);
            st = secagg_late(server, m, payload, bytes, &err);
            CHECK(st == STATUS_OK || st == STATUS_INTEGRITY || st == STATUS_PROTOCOL);
            CHECK(st != STATUS_OK || late / 16 % 2 == 0);
        }
    }
    secagg_server_free(server);
    return 0;
}
