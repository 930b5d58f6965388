/* fuzz_shares.c -- what the other members seal for this one: by members with good keys who seal
 * what they like, and a server that carries it as it likes.
 *
 * Input: byte 0 the protocol, byte 1 segments and values or rows, byte 2 what the server does, byte
 * 3 to whose part; the rest is sealed, part after part.
 *
 * Laws: a part that was touched, or holds what is no element of the field, is refused and its
 * dealer named; any other is taken, once, in its round, and what comes of it are elements of the
 * field.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/secagg/coded.h"
#include "common/secagg/secagg.h"
#include "common/secagg/share.h"
#include "tests/fuzz/feed.h"

enum { MEMBERS = 3, SELF = 1, WIDTH = 2, VALUES_MAX = 16, ROWS = 2, PARTS_MAX = 1 << 12 };
enum deed { HONEST, FLIP_SEALED, FLIP_TAG, SWAP_TAGS, OTHER_ROUND, DEEDS };

struct table {
    enum plan_aggregation aggregation;
    struct secagg_shape shape;
    struct secagg_party *party;
    struct share_keys dealer[MEMBERS];
    struct feed feed;
    enum deed deed;
    uint32_t deed_to;
    /* The last round. */
    uint8_t sealed[PARTS_MAX], tags[MEMBERS * AEAD_TAG_BYTES];
    uint64_t round;
    uint32_t bad; /* the first whose part cannot be taken; SELF: nobody */
};

static const uint8_t sid[32] = "sid", view[32] = "view";

static struct secagg_round round_of(const struct table *t)
{
    return (struct secagg_round){.round = t->round, .sid = sid, .broadcast = view};
}

/* --- who sits there --- */

/* What members a and b share, as a holds it. */
static struct secagg_pair pair_of(uint32_t a, uint32_t b)
{
    struct secagg_pair p;

    memset(p.mask, 1, sizeof p.mask);
    memset(p.seal_to, (int)(16 * a + b + 1), sizeof p.seal_to);
    memset(p.seal_from, (int)(16 * b + a + 1), sizeof p.seal_from);
    return p;
}

static void make_shape(struct table *t, uint32_t choice)
{
    static const uint32_t features[MEMBERS] = {1, 2, 3}, degree[MEMBERS] = {2, 1, 1};
    struct secagg_shape *s = &t->shape;
    struct plan p;

    plan_defaults(&p);
    p.model.embedding = WIDTH;
    p.protocol.encoding = ENCODING_FIXED;
    p.protocol.fixed.bits = 2 + choice % 8;
    p.protocol.fedvs.prime = choice % 2 > 0 ? PRIME_31 : PRIME_61;
    p.protocol.fedvs.x_bits = p.protocol.fedvs.w_bits = 8;
    p.protocol.fedvs.x_max = p.protocol.fedvs.w_max = 1;
    *s = (struct secagg_shape){.parties = MEMBERS,
                               .self = SELF,
                               .values_max = VALUES_MAX,
                               .segments = 1 + choice % 2,
                               .privacy = 1,
                               .deal_rows_max = ROWS};
    CHECK(encode_init(&s->encode, &p, MEMBERS) == STATUS_OK);
    if (t->aggregation == AGGREGATION_FEDVS)
        CHECK(fedvs_terms_init(&s->terms, &p, MEMBERS, features, degree, NULL) == STATUS_OK);
}

static void sit_down(struct table *t)
{
    struct secagg_pair pairs[MEMBERS];

    for (uint32_t m = 0; m < MEMBERS; m++) {
        for (uint32_t k = 0; k < MEMBERS; k++)
            pairs[k] = pair_of(m, k);
        if (m == SELF)
            CHECK(secagg_party_new(&t->party, t->aggregation, &t->shape, pairs) == STATUS_OK);
        else
            CHECK(share_init(&t->dealer[m], MEMBERS, m, pairs) == STATUS_OK);
    }
}

static void rise(struct table *t)
{
    secagg_party_free(t->party);
    for (uint32_t m = 0; m < MEMBERS; m++)
        share_deinit(&t->dealer[m]);
}

/* --- what is sealed --- */

/* Elements of a part, and whether all of them are below the prime. */
static bool of_the_field(const struct table *t, enum secagg_part part, const uint8_t *bytes,
                         uint32_t from, size_t n)
{
    const struct fedvs_terms *terms = &t->shape.terms;
    uint32_t words[VALUES_MAX];
    uint64_t elements[VALUES_MAX];
    struct lcc code;
    bool good = true;

    if (t->aggregation == AGGREGATION_FEDVS) {
        n = terms->inputs[from] * (part == SECAGG_PART_DATA ? n : WIDTH);
        CHECK(n <= VALUES_MAX);
        terms->field->unpack(elements, bytes, n);
        for (size_t i = 0; i < n; i++)
            good = good && terms->field->get(elements, i) < terms->field->p;
        return good;
    }
    CHECK(coded_lcc_init(&code, &t->shape) == STATUS_OK);
    n = coded_upload_values(&t->shape, n);
    bits_naive_unpack(words, bytes, n, secagg_width(t->aggregation, &t->shape));
    for (size_t i = 0; i < n; i++)
        good = good && words[i] < code.field.p;
    lcc_deinit(&code);
    return good;
}

