/* test_misbehave_view.c -- a server that shows p2 other members, other hellos, other confirmations
 * than there are, with and without the help of a member; and what was meant for p1, or was of p1.
 *
 * Signatures and keys are real here: the server has its own, p1's when p1 helps, never p2's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/flight.h"
#include "tests/sim/misbehave_scripts.h"

#include "common/base/check.h"
#include "common/crypto/kex.h"
#include "party/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct lie {
    const char *name;
    void (*how)(struct mis *m, struct wire_msg *msg, const struct lie *l);
    uint32_t slot, other;
    unsigned may;
};

/* Tells p2 what `how` makes of the message. */
static void tell(struct mis *m, struct flight *f)
{
    const struct lie *l = m->owner;
    struct wire_msg msg = mis_unpack(&f->frame);

    l->how(m, &msg, l);
    mis_pack(&f->frame, &msg);
}

/* The nth (from 1) landing of this kind at p2. */
static size_t landing_of(const struct mis_script *c, enum wire_kind kind, uint32_t nth)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!c->at[i].up && c->at[i].kind == kind && --nth == 0)
            return i;
    }
    fail_msg("%s: no landing of this kind", c->name);
    return 0;
}

/* alone: a server that is honest otherwise sees nothing of it in what p2 answers. */
static void try_one(struct mis_tally *t, size_t at, const struct lie *l, bool alone)
{
    struct mis m = {
        .at = at, .act = tell, .owner = (void *)(uintptr_t)l, .alone = alone, .mute = true};

    snprintf(m.name, sizeof m.name, "%s: %u %u", l->name, l->slot, l->other);
    mis_expect(t, &m, l->may);
}

static void try_lie(struct mis_tally *t, size_t at, const struct lie *l)
{
    try_one(t, at, l, true);
}

/* --- members --- */

static uint8_t told_members[8];

/* slot: a set of the indices in `all`, bit by bit. */
static void other_members(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    static const uint8_t all[] = {0, 1, 2, 3, 255};
    size_t n = 0;

    (void)m;
    for (size_t i = 0; i < sizeof all; i++) {
        if ((l->slot >> i & 1) != 0)
            told_members[n++] = all[i];
    }
    msg->offer.members = (struct wire_bytes){told_members, n};
}

static void members_in_disorder(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    static const uint8_t lists[][5] = {{3, 2, 1, 0},    {3, 0, 1, 1},    {3, 1, 1, 2},
                                       {4, 0, 1, 2, 2}, {4, 0, 0, 1, 2}, {2, 1, 1}};

    (void)m;
    msg->offer.members = (struct wire_bytes){lists[l->slot] + 1, lists[l->slot][0]};
}

enum { DISORDERS = 6, WITHOUT_P3 = 3, ALL_THREE = 7, SETS = 32 };

static void try_members(struct mis_tally *t)
{
    for (uint32_t set = 0; set < SETS; set++) {
        /* Under drop p2 is alone only if its policy lets it be. */
        struct lie l = {"members", other_members, set, 0, MIS(REFUSED) | MIS(POLICY)};

        if (set != ALL_THREE) /* in the other p2 is the last, and has no element for p3 */
            try_one(t, landing_of(t->script, WIRE_OFFER, 1), &l, set != WITHOUT_P3);
    }
    for (uint32_t k = 0; k < DISORDERS; k++) {
        struct lie l = {"members in disorder", members_in_disorder, k, 0, MIS(REFUSED)};

        try_lie(t, landing_of(t->script, WIRE_OFFER, 1), &l);
    }
}

/* --- hellos --- */

static struct wire_hello told_hellos[MIS_PARTIES];
static struct agree_hello made;

static struct wire_hello *copy_hellos(struct wire_msg *msg)
{
    CHECK(msg->hellos.n == MIS_PARTIES);
    memcpy(told_hellos, msg->hellos.hello, sizeof told_hellos);
    msg->hellos.hello = told_hellos;
    return told_hellos;
}

/* h's fields, signed anew by this key under this public key. */
static void sign_hello(struct wire_hello *h, const struct sign_key *key, const uint8_t *public_key)
{
    struct buf body;

    buf_init(&body, WIRE_HELLO_MAX);
    CHECK(wire_pack_hello_body(&body, h) == STATUS_OK);
    memcpy(made.body, body.data, body.len);
    memcpy(made.public_key, public_key, sizeof made.public_key);
    CHECK(sign_make(made.signature, key, "vfl/hello/2", body.data, body.len) == STATUS_OK);
    made.body_len = body.len;
    buf_deinit(&body);
    *h = agree_show_hello(&made);
}

static void hello_in_anothers_place(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    struct wire_hello *h = copy_hellos(msg);

    (void)m;
    h[l->slot] = h[l->other];
}

