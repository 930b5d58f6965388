/* test_flips.c -- one instance of each message as it lands in a run, with every single bit turned
 * and at every length it could be cut to: it is no message, or the session refuses it, or it says
 * something that nobody but its sender can know to be wrong, which `unknowable` lists with what
 * comes of it.
 *
 * Nothing that reads as the same message has other bytes (tests/unit/wire/test_message.c); what is
 * signed or sealed has no such bits (tests/unit/flow/test_flips.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/misbehave_scripts.h"

#include "common/base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* --- what a flip changed --- */

static bool same_bytes(struct wire_bytes a, struct wire_bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.data, b.data, a.n) == 0);
}

static const char *of_join(const struct wire_join *a, const struct wire_join *b)
{
    if (a->version != b->version)
        return "join.version";
    if (memcmp(a->roster_digest, b->roster_digest, WIRE_DIGEST_BYTES) != 0)
        return "join.roster_digest";
    return a->applied != b->applied   ? "join.applied"
           : a->resumes != b->resumes ? "join.resumes"
                                      : "join.other";
}

static const char *of_broadcast(const struct wire_broadcast *a, const struct wire_broadcast *b)
{
    if (!same_bytes(a->gradient, b->gradient))
        return "broadcast.gradient";
    if (a->opens != b->opens)
        return "broadcast.opens";
    if (a->round != b->round)
        return "broadcast.round";
    return a->sweep != b->sweep ? "broadcast.sweep" : "broadcast.other";
}

static const char *of_upload(const struct wire_upload *a, const struct wire_upload *b)
{
    if (!same_bytes(a->payload, b->payload))
        return "upload.payload";
    if (!same_bytes(a->check, b->check))
        return "upload.check";
    return a->generation != b->generation ? "upload.generation" : "upload.other";
}

static const char *of_shares(const struct wire_shares *a, const struct wire_shares *b)
{
    if (!same_bytes(a->sealed, b->sealed) || !same_bytes(a->tags, b->tags))
        return "shares.sealed";
    return a->generation != b->generation ? "shares.generation" : "shares.other";
}

static const char *of_confirms(const struct wire_confirms *a, const struct wire_confirms *b)
{
    for (size_t i = 0; i < a->n && a->n == b->n; i++) {
        if (a->confirm[i].generation != b->confirm[i].generation)
            return "confirms.confirm.generation";
    }
    if (memcmp(a->proof, b->proof, WIRE_PROOF_BYTES) != 0)
        return "confirms.proof";
    return "confirms.other";
}

/* Three bytes can say many things. */
static const char *of_kind(const struct wire_msg *a, const struct wire_msg *b)
{
    if (a->kind == WIRE_BEHIND && b->kind == WIRE_REFUSE)
        return "behind as refuse";
    if (a->kind == WIRE_BEHIND && b->kind == WIRE_KEPT)
        return "behind as kept";
    return "kind";
}

/* The changed field that decides, or that of another kind. */
static const char *field_of(const struct wire_msg *a, const struct wire_msg *b)
{
    if (a->kind != b->kind)
        return of_kind(a, b);
    switch (a->kind) {
    case WIRE_JOIN: return of_join(&a->join, &b->join);
    case WIRE_BROADCAST: return of_broadcast(&a->broadcast, &b->broadcast);
    case WIRE_UPLOAD: return of_upload(&a->upload, &b->upload);
    case WIRE_SHARE:
    case WIRE_RELAY: return of_shares(&a->share, &b->share);
    case WIRE_CONFIRM:
        return a->confirm.generation != b->confirm.generation ? "confirm.generation"
                                                              : "confirm.other";
    case WIRE_CONFIRMS: return of_confirms(&a->confirms, &b->confirms);
    case WIRE_BEHIND:
        return a->behind.generation != b->behind.generation ? "behind.generation"
                                                            : "behind.applied";
    case WIRE_REPLAY:
        return same_bytes(a->replay.gradient, b->replay.gradient) ? "replay.other"
                                                                  : "replay.gradient";
    case WIRE_OFFER: return a->offer.step != b->offer.step ? "offer.step" : "offer.other";
    case WIRE_KEPT: return a->kept.final != b->kept.final ? "kept.final" : "kept.step";
    case WIRE_FINISH:
        return a->finish.outcome != b->finish.outcome ? "finish.outcome" : "finish.other";
    case WIRE_REFUSE: return "refuse";
    case WIRE_NONE:
    case WIRE_BATCH:
    case WIRE_HELLO:
    case WIRE_HELLOS:
    case WIRE_KINDS: break;
    }
    return "other";
}