/* Of a dealer's subset keys, a place is used exactly where the receiver is in the set; with T = 1
 * the sets are all but one member, in the order of that one, and the lowest member of each deals:
 * 0 those of all but 1 and all but 2, 1 that of all but 0. */
static bool right_keys(const uint8_t *part, uint32_t from, size_t bytes)
{
    static const uint8_t none[SECAGG_KEY_BYTES];

    if (from != 0)
        return bytes == 0;
    CHECK(bytes == 2 * SECAGG_KEY_BYTES);
    return memcmp(part, none, sizeof none) == 0 &&
           memcmp(part + sizeof none, none, sizeof none) != 0;
}

/* One byte says how the part begins: as it comes, or as an honest one would. */
static void fill_part(struct table *t, enum secagg_part part, uint8_t *to, size_t bytes)
{
    const uint8_t how = feed_byte(&t->feed);

    feed_bytes(&t->feed, to, bytes);
    if (part == SECAGG_PART_KEYS && how % 2 == 0 && bytes == 2 * SECAGG_KEY_BYTES) {
        memset(to, 0, SECAGG_KEY_BYTES);
        to[SECAGG_KEY_BYTES] |= 1;
    }
}

/* All parts for this member, sealed by their dealers for the round. */
static void seal(struct table *t, enum secagg_part part, size_t n)
{
    const struct secagg_round r = round_of(t);
    uint8_t *at = t->sealed, *tag = t->tags;

    t->bad = SELF;
    CHECK(secagg_relay_bytes(t->aggregation, &t->shape, part, SELF, n) <= sizeof t->sealed);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        const size_t bytes = secagg_part_bytes(t->aggregation, &t->shape, part, m, n);

        if (m == SELF)
            continue;
        fill_part(t, part, at, bytes);
        if (t->bad == SELF && !(part == SECAGG_PART_KEYS ? right_keys(at, m, bytes)
                                                         : of_the_field(t, part, at, m, n)))
            t->bad = m;
        CHECK(share_begin(&t->dealer[m], &r) == STATUS_OK);
        share_seal(&t->dealer[m], SELF, at, bytes, tag);
        at += bytes;
        tag += AEAD_TAG_BYTES;
    }
}

/* --- what the server does to it --- */

static void blame(struct table *t, uint32_t member)
{
    t->bad = t->bad == SELF || member < t->bad ? member : t->bad;
}

static void touch(struct table *t, enum secagg_part part, size_t n)
{
    const uint32_t from = t->deed_to % 2 == 0 ? 0 : MEMBERS - 1;
    const size_t first = secagg_part_bytes(t->aggregation, &t->shape, part, 0, n),
                 bytes = secagg_part_bytes(t->aggregation, &t->shape, part, from, n);
    uint8_t *tag = t->tags + (from == 0 ? 0 : AEAD_TAG_BYTES), swap[AEAD_TAG_BYTES];

    switch (t->deed) {
    case FLIP_SEALED:
        if (bytes == 0)
            return;
        t->sealed[(from == 0 ? 0 : first) + t->deed_to / 2 % bytes] ^= 1;
        blame(t, from);
        break;
    case FLIP_TAG:
        tag[t->deed_to / 2 % AEAD_TAG_BYTES] ^= 0x80;
        blame(t, from);
        break;
    case SWAP_TAGS:
        memcpy(swap, t->tags, sizeof swap);
        memcpy(t->tags, t->tags + sizeof swap, sizeof swap);
        memcpy(t->tags + sizeof swap, swap, sizeof swap);
        blame(t, 0);
        break;
    case HONEST:
    case OTHER_ROUND:
    case DEEDS: break;
    }
}

/* The status there has to be, given what was sealed and what was done. */
static void judge(const struct table *t, enum status s, uint32_t faulty, const struct error *err)
{
    const enum status due = t->deed == OTHER_ROUND ? STATUS_PROTOCOL
                            : t->bad == SELF       ? STATUS_OK
                                                   : STATUS_AUTH;

    CHECK(s == due && err->status == s);
    CHECK(s != STATUS_AUTH || faulty == t->bad);
    if (s != STATUS_OK)
        feed_check_words(err->text);
}

/* --- rounds --- */

static bool coded(struct table *t, size_t n)
{
    static uint8_t payload[MEMBERS * PARTS_MAX], tags[MEMBERS * AEAD_TAG_BYTES];
    static const float x[VALUES_MAX];
    struct secagg_round r = round_of(t);
    struct error err = {0};
    uint32_t faulty;
    enum status s;

    CHECK(secagg_protect(t->party, payload, tags, x, n, &r, NULL) == STATUS_OK);
    seal(t, SECAGG_PART_ROUND, n);
    touch(t, SECAGG_PART_ROUND, n);
    r.round += t->deed == OTHER_ROUND;
    s = secagg_relay(t->party, payload, t->sealed, t->tags, n, &r, &faulty, &err);
    judge(t, s, faulty, &err);
    CHECK(s != STATUS_OK || of_the_field(t, SECAGG_PART_ROUND, payload, 0, n));
    CHECK(s == STATUS_PROTOCOL || secagg_relay(t->party, payload, t->sealed, t->tags, n, &r,
                                               &faulty, &err) == STATUS_PROTOCOL);
    return s == STATUS_OK;
}