static void hellos_swapped(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    struct wire_hello *h = copy_hellos(msg), was = h[l->slot];

    (void)m;
    h[l->slot] = h[l->other];
    h[l->other] = was;
}

/* The server in the place of a member: with keys of its own, or under the member's public key. */
static void hello_of_a_stranger(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    static uint8_t secret[KEX_BYTES], public_key[KEX_BYTES];
    struct wire_hello *h = copy_hellos(msg) + l->slot;
    struct sign_key stranger = {0};

    (void)m;
    CHECK(sign_key_generate(&stranger) == STATUS_OK);
    CHECK(kex_generate(secret, public_key) == STATUS_OK);
    h->kex_public = public_key;
    sign_hello(h, &stranger, l->other == 0 ? stranger.public_key : h->public_key);
    sign_key_deinit(&stranger);
}

static void hello_of_the_generation_before(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    static struct buf now;
    struct wire_msg before;

    mis_pack(&now, msg);
    before = mis_unpack(&m->frame[landing_of(m->script, WIRE_HELLOS, 1)]);
    made = (struct agree_hello){0};
    agree_keep_hello(&made, &before.hellos.hello[l->slot]);
    *msg = mis_unpack(&now);
    copy_hellos(msg)[l->slot] = agree_show_hello(&made);
}

/* A member that helps the server signs what it is asked to. */
static void hello_with_help(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    /* X25519 of p - 1, p, p + 1, 0 and 1 (p = 2^255 - 19) is 0 with every secret. */
    static const uint8_t low[] = {0xec, 0xed, 0xee, 0, 1};
    static uint8_t low_order[KEX_BYTES];
    static const uint8_t other_digest[WIRE_DIGEST_BYTES] = {1};
    struct wire_hello *h = copy_hellos(msg) + l->slot;

    switch (l->other) {
    case 0: h->generation++; break;
    case 1: h->plan_digest = other_digest; break;
    case 2: strcpy(h->name, "p9"); break;
    case 3: h->kex_public = told_hellos[(l->slot + 1) % MIS_PARTIES].kex_public; break;
    default:
        memset(low_order, low[l->other - 4] > 1 ? 0xff : 0, sizeof low_order);
        low_order[0] = low[l->other - 4];
        low_order[KEX_BYTES - 1] &= 0x7f;
        h->kex_public = low_order;
    }
    sign_hello(h, &m->sim->party[l->slot].key, m->sim->party[l->slot].key.public_key);
}

enum { HELPS = 9, SLOTS = MIS_PARTIES };

static void try_hellos(struct mis_tally *t)
{
    size_t first = landing_of(t->script, WIRE_HELLOS, 1),
           second = landing_of(t->script, WIRE_HELLOS, 2);

    for (uint32_t i = 0; i < SLOTS; i++) {
        struct lie former = {"a hello of the generation before", hello_of_the_generation_before, i,
                             0, MIS(REFUSED)};

        for (uint32_t k = 0; k < SLOTS; k++) {
            struct lie place = {"a hello in another's place", hello_in_anothers_place, i, k,
                                MIS(REFUSED)};
            struct lie swap = {"hellos swapped", hellos_swapped, i, k, MIS(REFUSED)};

            if (i != k)
                try_lie(t, first, &place);
            if (i < k)
                try_lie(t, first, &swap);
        }
        for (uint32_t k = 0; k < 2; k++) {
            struct lie l = {"a hello of a stranger", hello_of_a_stranger, i, k, MIS(REFUSED)};
            try_lie(t, first, &l);
        }
        for (uint32_t k = 0; k < HELPS && i != MIS_VICTIM; k++) {
            struct lie l = {"a hello with a member's help", hello_with_help, i, k, MIS(REFUSED)};
            try_lie(t, first, &l);
        }
        try_lie(t, second, &former);
    }
}

/* --- confirmations --- */

static struct wire_confirm told_confirms[MIS_PARTIES];
static struct agree_confirm made_confirm;

static struct wire_confirm *copy_confirms(struct wire_msg *msg)
{
    CHECK(msg->confirms.n == MIS_PARTIES);
    memcpy(told_confirms, msg->confirms.confirm, sizeof told_confirms);
    msg->confirms.confirm = told_confirms;
    return told_confirms;
}

static void confirm_in_anothers_place(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    struct wire_confirm *c = copy_confirms(msg), was = c[l->slot];

    (void)m;
    c[l->slot] = c[l->other];
    if (l->slot < l->other)
        c[l->other] = was;
}

static void sign_confirm(struct wire_confirm *c, const struct sign_key *key)
{
    CHECK(agree_sign_confirm(&made_confirm, key) == STATUS_OK);
    *c = agree_show_confirm(&made_confirm, c->generation);
}

