/* samples.h -- one valid instance of each message, with every field in use, and how to compare two.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_WIRE_SAMPLES_H
#define COLONNADE_TESTS_WIRE_SAMPLES_H

#include "common/base/check.h"
#include "common/wire/message.h"

#include <string.h>

enum { SAMPLE_MEMBERS = 3, SAMPLE_FRAME_MAX = 128 * 1024 };

/* 64 bytes that no two names share. */
static inline const uint8_t *sample_bytes(uint8_t name)
{
    static uint8_t table[256][64];

    for (unsigned i = 0; i < 64; i++)
        table[name][i] = (uint8_t)(name * 37u + i * 11u + 1);
    return table[name];
}

/* Member m's hello; its body is packed into a place of its own. */
static inline struct wire_hello sample_hello(uint8_t m)
{
    static uint8_t body[WIRE_MEMBERS_MAX][WIRE_HELLO_MAX];
    struct wire_hello h = {
        .public_key = sample_bytes((uint8_t)(m + 1)),
        .signature = sample_bytes((uint8_t)(m + 2)),
        .plan_digest = sample_bytes(3),
        .nonce = sample_bytes((uint8_t)(m + 4)),
        .kex_public = sample_bytes((uint8_t)(m + 5)),
        .generation = 300,
        .name = "party-a",
        .train_rows = 70000,
        .test_rows = 9,
        .features = 300,
        .degree = 3,
        .dealing = {sample_bytes((uint8_t)(m + 6)), WIRE_DIGEST_BYTES},
        .holds = {sample_bytes(7), WIRE_DIGEST_BYTES},
        .held = 1000,
        .ledger = 812,
        .elements = sample_bytes((uint8_t)(m + 8)),
    };
    struct buf packed;

    h.name[6] = (char)('a' + m % 26);
    buf_init(&packed, WIRE_HELLO_MAX);
    CHECK(wire_pack_hello_body(&packed, &h) == STATUS_OK);
    memcpy(body[m], packed.data, packed.len);
    h.body = (struct wire_bytes){body[m], packed.len};
    buf_deinit(&packed);
    return h;
}

static inline struct wire_confirm sample_confirm(uint8_t m)
{
    return (struct wire_confirm){
        .sid = sample_bytes(7),
        .proofs = sample_bytes(8),
        .marks = sample_bytes(9),
        .signature = sample_bytes((uint8_t)(m + 10)),
        .generation = 300,
        .seen = {sample_bytes(11), SAMPLE_MEMBERS * WIRE_SEEN_BYTES},
    };
}

static inline struct wire_batch sample_batch(void)
{
    return (struct wire_batch){.generation = 300,
                               .step = 17,
                               .entries = {sample_bytes(6), 64},
                               .tag = {sample_bytes(7), WIRE_TAG_BYTES},
                               .tallies = {sample_bytes(8), 2 * WIRE_TALLY_BYTES},
                               .common = 3};
}

static inline struct wire_msg sample_lists(enum wire_kind kind, size_t n)
{
    static struct wire_hello hello[WIRE_MEMBERS_MAX];
    static struct wire_confirm confirm[WIRE_MEMBERS_MAX];
    struct wire_msg m = {.kind = kind};

    for (size_t i = 0; i < n; i++) {
        hello[i] = sample_hello((uint8_t)i);
        confirm[i] = sample_confirm((uint8_t)i);
    }
    if (kind == WIRE_HELLOS)
        m.hellos = (struct wire_hellos){300, n, hello};
    else
        m.confirms = (struct wire_confirms){300, n, confirm, sample_bytes(13)};
    return m;
}

