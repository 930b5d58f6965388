/* fields.c -- the rows of each message, and the rules of those that need one.
 *
 * A row is written by macros that name the field once and refuse to compile when its type on either
 * side is not what the kind of row stands for.  That no field is forgotten and none has two rows is
 * for tests/unit/wire/test_fields.c to say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/fields.h"

#include "common/wire/purpose.h"

#include "proto/vfl.pb-c.h"

#include <string.h>

/* Offset of member m, which is of this type, in a struct of protobuf's or of ours. */
#define AT(s, m, type) _Generic(((s *)0)->m, type : offsetof(s, m))
#define ROW(P, w, m, ptype, wtype)                                                                 \
    .there = AT(Vfl__##P, m, ptype), .here = AT(struct wire_##w, m, wtype)
#define FROM(least_, most_, unit_) .least = least_, .most = most_, .unit = unit_
#define ROOM(w, m) (sizeof((struct wire_##w *)0)->m - 1) /* characters */

#define U32(P, w, m) FIELD_U32, ROW(P, w, m, uint32_t, uint32_t), FROM(0, UINT32_MAX, 1)
#define U64(P, w, m) FIELD_U64, ROW(P, w, m, uint64_t, uint64_t), FROM(0, SIZE_MAX, 1)
#define FLAG(P, w, m) FIELD_FLAG, ROW(P, w, m, protobuf_c_boolean, bool), FROM(0, 1, 1)
#define PURPOSE(P, w, last)                                                                        \
    FIELD_U32, ROW(P, w, purpose, Vfl__Purpose, enum wire_purpose), FROM(PURPOSE_TRAIN, last, 1)
#define FAULT(P, w, first)                                                                         \
    FIELD_U32, ROW(P, w, kind, uint32_t, enum status_kind), FROM(first, STATUS_KIND_LOCAL, 1)
#define FIXED(P, w, m, n)                                                                          \
    FIELD_FIXED, ROW(P, w, m, ProtobufCBinaryData, const uint8_t *), FROM(n, n, n)
#define BYTES(P, w, m) FIELD_BYTES, ROW(P, w, m, ProtobufCBinaryData, struct wire_bytes)
#define PAYLOAD(P, w, m, least, unit)                                                              \
    BYTES(P, w, m), FROM(least, WIRE_PAYLOAD_MAX, unit), .payload = true
#define TEXT(P, w, m, first_, last_)                                                               \
    FIELD_TEXT, ROW(P, w, m, char *, char *), FROM(1, ROOM(w, m), 1), .first = first_, .last = last_
#define WORDS(P, w, m) FIELD_WORDS, ROW(P, w, m, char *, char *), FROM(0, ROOM(w, m), 1)
#define LIST(P, w, Item, m)                                                                        \
    FIELD_LIST, ROW(P, w, m, Vfl__##Item **, const struct wire_##m *),                             \
        .there_n = AT(Vfl__##P, n_##m, size_t), .here_n = AT(struct wire_##w, n, size_t),          \
        .room = AT(struct wire_unpacker, w, struct wire_##m *), FROM(1, WIRE_MEMBERS_MAX, 1)
#define MESSAGE(name, number, m, w)                                                                \
    name, number, &vfl__##m##__descriptor, sizeof(struct wire_##w), m, sizeof m / sizeof *m
#define BODY(KIND, m, w) MESSAGE(#m, VFL__FRAME__BODY_##KIND, m, w)

static const struct field join[] = {
    {U32(Join, join, version)},
    {FIXED(Join, join, roster_digest, WIRE_DIGEST_BYTES)},
    {U64(Join, join, applied)},
    {U64(Join, join, kept)},
    {FIXED(Join, join, trail, WIRE_DIGEST_BYTES)},
    {FLAG(Join, join, resumes)},
    {U64(Join, join, generation)},
    {FLAG(Join, join, keeps)},
    {U32(Join, join, min_parties)},
    {U64(Join, join, kept_before)},
    {FLAG(Join, join, between_jobs)},
};

/* A kind is compared with names: nothing but small letters, so that each has one form. */
static const struct field job[] = {
    {TEXT(Job, job, kind, 'a', 'z')},
    {BYTES(Job, job, text), FROM(1, WIRE_JOB_TEXT_MAX, 1)},
};
static const struct message offered_job = {MESSAGE("offer", 0, job, job), NULL};

static const struct field offer[] = {
    {U64(Offer, offer, generation)},
    {FIELD_MESSAGE, ROW(Offer, offer, job, Vfl__Job *, struct wire_job), FROM(1, 1, 1),
     .inside = &offered_job},
    {BYTES(Offer, offer, members), FROM(1, WIRE_MEMBERS_MAX, 1)},
    {U64(Offer, offer, step)},
    {FIXED(Offer, offer, element, WIRE_ELEMENT_BYTES)},
    {FIXED(Offer, offer, playing, WIRE_DIGEST_BYTES)},
    {U64(Offer, offer, best)},
};

static const struct field behind[] = {
    {U64(Behind, behind, generation)},
    {U64(Behind, behind, applied)},
};

/* Whether these are whole gradients, and no more than fit, is for those to say who know the plan.
 */
static const struct field replay[] = {
    {U64(Replay, replay, generation)},
    {U64(Replay, replay, step)},
    {PAYLOAD(Replay, replay, gradient, sizeof(float), sizeof(float))},
};

static const struct field hello_body[] = {
    {FIXED(HelloBody, hello, plan_digest, WIRE_DIGEST_BYTES)},
    {U64(HelloBody, hello, generation)},
    {TEXT(HelloBody, hello, name, '!', '~')},
    {FIXED(HelloBody, hello, nonce, WIRE_KEY_BYTES)},
    {FIXED(HelloBody, hello, kex_public, WIRE_KEY_BYTES)},
    {U32(HelloBody, hello, train_rows)},
    {U32(HelloBody, hello, test_rows)},
    {U32(HelloBody, hello, features)},
    {U32(HelloBody, hello, degree)},
    {BYTES(HelloBody, hello, dealing), FROM(0, WIRE_DIGEST_BYTES, WIRE_DIGEST_BYTES)},
    {BYTES(HelloBody, hello, holds), FROM(0, WIRE_DIGEST_BYTES, WIRE_DIGEST_BYTES)},
    {U64(HelloBody, hello, held)},
    {U64(HelloBody, hello, ledger)},
    {FIXED(HelloBody, hello, elements, WIRE_ELEMENTS_BYTES)},
};

static const struct field hello[] = {
    {FIXED(Hello, hello, public_key, WIRE_KEY_BYTES)},
    {FIXED(Hello, hello, signature, WIRE_SIGNATURE_BYTES)},
    {BYTES(Hello, hello, body), FROM(1, WIRE_HELLO_MAX, 1), .inside = &fields_hello_body},
};

static const struct field hellos[] = {
    {U64(Hellos, hellos, generation)},
    {LIST(Hellos, hellos, Hello, hello), .inside = &fields_messages[WIRE_HELLO]},
};

static const struct field confirm[] = {
    {FIXED(Confirm, confirm, sid, WIRE_DIGEST_BYTES)},
    {FIXED(Confirm, confirm, proofs, WIRE_PROOFS_BYTES)},
    {FIXED(Confirm, confirm, marks, WIRE_PROOFS_BYTES)},
    {FIXED(Confirm, confirm, signature, WIRE_SIGNATURE_BYTES)},
    {U64(Confirm, confirm, generation)},
    {BYTES(Confirm, confirm, seen),
     FROM(WIRE_SEEN_BYTES, WIRE_SEEN_BYTES *WIRE_MEMBERS_MAX, WIRE_SEEN_BYTES)},
};

static const struct field confirms[] = {
    {U64(Confirms, confirms, generation)},
    {FIXED(Confirms, confirms, proof, WIRE_PROOF_BYTES)},
    {LIST(Confirms, confirms, Confirm, confirm), .inside = &fields_messages[WIRE_CONFIRM]},
};

static const char absentees[] = "broadcast: absent members";

static const struct field broadcast[] = {
    {U64(Broadcast, broadcast, generation)},
    {FLAG(Broadcast, broadcast, closes)},
    {U64(Broadcast, broadcast, close_step)},
    {PAYLOAD(Broadcast, broadcast, gradient, 0, sizeof(float))},
    {FLAG(Broadcast, broadcast, opens)},
    {PURPOSE(Broadcast, broadcast, PURPOSE_DEAL_DATA)},
    {U64(Broadcast, broadcast, round)},
    {U64(Broadcast, broadcast, place)},
    {U64(Broadcast, broadcast, sweep)},
    {BYTES(Broadcast, broadcast, absent), FROM(0, WIRE_MEMBERS_MAX, 1), .words = absentees},
    {FLAG(Broadcast, broadcast, last)},
    {BYTES(Broadcast, broadcast, ids), FROM(0, WIRE_IDS_MAX, 1)},
    {U64(Broadcast, broadcast, best)},
};

static const struct field upload[] = {
    {U64(Upload, upload, generation)},
    {PURPOSE(Upload, upload, PURPOSE_EVALUATE_TRAIN)},
    {U64(Upload, upload, round)},
    {PAYLOAD(Upload, upload, payload, 1, 1)},
    {BYTES(Upload, upload, check), FROM(0, WIRE_PAYLOAD_MAX, 1)},
};

static const struct field share[] = {
    {U64(Share, shares, generation)},
    {PURPOSE(Share, shares, PURPOSE_DEAL_DATA)},
    {U64(Share, shares, round)},
    {PAYLOAD(Share, shares, sealed, 0, 1)},
    {BYTES(Share, shares, tags), FROM(WIRE_TAG_BYTES, WIRE_TAGS_MAX, WIRE_TAG_BYTES)},
};

static const struct field relay[] = {
    {U64(Relay, shares, generation)},
    {PURPOSE(Relay, shares, PURPOSE_DEAL_DATA)},
    {U64(Relay, shares, round)},
    {PAYLOAD(Relay, shares, sealed, 0, 1)},
    {BYTES(Relay, shares, tags), FROM(WIRE_TAG_BYTES, WIRE_TAGS_MAX, WIRE_TAG_BYTES)},
};

static const struct field kept[] = {
    {U64(Kept, kept, step)},
    {FLAG(Kept, kept, final)},
};

static const struct field batch[] = {
    {U64(Batch, batch, generation)},
    {U32(Batch, batch, step)},
    {BYTES(Batch, batch, entries), FROM(0, WIRE_ENTRIES_MAX, 1), .payload = true},
    {BYTES(Batch, batch, tag), FROM(0, WIRE_TAGS_MAX, WIRE_TAG_BYTES)},
    {BYTES(Batch, batch, tallies), FROM(0, WIRE_TALLIES_MAX, WIRE_TALLY_BYTES)},
    {FIELD_U32, ROW(Batch, batch, common, uint32_t, uint32_t), FROM(0, WIRE_ALIGN_IDS_MAX, 1)},
};

static const struct field finish[] = {
    {FIELD_U32, ROW(Finish, finish, outcome, Vfl__Outcome, enum wire_outcome),
     FROM(0, OUTCOME_FAILED, 1)},
    {WORDS(Finish, finish, text)},
    {FAULT(Finish, finish, STATUS_KIND_NONE)},
};

/* Nobody's fault is no reason to refuse. */
static const struct field refuse[] = {
    {FAULT(Refuse, refuse, STATUS_KIND_NONE + 1)},
    {WORDS(Refuse, refuse, text)},
    {FIELD_U32, ROW(Refuse, refuse, accused, uint32_t, uint32_t), FROM(0, WIRE_MEMBERS_MAX, 1)},
    {U64(Refuse, refuse, generation)},
    {FLAG(Refuse, refuse, larger)},
};

/* --- rules about several fields --- */

/* Indices of members, one a byte, no two alike. */
static bool ascending(struct wire_bytes indices)
{
    for (size_t i = 1; i < indices.n; i++) {
        if (indices.data[i] <= indices.data[i - 1])
            return false;
    }
    return true;
}

static const char *offer_rule(const void *ours)
{
    const struct wire_offer *o = ours;

    return ascending(o->members) ? NULL : "offer: members are not ascending";
}

static const char *broadcast_rule(const void *ours)
{
    const struct wire_broadcast *b = ours;

    if ((!b->closes && !b->opens && !b->last) || (b->opens && b->last) ||
        (!b->closes && b->gradient.n > 0) || (!b->opens && b->ids.n > 0))
        return "broadcast";
    return ascending(b->absent) && (b->closes || b->absent.n == 0) ? NULL : absentees;
}

/* For each tag a byte of ciphertext at least; but a member that deals no keys seals nothing. */
static const char *relay_rule(const void *ours)
{
    const struct wire_shares *w = ours;

    return purpose_of(w->purpose)->keys || w->sealed.n >= w->tags.n / WIRE_TAG_BYTES ? NULL
                                                                                     : "relay";
}

static const char *share_rule(const void *ours)
{
    const struct wire_shares *w = ours;
    bool even = w->sealed.n % (w->tags.n / WIRE_TAG_BYTES) == 0;

    return even && relay_rule(ours) == NULL ? NULL : "share";
}

static const char *refuse_rule(const void *ours)
{
    const struct wire_refuse *r = ours;

    return (r->accused > 0) + r->larger == (r->generation > 0) ? NULL : "refuse";
}

/* --- messages --- */

const struct message fields_messages[WIRE_KINDS] = {
    [WIRE_NONE] = {.name = "none"},
    [WIRE_JOIN] = {BODY(JOIN, join, join), NULL},
    [WIRE_OFFER] = {BODY(OFFER, offer, offer), offer_rule},
    [WIRE_BEHIND] = {BODY(BEHIND, behind, behind), NULL},
    [WIRE_REPLAY] = {BODY(REPLAY, replay, replay), NULL},
    [WIRE_HELLO] = {BODY(HELLO, hello, hello), NULL},
    [WIRE_HELLOS] = {BODY(HELLOS, hellos, hellos), NULL},
    [WIRE_CONFIRM] = {BODY(CONFIRM, confirm, confirm), NULL},
    [WIRE_CONFIRMS] = {BODY(CONFIRMS, confirms, confirms), NULL},
    [WIRE_BROADCAST] = {BODY(BROADCAST, broadcast, broadcast), broadcast_rule},
    [WIRE_UPLOAD] = {BODY(UPLOAD, upload, upload), NULL},
    [WIRE_SHARE] = {BODY(SHARE, share, shares), share_rule},
    [WIRE_RELAY] = {BODY(RELAY, relay, shares), relay_rule},
    [WIRE_KEPT] = {BODY(KEPT, kept, kept), NULL},
    [WIRE_BATCH] = {BODY(BATCH, batch, batch), NULL},
    [WIRE_FINISH] = {BODY(FINISH, finish, finish), NULL},
    [WIRE_REFUSE] = {BODY(REFUSE, refuse, refuse), refuse_rule},
};

const struct message fields_hello_body = {MESSAGE("hello body", 0, hello_body, hello), NULL};

/* --- limits --- */

/* How much of the field there is. */
static size_t extent(const struct field *f, const ProtobufCMessage *p)
{
    const void *there = (const uint8_t *)p + f->there;

    switch (f->kind) {
    case FIELD_U32: return *(const uint32_t *)there;
    case FIELD_FIXED:
    case FIELD_BYTES: return ((const ProtobufCBinaryData *)there)->len;
    case FIELD_TEXT:
    case FIELD_WORDS: return strlen(*(char *const *)there);
    case FIELD_MESSAGE: return *(const void *const *)there != NULL;
    case FIELD_LIST: return *(const size_t *)((const uint8_t *)p + f->there_n);
    case FIELD_U64:
    case FIELD_FLAG: break; /* all that fit their type */
    }
    return 0;
}

static bool within(const char *text, char first, char last)
{
    while (*text >= first && *text <= last)
        text++;
    return *text == 0;
}

bool fields_fit(const struct field *f, const ProtobufCMessage *p)
{
    size_t n = extent(f, p);

    return n >= f->least && n <= f->most && n % f->unit == 0 &&
           (f->kind != FIELD_TEXT ||
            within(*(char *const *)((const uint8_t *)p + f->there), f->first, f->last));
}