static void confirm_of_a_stranger(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    struct wire_confirm *c = copy_confirms(msg) + l->slot;
    struct sign_key stranger = {0};

    (void)m;
    CHECK(sign_key_generate(&stranger) == STATUS_OK);
    agree_keep_confirm(&made_confirm, c);
    sign_confirm(c, &stranger);
    sign_key_deinit(&stranger);
}

/* Of another sid, of other ids, or of more than p2's ledger has, by the member's own hand. */
static void confirm_with_help(struct mis *m, struct wire_msg *msg, const struct lie *l)
{
    struct wire_confirm *c = copy_confirms(msg) + l->slot;

    agree_keep_confirm(&made_confirm, c);
    if (l->other == 2)
        agree_put_seen(&made_confirm, MIS_VICTIM, WIRE_LEDGER_MAX);
    else
        (l->other == 0 ? made_confirm.sid
                       : made_confirm.proofs + (l->slot < MIS_VICTIM ? WIRE_PROOF_BYTES : 0))[7] ^=
            1;
    sign_confirm(c, &m->sim->party[l->slot].key);
}

static void confirm_of_the_generation_before(struct mis *m, struct wire_msg *msg,
                                             const struct lie *l)
{
    static struct buf now;
    struct wire_msg before;

    mis_pack(&now, msg);
    before = mis_unpack(&m->frame[landing_of(m->script, WIRE_CONFIRMS, 1)]);
    agree_keep_confirm(&made_confirm, &before.confirms.confirm[l->slot]);
    *msg = mis_unpack(&now);
    copy_confirms(msg)[l->slot] = agree_show_confirm(&made_confirm, msg->confirms.generation);
}

static void try_confirms(struct mis_tally *t)
{
    size_t first = landing_of(t->script, WIRE_CONFIRMS, 1),
           second = landing_of(t->script, WIRE_CONFIRMS, 2);

    for (uint32_t i = 0; i < SLOTS; i++) {
        struct lie stranger = {"a stranger's confirmation", confirm_of_a_stranger, i, 0,
                               MIS(REFUSED)};
        struct lie former = {"a confirmation of the generation before",
                             confirm_of_the_generation_before, i, 0, MIS(REFUSED)};

        for (uint32_t k = 0; k < SLOTS; k++) {
            struct lie place = {"a confirmation in another's place", confirm_in_anothers_place, i,
                                k, MIS(REFUSED)};
            if (i != k)
                try_lie(t, first, &place);
        }
        for (uint32_t k = 0; k < 3 && i != MIS_VICTIM; k++) {
            struct lie l = {"a confirmation with a member's help", confirm_with_help, i, k,
                            k == 0   ? MIS(REFUSED)
                            : k == 1 ? MIS(DATA)
                                     : MIS(POLICY)};
            try_lie(t, first, &l);
        }
        try_lie(t, first, &stranger);
        try_lie(t, second, &former);
    }
}

/* --- two views --- */

/* p3 helps, and says one key to p1 and another to p2; p2's confirmation then is of another sid, and
 * so is one that p3 makes for p2.  p1's cannot be. */
static void another_key_for_p2(struct mis *m, struct flight *f)
{
    static uint8_t secret[KEX_BYTES], public_key[KEX_BYTES];
    struct wire_msg msg = mis_unpack(&f->frame);
    struct wire_hello *h = copy_hellos(&msg) + 2;

    CHECK(kex_generate(secret, public_key) == STATUS_OK);
    h->kex_public = public_key;
    sign_hello(h, &m->sim->party[2].key, m->sim->party[2].key.public_key);
    mis_pack(&f->frame, &msg);
}

/* What p1 has confirmed, what p2 has, and what p3 says to please it. */
static void all_that_can_be_had(struct mis *m, struct flight *f)
{
    static struct agree_confirm kept[MIS_PARTIES];
    struct wire_msg msg = mis_unpack(&m->last[0][1][WIRE_CONFIRM]);

    agree_keep_confirm(&kept[0], &msg.confirm);
    msg = mis_unpack(&f->frame);
    agree_keep_confirm(&kept[1], &msg.confirm);
    kept[2] = kept[1];
    CHECK(agree_sign_confirm(&kept[2], &m->sim->party[2].key) == STATUS_OK);
    for (size_t i = 0; i < MIS_PARTIES; i++)
        told_confirms[i] = agree_show_confirm(&kept[i], msg.confirm.generation);
    msg.kind = WIRE_CONFIRMS;
    msg.confirms = (struct wire_confirms){told_confirms[0].generation, MIS_PARTIES, told_confirms,
                                          made_confirm.proofs};
    flight_add(m->sim, MIS_VICTIM, false, &msg, 0, false);
}