static inline struct wire_msg sample(enum wire_kind kind)
{
    static const uint8_t members[] = {0, 2, 255}, absent[] = {1, 2, 7};
    struct wire_msg m = {.kind = kind};

    switch (kind) {
    case WIRE_JOIN:
        m.join = (struct wire_join){
            1, sample_bytes(1), 77, 70, sample_bytes(2), true, 299, true, 3, 60, true};
        break;
    case WIRE_OFFER:
        m.offer = (struct wire_offer){300,
                                      12,
                                      {"train", {sample_bytes(2), 40}},
                                      {members, sizeof members},
                                      sample_bytes(14),
                                      sample_bytes(15),
                                      11};
        break;
    case WIRE_BEHIND: m.behind = (struct wire_behind){300, 9}; break;
    case WIRE_REPLAY: m.replay = (struct wire_replay){300, 9, {sample_bytes(6), 48}}; break;
    case WIRE_HELLO: m.hello = sample_hello(0); break;
    case WIRE_HELLOS:
    case WIRE_CONFIRMS: m = sample_lists(kind, SAMPLE_MEMBERS); break;
    case WIRE_CONFIRM: m.confirm = sample_confirm(0); break;
    case WIRE_BROADCAST:
        m.broadcast = (struct wire_broadcast){300,
                                              true,
                                              true,
                                              12,
                                              {sample_bytes(3), 24},
                                              PURPOSE_EVALUATE_TRAIN,
                                              400,
                                              2048,
                                              5,
                                              {absent, sizeof absent},
                                              false,
                                              {sample_bytes(8), 30},
                                              10};
        break;
    case WIRE_UPLOAD:
        m.upload = (struct wire_upload){
            300, 400, PURPOSE_EVALUATE_TEST, {sample_bytes(4), 33}, {sample_bytes(5), 9}};
        break;
    case WIRE_SHARE:
    case WIRE_RELAY: {
        struct wire_shares shares = {300,
                                     400,
                                     PURPOSE_DEAL_DATA,
                                     {sample_bytes(6), 21},
                                     {sample_bytes(7), 3 * WIRE_TAG_BYTES}};

        *(kind == WIRE_SHARE ? &m.share : &m.relay) = shares;
        break;
    }
    case WIRE_KEPT: m.kept = (struct wire_kept){700, true}; break;
    case WIRE_BATCH: m.batch = sample_batch(); break;
    case WIRE_FINISH:
        m.finish = (struct wire_finish){OUTCOME_FAILED, STATUS_KIND_PEER, "party p2 lied"};
        break;
    case WIRE_REFUSE:
        m.refuse =
            (struct wire_refuse){STATUS_KIND_POLICY, "policy.min_parties: 2 < 3", 0, 7, true};
        break;
    case WIRE_NONE:
    case WIRE_KINDS: CHECK(!"a message of no kind");
    }
    return m;
}

static inline bool same_bytes(struct wire_bytes a, struct wire_bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.data, b.data, a.n) == 0);
}

static inline bool same_hello(const struct wire_hello *a, const struct wire_hello *b)
{
    return same_bytes(a->body, b->body) &&
           memcmp(a->public_key, b->public_key, WIRE_KEY_BYTES) == 0 &&
           memcmp(a->signature, b->signature, WIRE_SIGNATURE_BYTES) == 0 &&
           memcmp(a->plan_digest, b->plan_digest, WIRE_DIGEST_BYTES) == 0 &&
           memcmp(a->nonce, b->nonce, WIRE_KEY_BYTES) == 0 &&
           memcmp(a->kex_public, b->kex_public, WIRE_KEY_BYTES) == 0 &&
           a->generation == b->generation && strcmp(a->name, b->name) == 0 &&
           a->train_rows == b->train_rows && a->test_rows == b->test_rows &&
           a->features == b->features && a->degree == b->degree &&
           same_bytes(a->dealing, b->dealing) && same_bytes(a->holds, b->holds) &&
           a->held == b->held && a->ledger == b->ledger &&
           memcmp(a->elements, b->elements, WIRE_ELEMENTS_BYTES) == 0;
}

static inline bool same_confirm(const struct wire_confirm *a, const struct wire_confirm *b)
{
    return memcmp(a->sid, b->sid, WIRE_DIGEST_BYTES) == 0 &&
           memcmp(a->proofs, b->proofs, WIRE_PROOFS_BYTES) == 0 &&
           memcmp(a->marks, b->marks, WIRE_PROOFS_BYTES) == 0 &&
           memcmp(a->signature, b->signature, WIRE_SIGNATURE_BYTES) == 0 &&
           a->generation == b->generation && same_bytes(a->seen, b->seen);
}

static inline bool same_lists(const struct wire_msg *a, const struct wire_msg *b)
{
    size_t n = a->kind == WIRE_HELLOS ? a->hellos.n : a->confirms.n;
    bool same = a->kind == WIRE_HELLOS
                    ? n == b->hellos.n && a->hellos.generation == b->hellos.generation
                    : n == b->confirms.n && a->confirms.generation == b->confirms.generation &&
                          memcmp(a->confirms.proof, b->confirms.proof, WIRE_PROOF_BYTES) == 0;

    for (size_t i = 0; same && i < n; i++)
        same = a->kind == WIRE_HELLOS
                   ? same_hello(&a->hellos.hello[i], &b->hellos.hello[i])
                   : same_confirm(&a->confirms.confirm[i], &b->confirms.confirm[i]);
    return same;
}