static const struct {
    const char *field;
    unsigned may; /* besides MIS_REFUSED */
} unknowable[] = {
    /* What a party says of itself as it joins. */
    {"join.roster_digest", MIS(DATA)},
    {"join.applied", MIS(DATA)},
    {"join.resumes", MIS(DATA)},
    {"join.other", MIS(SAME) | MIS(DATA)},
    {"kept.final", MIS(PATIENCE)},
    {"kept.step", MIS(SAME)},
    /* An answer to an older generation is late; the one that is due never comes. */
    {"confirm.generation", MIS(PATIENCE)},
    {"behind.generation", MIS(PATIENCE)},
    {"upload.generation", MIS(PATIENCE)},
    {"shares.generation", MIS(PATIENCE)},
    {"confirms.confirm.generation", MIS(SAME)}, /* it is in the sid */
    {"confirms.proof", MIS(SAME)},              /* for the first member; here the second reads */
    {"behind as kept", MIS(PATIENCE)},
    {"behind as refuse", MIS(SPOKEN)}, /* which anybody may, for reasons of its own */
    {"refuse", MIS(SPOKEN) | MIS(DATA) | MIS(POLICY)},
    /* Values of a party's own, and numbers that the server made: noise, or a share that does not
     * open. */
    {"upload.payload", MIS(VOID)},
    {"upload.check", MIS(VOID)},
    {"shares.sealed", MIS(UNOPENED)},
    {"broadcast.gradient", MIS(VOID) | MIS(OTHER)},
    {"replay.gradient", MIS(VOID)},
    {"broadcast.sweep", MIS(VOID)},
    {"broadcast.opens", MIS(PATIENCE)},
    {"broadcast.round", MIS(SAME)},
    {"offer.step", MIS(DATA)},
    {"offer.other", MIS(DATA) | MIS(POLICY)}, /* of other rows; not of the policy */
    {"finish.outcome", MIS(TOLD)},
    {"finish.other", MIS(SAME)},
};

static unsigned may_end(const char *field)
{
    for (size_t i = 0; i < sizeof unknowable / sizeof *unknowable; i++) {
        if (strcmp(field, unknowable[i].field) == 0)
            return MIS(REFUSED) | unknowable[i].may;
    }
    return MIS(REFUSED);
}

/* --- flips and cuts --- */

/* What lands instead. */
static void put(struct mis *m, struct flight *f)
{
    mis_copy(&f->frame, m->owner);
}

static struct wire_unpacker other;
static size_t flips, no_message, harmless, cuts, kinds_seen; /* of all tests together */

/* Runs it unless it is no message at all, which ends the run of who read it like any other (the
 * cuts): how many of these there are, is counted. */
static size_t try_flip(struct mis_tally *t, size_t at, struct buf *frame, const struct buf *valid,
                       size_t bit)
{
    struct wire_msg was = mis_unpack(valid), now;
    struct mis m = {.at = at, .act = put, .owner = frame};
    const char *field;

    if (wire_unpack(&now, &other, frame->data, frame->len, NULL) != STATUS_OK)
        return 1;
    field = field_of(&was, &now);
    m.taken = was.kind == WIRE_OFFER; /* another plan that could be */
    m.unwatched = strcmp(field, "upload.payload") == 0 || strcmp(field, "broadcast.gradient") == 0;
    snprintf(m.name, sizeof m.name, "%s, bit %zu: %s", wire_kind_name(was.kind), bit, field);
    mis_expect(t, &m, may_end(field));
    return 0;
}

