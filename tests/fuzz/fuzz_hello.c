/* fuzz_hello.c -- hellos as members with good keys may sign them: refused, or what they say has the
 * form that everything behind them takes for granted.
 *
 * Input: byte 0 how: 0, the rest is the body of one hello; else each of three members says numbers
 * of its own.  Laws: what is taken packs to the same bytes when it is shown again; sid changes with
 * the body; terms that exist keep every sum within the field, and their dealing walks every row
 * once.
 *
 * Signatures are stand-ins (tests/sim/fast_crypto.h): everything else is as in a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/dealing.h"
#include "tests/fuzz/plan_feed.h"

enum { MEMBERS = 3, FRAME_MAX = 4096 };

static const uint8_t plan_digest[WIRE_DIGEST_BYTES] = "plan";
static const uint8_t element[WIRE_ELEMENTS_BYTES] = "element";
static const struct agree_terms terms = {plan_digest, 7, element, plan_digest};

static struct sign_key key_of(uint32_t m)
{
    struct sign_key k = {0};

    memset(k.public_key, (int)m + 1, sizeof k.public_key);
    return k;
}

static struct roster_entry entry_of(uint32_t m)
{
    struct roster_entry e = {.name = "p1"};
    const struct sign_key k = key_of(m);

    e.name[1] = (char)('1' + m);
    sign_spki_digest(e.key, k.public_key);
    return e;
}

/* Signed, packed, unpacked and checked. */
static enum status say(struct agree_hello *kept, uint32_t m, const uint8_t *body, size_t n)
{
    static struct wire_unpacker u;
    const struct sign_key k = key_of(m);
    const struct roster_entry who = entry_of(m);
    uint8_t signature[WIRE_SIGNATURE_BYTES];
    struct wire_msg msg = {.kind = WIRE_HELLO}, got;
    struct buf frame, again;
    struct error err = {0};
    enum status s;

    if (u.block == NULL)
        CHECK(wire_unpacker_init(&u, FRAME_MAX) == STATUS_OK);
    CHECK(sign_make(signature, &k, "vfl/hello/2", body, n) == STATUS_OK);
    msg.hello =
        (struct wire_hello){.body = {body, n}, .public_key = k.public_key, .signature = signature};
    buf_init(&frame, FRAME_MAX);
    buf_init(&again, FRAME_MAX);
    CHECK(wire_pack(&frame, &msg) == STATUS_OK);
    s = wire_unpack(&got, &u, frame.data, frame.len, &err);
    if (s == STATUS_OK) {
        s = agree_check_hello(&got.hello, &who, &terms, &err);
        CHECK(s == STATUS_OK || s == STATUS_AUTH || s == STATUS_PROTOCOL);
    }
    if (s == STATUS_OK) {
        CHECK(strcmp(got.hello.name, who.name) == 0 && got.hello.generation == terms.generation);
        agree_keep_hello(kept, &got.hello);
        msg.hello = agree_show_hello(kept);
        CHECK(wire_pack(&again, &msg) == STATUS_OK && again.len == frame.len);
        CHECK(memcmp(again.data, frame.data, frame.len) == 0);
    } else {
        feed_check_words(err.text);
    }
    buf_deinit(&frame);
    buf_deinit(&again);
    return s;
}

static void check_kept(const struct agree_hello *h)
{
    CHECK((h->features > 0) == h->has_dealing && (h->degree > 0) == h->has_dealing);
    CHECK(h->has_holds == (h->held > 0) && (h->has_dealing || !h->has_holds));
    CHECK(h->features <= WIRE_FEATURES_MAX && h->degree <= WIRE_DEGREE_MAX);
    CHECK(h->ledger <= WIRE_LEDGER_MAX);
}

static void any_body(struct feed *f)
{
    static struct agree_hello kept[MEMBERS], other;
    uint8_t sid[WIRE_DIGEST_BYTES], changed[WIRE_DIGEST_BYTES], body[WIRE_HELLO_MAX];

    if (f->left > sizeof body || say(&kept[0], 0, f->at, f->left) != STATUS_OK)
        return;
    check_kept(&kept[0]);
    kept[1] = kept[2] = kept[0];
    agree_sid(sid, &terms, kept, MEMBERS);
    memcpy(body, f->at, f->left);
    body[f->left - 1] ^= 1;
    if (say(&other, 0, body, f->left) != STATUS_OK)
        return;
    kept[1] = other;
    agree_sid(changed, &terms, kept, MEMBERS);
    CHECK(memcmp(sid, changed, sizeof sid) != 0);
}

/* --- what numbers amount to --- */