static bool keys(struct table *t)
{
    static uint8_t sealed[PARTS_MAX], tags[MEMBERS * AEAD_TAG_BYTES];
    struct secagg_round r = round_of(t);
    struct error err = {0};
    uint32_t faulty;
    enum status s;

    CHECK(secagg_deal_keys(t->party, sealed, tags, &r) == STATUS_OK);
    seal(t, SECAGG_PART_KEYS, 0);
    touch(t, SECAGG_PART_KEYS, 0);
    r.round += t->deed == OTHER_ROUND;
    s = secagg_take_keys(t->party, t->sealed, t->tags, &r, &faulty, &err);
    judge(t, s, faulty, &err);
    return s == STATUS_OK;
}

static bool data(struct table *t, uint64_t *shares)
{
    static uint8_t sealed[PARTS_MAX], tags[MEMBERS * AEAD_TAG_BYTES];
    static const float x[VALUES_MAX];
    static const uint8_t key[RNG_KEY_BYTES];
    struct secagg_round r = round_of(t);
    struct error err = {0};
    struct rng masks;
    uint32_t faulty;
    enum status s;

    CHECK(rng_init_key(&masks, key) == STATUS_OK);
    CHECK(secagg_deal(t->party, sealed, tags, x, ROWS, &r, &masks) == STATUS_OK);
    rng_deinit(&masks);
    seal(t, SECAGG_PART_DATA, ROWS);
    touch(t, SECAGG_PART_DATA, ROWS);
    r.round += t->deed == OTHER_ROUND;
    s = secagg_take(t->party, shares, t->sealed, t->tags, ROWS, &r, &faulty, &err);
    judge(t, s, faulty, &err);
    return s == STATUS_OK;
}

static bool weights(struct table *t, const uint64_t *shares)
{
    static uint8_t payload[PARTS_MAX], tags[MEMBERS * AEAD_TAG_BYTES];
    static const float w[VALUES_MAX];
    static const uint32_t rows[ROWS] = {0, 1};
    static const uint8_t key[RNG_KEY_BYTES];
    const struct field *f = t->shape.terms.field;
    struct secagg_round r = round_of(t);
    uint64_t result[ROWS * WIDTH];
    struct error err = {0};
    struct rng noise;
    uint32_t faulty;
    enum status s;

    r.data = shares;
    r.coded = rows;
    r.coded_n = ROWS;
    CHECK(rng_init_key(&noise, key) == STATUS_OK);
    CHECK(secagg_protect(t->party, payload, tags, w, t->shape.terms.inputs[SELF] * WIDTH, &r,
                         &noise) == STATUS_OK);
    rng_deinit(&noise);
    seal(t, SECAGG_PART_ROUND, 0);
    touch(t, SECAGG_PART_ROUND, 0);
    r.round += t->deed == OTHER_ROUND;
    s = secagg_relay(t->party, payload, t->sealed, t->tags, ROWS * WIDTH, &r, &faulty, &err);
    judge(t, s, faulty, &err);
    if (s == STATUS_OK) {
        f->unpack(result, payload, ROWS * WIDTH);
        CHECK(f->valid(result, ROWS * WIDTH));
    }
    return s == STATUS_OK;
}

/* Keys, a chunk of data and a round; the server's deed is in one of them. */
static void fedvs(struct table *t, enum deed deed)
{
    static uint64_t shares[ROWS * VALUES_MAX];
    const uint32_t when = feed_among(&t->feed, 1, 3);
    const struct field *f = t->shape.terms.field;

    t->deed = when == 1 ? deed : HONEST;
    if (!keys(t))
        return;
    t->round++;
    t->deed = when == 2 ? deed : HONEST;
    if (!data(t, shares))
        return;
    CHECK(f->valid(shares, ROWS * t->shape.terms.inputs_n));
    t->round++;
    t->deed = when == 3 ? deed : HONEST;
    (void)weights(t, shares);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct table t = {.feed = {input, size}, .round = 1};
    uint32_t choice, n;
    enum deed deed;

    t.aggregation = feed_byte(&t.feed) % 2 == 0 ? AGGREGATION_CODED : AGGREGATION_FEDVS;
    choice = feed_byte(&t.feed);
    n = 1 + choice / 16;
    deed = (enum deed)feed_among(&t.feed, HONEST, DEEDS - 1);
    t.deed_to = feed_byte(&t.feed);
    make_shape(&t, choice);
    sit_down(&t);
    if (t.aggregation == AGGREGATION_FEDVS) {
        fedvs(&t, deed);
    } else {
        t.deed = deed;
        if (coded(&t, n)) {
            t.round++;
            (void)coded(&t, n);
        }
    }
    rise(&t);
    return 0;
}