static void flips_of(struct mis_script *c, size_t at, const struct buf *valid)
{
    struct mis_tally t = {.script = c, .what = wire_kind_name(mis_unpack(valid).kind)};
    struct buf frame = {0};
    size_t none = 0;

    mis_copy(&frame, valid);
    for (size_t bit = 0; bit < 8 * frame.len; bit++) {
        frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        none += try_flip(&t, at, &frame, valid, bit);
        frame.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    print_message("%zu flips, %zu of them no message; ", 8 * frame.len, none);
    assert_true(none + t.asked == 8 * frame.len && t.run > 0);
    flips += 8 * frame.len;
    no_message += none;
    harmless += t.harmless;
    mis_close(&t, 1);
    buf_deinit(&frame);
}

static void cuts_of(struct mis_script *c, size_t at, const struct buf *valid)
{
    struct mis_tally t = {.script = c, .what = "cuts"};
    struct buf frame = {0};

    mis_copy(&frame, valid);
    while (frame.len > 0) {
        struct mis m = {.at = at, .act = put, .owner = &frame};

        frame.len--;
        m.mute = !c->at[at].up;
        snprintf(m.name, sizeof m.name, "%s, %zu bytes", wire_kind_name(mis_unpack(valid).kind),
                 frame.len);
        mis_expect(&t, &m, MIS(REFUSED));
    }
    assert_true(t.asked == valid->len && t.harmless == 0);
    cuts += t.asked;
    mis_close(&t, t.run);
    buf_deinit(&frame);
}

/* `valid` lands where the script has another message, or is that one. */
static void all_of(struct mis_script *c, size_t at, const struct buf *valid)
{
    kinds_seen |= (size_t)1 << mis_unpack(valid).kind;
    flips_of(c, at, valid);
    cuts_of(c, at, valid);
}

/* The first landing of this kind; of broadcasts, one that closes a step and opens the next; of
 * kept, the last. */
static size_t one_of(const struct mis_script *c, enum wire_kind kind)
{
    for (size_t i = 0; i < c->n; i++) {
        const size_t at = kind == WIRE_KEPT ? c->n - 1 - i : i;
        const struct mis_landing *l = &c->at[at];

        if (l->kind == kind && (kind != WIRE_BROADCAST || (l->closes && l->opens)))
            return at;
    }
    fail_msg("%s: no %s", c->name, wire_kind_name(kind));
    return 0;
}

static void every_bit(enum mis_which which, const enum wire_kind *kinds, size_t n)
{
    struct mis_script *c = mis_script(which);

    assert_int_equal(wire_unpacker_init(&other, 1 << 20), STATUS_OK);
    mis_record(c);
    for (size_t i = 0; i < n; i++) {
        size_t at = one_of(c, kinds[i]);

        all_of(c, at, &c->at[at].frame);
    }
    mis_forget(c);
    wire_unpacker_deinit(&other);
}

static void test_no_bit_of_what_every_run_says_can_be_turned(void **state)
{
    static const enum wire_kind kinds[] = {
        WIRE_JOIN,     WIRE_OFFER,     WIRE_HELLO,  WIRE_HELLOS, WIRE_CONFIRM,
        WIRE_CONFIRMS, WIRE_BROADCAST, WIRE_UPLOAD, WIRE_KEPT,   WIRE_FINISH,
    };

    (void)state;
    every_bit(MIS_MASKED, kinds, sizeof kinds / sizeof *kinds);
}

static void test_no_bit_of_shares_can_be_turned(void **state)
{
    static const enum wire_kind kinds[] = {WIRE_SHARE, WIRE_RELAY};

    (void)state;
    every_bit(MIS_CODED, kinds, sizeof kinds / sizeof *kinds);
}

static void test_no_bit_of_what_was_missed_can_be_turned(void **state)
{
    static const enum wire_kind kinds[] = {WIRE_BEHIND, WIRE_REPLAY};

    (void)state;
    every_bit(MIS_BEHIND, kinds, sizeof kinds / sizeof *kinds);
}

/* No script has this message: it lands where an upload should, and a broadcast. */
static void every_bit_of(struct wire_msg m)
{
    struct mis_script *c = mis_script(MIS_MASKED);
    struct buf packed = {0};

    assert_int_equal(wire_unpacker_init(&other, 1 << 20), STATUS_OK);
    mis_record(c);
    mis_pack(&packed, &m);
    all_of(c, one_of(c, WIRE_UPLOAD), &packed);
    all_of(c, one_of(c, WIRE_BROADCAST), &packed);
    mis_forget(c);
    buf_deinit(&packed);
    wire_unpacker_deinit(&other);
}

/* Nobody refuses in a run that completes. */
static void test_no_bit_of_a_refusal_can_be_turned(void **state)
{
    (void)state;
    every_bit_of((struct wire_msg){.kind = WIRE_REFUSE,
                                   .refuse = {STATUS_KIND_PEER, "they are not mine", 0}});
}

/* In a job of alignments its tag sees to it (test_align.c). */
static void test_no_bit_of_a_batch_in_a_round_can_be_turned(void **state)
{
    static const uint8_t entries[64] = {1}, tag[WIRE_TAG_BYTES] = {2},
                         tally[WIRE_TALLY_BYTES] = {3};

    (void)state;
    every_bit_of((struct wire_msg){.kind = WIRE_BATCH,
                                   .batch = {.generation = 1,
                                             .step = 2,
                                             .entries = {entries, sizeof entries},
                                             .tag = {tag, sizeof tag},
                                             .tallies = {tally, sizeof tally},
                                             .common = 3}});
}

static void test_no_kind_of_message_was_left_out(void **state)
{
    size_t all = ((size_t)1 << WIRE_KINDS) - 1 - ((size_t)1 << WIRE_NONE);

    (void)state;
    print_message("%d kinds: %zu flips, %zu of them no message, %zu without effect; %zu cuts\n",
                  WIRE_KINDS - 1, flips, no_message, harmless, cuts);
    assert_true(kinds_seen == all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_bit_of_what_every_run_says_can_be_turned),
        cmocka_unit_test(test_no_bit_of_shares_can_be_turned),
        cmocka_unit_test(test_no_bit_of_what_was_missed_can_be_turned),
        cmocka_unit_test(test_no_bit_of_a_refusal_can_be_turned),
        cmocka_unit_test(test_no_bit_of_a_batch_in_a_round_can_be_turned),
        cmocka_unit_test(test_no_kind_of_message_was_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