static void check_dealing(const struct plan *p, const struct fedvs_terms *t)
{
    uint64_t next[2] = {0};
    struct dealing d;

    dealing_make(&d, p, t);
    CHECK(d.chunk_rows > 0 && d.chunks > 0 && d.chunks <= d.train_len + (uint64_t)d.test_len);
    for (uint64_t c = 0; c < d.chunks; c++) {
        const struct dealing_chunk k = dealing_chunk(&d, c);

        CHECK(k.first == next[k.test] && k.rows > 0 && k.rows <= d.chunk_rows);
        next[k.test] += k.rows;
    }
    CHECK(next[0] == d.train_len && next[1] == d.test_len);
}

static void check_terms(const struct plan *p, const struct agree_hello *hellos)
{
    struct fedvs_terms t;
    struct error err = {0};
    uint64_t inputs = 0;

    if (dealing_terms(&t, p, hellos, MEMBERS, &err) != STATUS_OK) {
        CHECK(err.status == STATUS_CONFIG && t.field == NULL);
        feed_check_words(err.text);
        return;
    }
    for (uint32_t m = 0; m < MEMBERS; m++) {
        CHECK(t.inputs[m] == hellos[m].features * hellos[m].degree);
        CHECK(fedvs_inputs_before(&t, m) == inputs);
        inputs += t.inputs[m];
    }
    CHECK(inputs == t.inputs_n && inputs * t.width <= PLAN_VALUES_MAX);
    CHECK(t.bound <= (t.field->p - 1) / 2);
    check_dealing(p, &t);
}

/* A digest, by the choice of a byte: none, one of two. */
static struct wire_bytes digest_of(struct feed *f, uint8_t digest[2][WIRE_DIGEST_BYTES])
{
    const uint8_t b = feed_byte(f);

    return b % 4 == 3 ? (struct wire_bytes){0}
                      : (struct wire_bytes){digest[b % 2], WIRE_DIGEST_BYTES};
}

static enum status say_numbers(struct feed *f, uint32_t m, struct agree_hello *kept,
                               uint8_t holds[2][WIRE_DIGEST_BYTES])
{
    static uint8_t dealings[2][WIRE_DIGEST_BYTES] = {"one", "two"};
    const struct roster_entry who = entry_of(m);
    struct wire_hello h = {.plan_digest = plan_digest,
                           .nonce = plan_digest,
                           .kex_public = dealings[0],
                           .elements = element,
                           .generation = terms.generation,
                           .train_rows = 9};
    struct buf body;
    enum status s;

    memcpy(h.name, who.name, sizeof h.name);
    h.features = plan_feed_size(f, 0, 8, UINT32_MAX);
    h.degree = plan_feed_size(f, 0, 9, UINT32_MAX);
    h.dealing = digest_of(f, dealings);
    h.holds = digest_of(f, holds);
    h.held = feed_number(f, 1);
    h.held |= h.held == 255 ? feed_number(f, 8) : 0;
    h.ledger = feed_number(f, 8);
    buf_init(&body, WIRE_HELLO_MAX);
    CHECK(wire_pack_hello_body(&body, &h) == STATUS_OK);
    s = say(kept, m, body.data, body.len);
    buf_deinit(&body);
    return s;
}

static void numbers(struct feed *f)
{
    static struct agree_hello kept[MEMBERS];
    uint8_t holds[2][WIRE_DIGEST_BYTES] = {{0}};
    struct feed again;
    struct plan p;

    plan_defaults(&p);
    plan_feed_protocol(f, &p);
    p.model.embedding = plan_feed_size(f, 1, 8, PLAN_WIDTH_MAX);
    p.shape.parties = MEMBERS;
    p.shape.train_rows = plan_feed_size(f, 1, 100, 1 << 20);
    p.shape.test_rows = plan_feed_size(f, 0, 100, 1 << 20);
    again = *f;
    for (uint32_t m = 0; m < MEMBERS; m++) {
        if (say_numbers(f, m, &kept[m], holds) != STATUS_OK)
            return;
        check_kept(&kept[m]);
        if (!kept[m].has_dealing)
            return;
    }
    check_terms(&p, kept);
    /* Once more by members who know what there is to hold. */
    dealing_holds(holds[1], kept, MEMBERS);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        if (say_numbers(&again, m, &kept[m], holds) != STATUS_OK)
            return;
    }
    for (uint32_t m = 0; m < MEMBERS; m++)
        CHECK(dealing_start(kept, MEMBERS) <= kept[m].held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};

    if (feed_byte(&f) == 0)
        any_body(&f);
    else
        numbers(&f);
    return 0;
}