static inline bool same_broadcast(const struct wire_broadcast *a, const struct wire_broadcast *b)
{
    return a->generation == b->generation && a->closes == b->closes && a->opens == b->opens &&
           a->close_step == b->close_step && same_bytes(a->gradient, b->gradient) &&
           a->purpose == b->purpose && a->round == b->round && a->place == b->place &&
           a->sweep == b->sweep && same_bytes(a->absent, b->absent) && a->last == b->last &&
           same_bytes(a->ids, b->ids) && a->best == b->best;
}

static inline bool same_join(const struct wire_join *a, const struct wire_join *b)
{
    return a->version == b->version && a->applied == b->applied && a->kept == b->kept &&
           memcmp(a->roster_digest, b->roster_digest, WIRE_DIGEST_BYTES) == 0 &&
           memcmp(a->trail, b->trail, WIRE_DIGEST_BYTES) == 0 && a->resumes == b->resumes &&
           a->generation == b->generation && a->keeps == b->keeps &&
           a->min_parties == b->min_parties && a->kept_before == b->kept_before &&
           a->between_jobs == b->between_jobs;
}

static inline bool same_shares(const struct wire_shares *a, const struct wire_shares *b)
{
    return a->generation == b->generation && a->round == b->round && a->purpose == b->purpose &&
           same_bytes(a->sealed, b->sealed) && same_bytes(a->tags, b->tags);
}

static inline bool same_message(const struct wire_msg *a, const struct wire_msg *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case WIRE_JOIN: return same_join(&a->join, &b->join);
    case WIRE_OFFER:
        return a->offer.generation == b->offer.generation && a->offer.step == b->offer.step &&
               strcmp(a->offer.job.kind, b->offer.job.kind) == 0 &&
               same_bytes(a->offer.job.text, b->offer.job.text) &&
               same_bytes(a->offer.members, b->offer.members) &&
               memcmp(a->offer.element, b->offer.element, WIRE_ELEMENT_BYTES) == 0 &&
               memcmp(a->offer.playing, b->offer.playing, WIRE_DIGEST_BYTES) == 0 &&
               a->offer.best == b->offer.best;
    case WIRE_BEHIND:
        return a->behind.generation == b->behind.generation &&
               a->behind.applied == b->behind.applied;
    case WIRE_REPLAY:
        return a->replay.generation == b->replay.generation && a->replay.step == b->replay.step &&
               same_bytes(a->replay.gradient, b->replay.gradient);
    case WIRE_HELLO: return same_hello(&a->hello, &b->hello);
    case WIRE_HELLOS:
    case WIRE_CONFIRMS: return same_lists(a, b);
    case WIRE_CONFIRM: return same_confirm(&a->confirm, &b->confirm);
    case WIRE_BROADCAST: return same_broadcast(&a->broadcast, &b->broadcast);
    case WIRE_UPLOAD:
        return a->upload.generation == b->upload.generation && a->upload.round == b->upload.round &&
               a->upload.purpose == b->upload.purpose &&
               same_bytes(a->upload.payload, b->upload.payload) &&
               same_bytes(a->upload.check, b->upload.check);
    case WIRE_SHARE: return same_shares(&a->share, &b->share);
    case WIRE_RELAY: return same_shares(&a->relay, &b->relay);
    case WIRE_KEPT: return a->kept.step == b->kept.step && a->kept.final == b->kept.final;
    case WIRE_BATCH:
        return a->batch.generation == b->batch.generation && a->batch.step == b->batch.step &&
               a->batch.common == b->batch.common &&
               same_bytes(a->batch.entries, b->batch.entries) &&
               same_bytes(a->batch.tag, b->batch.tag) &&
               same_bytes(a->batch.tallies, b->batch.tallies);
    case WIRE_FINISH:
        return a->finish.outcome == b->finish.outcome && a->finish.kind == b->finish.kind &&
               strcmp(a->finish.text, b->finish.text) == 0;
    case WIRE_REFUSE:
        return a->refuse.kind == b->refuse.kind && a->refuse.accused == b->refuse.accused &&
               a->refuse.generation == b->refuse.generation &&
               a->refuse.larger == b->refuse.larger && strcmp(a->refuse.text, b->refuse.text) == 0;
    case WIRE_NONE:
    case WIRE_KINDS: break;
    }
    return false;
}

#endif