static void try_two_views(struct mis_tally *t)
{
    size_t at = landing_of(t->script, WIRE_HELLOS, 1);
    struct mis m = {.name = "two views",
                    .at = at,
                    .act = another_key_for_p2,
                    .also_at = at + 1,
                    .also = all_that_can_be_had,
                    .alone = true,
                    .mute = true};

    CHECK(t->script->at[at + 1].up && t->script->at[at + 1].kind == WIRE_CONFIRM);
    mis_expect(t, &m, MIS(REFUSED));
}

/* To a process that was started anew, the first generation once more: with the hellos of that time,
 * its own among them, all well signed. */
static void offer_of_the_first_generation(struct mis *m, struct flight *f)
{
    mis_copy(&f->frame, &m->frame[landing_of(m->script, WIRE_OFFER, 1)]);
}

static void hellos_of_the_first_generation(struct mis *m, struct flight *f)
{
    struct wire_msg msg = mis_unpack(&m->frame[landing_of(m->script, WIRE_HELLOS, 1)]);

    (void)f;
    flight_add(m->sim, MIS_VICTIM, false, &msg, 0, false);
}

static void test_a_hello_of_an_earlier_process_is_not_taken_for_the_own(void **state)
{
    struct mis_script *c = mis_script(MIS_BEHIND);
    struct mis_tally t = {.script = c, .what = "an earlier process"};
    struct mis m = {.name = "hellos of an earlier process",
                    .act = offer_of_the_first_generation,
                    .also = hellos_of_the_first_generation,
                    .names = "own hello was altered",
                    .alone = true,
                    .taken = true,
                    .mute = true};

    (void)state;
    mis_record(c);
    m.at = landing_of(c, WIRE_OFFER, 2);
    m.also_at = m.at + 1; /* whatever it answers */
    mis_expect(&t, &m, MIS(REFUSED));
    mis_forget(c);
    mis_close(&t, 1);
}

/* --- what was another's --- */

/* What p1 was told, or said, last of this kind; nothing where it was nothing. */
static void of_p1(struct mis *m, struct flight *f)
{
    const struct wire_msg msg = mis_unpack(&f->frame);
    const struct buf *other = &m->last[0][f->up][msg.kind];

    if (other->len > 0)
        mis_copy(&f->frame, other);
}

/* All are told the same, but for what was sealed for them; each says its own. */
static unsigned may_be_of_p1(const struct mis_landing *l)
{
    if (l->kind == WIRE_HELLO || l->kind == WIRE_CONFIRM)
        return MIS(REFUSED);
    if (l->kind == WIRE_SHARE || l->kind == WIRE_RELAY)
        return MIS(UNOPENED) | MIS(REFUSED);
    if (l->kind == WIRE_UPLOAD)
        return MIS(VOID) | MIS(REFUSED) | MIS(OTHER) | MIS(SAME);
    return MIS(SAME);
}

static void try_of_p1(struct mis_tally *t)
{
    for (size_t i = 0; i < t->script->n; i++) {
        const struct mis_landing *l = &t->script->at[i];
        struct mis m = {.at = i, .act = of_p1, .unwatched = true};
        unsigned may = may_be_of_p1(l);

        if (l->up && l->phase == PHASE_GATHER && l->kind != WIRE_JOIN)
            may = MIS(SAME); /* late, not wrong */
        snprintf(m.name, sizeof m.name, "%s of p1 for p2's, %zu", wire_kind_name(l->kind), i);
        mis_expect(t, &m, may);
    }
}

/* --- */

static void every_view(enum mis_which which, size_t least)
{
    struct mis_script *c = mis_script(which);
    struct mis_tally t = {.script = c, .what = "views"};

    mis_record(c);
    try_members(&t);
    if (c->rules_n > 0) { /* there are two generations */
        try_hellos(&t);
        try_confirms(&t);
        try_two_views(&t);
    }
    try_of_p1(&t);
    mis_forget(c);
    mis_close(&t, least);
}

static void test_there_is_one_view_or_none_masked(void **state)
{
    (void)state;
    every_view(MIS_MASKED, 90);
}

static void test_there_is_one_view_or_none_coded(void **state)
{
    (void)state;
    every_view(MIS_CODED, 90);
}

static void test_there_is_one_view_or_none_fedvs(void **state)
{
    (void)state;
    every_view(MIS_FEDVS, 90);
}

static void test_there_is_one_view_or_none_clear(void **state)
{
    (void)state;
    every_view(MIS_CLEAR, 90);
}

static void test_sets_that_are_none_are_refused_without_waiting(void **state)
{
    (void)state;
    every_view(MIS_DROP, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_is_one_view_or_none_masked),
        cmocka_unit_test(test_there_is_one_view_or_none_coded),
        cmocka_unit_test(test_there_is_one_view_or_none_fedvs),
        cmocka_unit_test(test_there_is_one_view_or_none_clear),
        cmocka_unit_test(test_sets_that_are_none_are_refused_without_waiting),
        cmocka_unit_test(test_a_hello_of_an_earlier_process_is_not_taken_for_the_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
