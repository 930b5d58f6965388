/* test_misbehave_share.c -- what members seal for each other, on its way through a server that
 * meddles, and from a member that does: bits, tags, parts in each other's place, of another round,
 * of another member.  Nothing of it opens, and whoever cannot open it names the dealer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/misbehave_scripts.h"

#include "common/base/check.h"
#include "common/flow/dealing.h"
#include "common/wire/purpose.h"
#include "tests/sim/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PARTS = MIS_PARTIES - 1, SEALED_MAX = 1 << 14 };

/* Sealed parts and tags that may be written to. */
struct parts {
    uint8_t sealed[SEALED_MAX], tag[PARTS][WIRE_TAG_BYTES];
    size_t at[PARTS], n[PARTS]; /* in sealed */
};

struct meddling {
    const char *name;
    /* False: it cannot be done to these. */
    bool (*how)(struct parts *p, uint32_t part, const struct parts *before);
};

/* --- how --- */

static bool first_bit(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    p->sealed[p->at[part]] ^= 1;
    return p->n[part] > 0;
}

static bool middle_bit(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    p->sealed[p->at[part] + p->n[part] / 2] ^= 0x10;
    return p->n[part] > 0;
}

static bool last_bit(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    p->sealed[p->at[part] + (p->n[part] > 0 ? p->n[part] - 1 : 0)] ^= 0x80;
    return p->n[part] > 0;
}

static bool first_bit_of_tag(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    p->tag[part][0] ^= 1;
    return true;
}

static bool last_bit_of_tag(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    p->tag[part][WIRE_TAG_BYTES - 1] ^= 0x80;
    return true;
}

static bool no_tag(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    memset(p->tag[part], 0, WIRE_TAG_BYTES);
    return true;
}

static bool zeros(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    memset(p->sealed + p->at[part], 0, p->n[part]);
    return p->n[part] > 0;
}

static void exchange(uint8_t *a, uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t was = a[i];
        a[i] = b[i];
        b[i] = was;
    }
}

static bool other_part(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    exchange(p->sealed + p->at[0], p->sealed + p->at[1], p->n[0]);
    exchange(p->tag[0], p->tag[1], WIRE_TAG_BYTES);
    return part == 0 && p->n[0] == p->n[1];
}

static bool other_tag(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    exchange(p->tag[0], p->tag[1], WIRE_TAG_BYTES);
    return part == 0;
}

static bool part_twice(struct parts *p, uint32_t part, const struct parts *before)
{
    (void)before;
    memcpy(p->sealed + p->at[part], p->sealed + p->at[1 - part], p->n[0]);
    memcpy(p->tag[part], p->tag[1 - part], WIRE_TAG_BYTES);
    return p->n[0] == p->n[1];
}

static bool of_the_round_before(struct parts *p, uint32_t part, const struct parts *before)
{
    if (before == NULL || before->n[part] != p->n[part])
        return false;
    memcpy(p->sealed + p->at[part], before->sealed + before->at[part], p->n[part]);
    memcpy(p->tag[part], before->tag[part], WIRE_TAG_BYTES);
    return true;
}

static const struct meddling meddlings[] = {
    {"first bit", first_bit},
    {"middle bit", middle_bit},
    {"last bit", last_bit},
    {"first bit of the tag", first_bit_of_tag},
    {"last bit of the tag", last_bit_of_tag},
    {"no tag", no_tag},
    {"zeros", zeros},
    {"the other part", other_part},
    {"the other tag", other_tag},
    {"one part twice", part_twice},
    {"of the round before", of_the_round_before},
};

/* --- where --- */

/* The session that these parts are of, or for, knows how long they are. */
static void take_apart(struct parts *p, const struct mis *m, const struct wire_shares *w, bool up)
{
    struct party_session *s = m->sim->party[MIS_VICTIM].session;
    enum plan_aggregation agg = m->sim->plan.protocol.aggregation;
    size_t at = 0;

    CHECK(w->sealed.n <= SEALED_MAX && w->tags.n == sizeof p->tag);
    if (w->sealed.n > 0)
        memcpy(p->sealed, w->sealed.data, w->sealed.n);
    memcpy(p->tag, w->tags.data, sizeof p->tag);
    for (uint32_t k = 0; k < PARTS; k++) {
        p->at[k] = at;
        p->n[k] = secagg_part_bytes(
            agg, &inside(s)->round.shape, dealing_part(inside(s)->round.task.purpose),
            up ? MIS_VICTIM : 2 * k, party_values(&inside(s)->round, &inside(s)->course));
        at += p->n[k];
    }
    CHECK(at == w->sealed.n);
}

struct target {
    const struct meddling *how;
    uint32_t part;
};

/* The last one before of this kind and these sizes. */
static bool round_before(struct parts *p, const struct mis *m, bool up, size_t sealed)
{
    const struct mis_script *c = m->script;

    for (size_t i = m->at; i-- > 0;) {
        struct wire_msg msg;

        if (c->at[i].up != up || c->at[i].kind != c->at[m->at].kind)
            continue;
        msg = mis_unpack(&m->frame[i]);
        if (msg.share.sealed.n != sealed)
            continue;
        take_apart(p, m, &msg.share, up);
        return true;
    }
    return false;
}

static void meddle(struct mis *m, struct flight *f)
{
    static struct parts now, before;
    const struct target *t = m->owner;
    struct wire_msg msg = mis_unpack(&f->frame);
    bool any;

    take_apart(&now, m, &msg.share, f->up);
    any = round_before(&before, m, f->up, msg.share.sealed.n);
    m->skipped = !t->how->how(&now, t->part, any ? &before : NULL);
    if (m->skipped)
        return;
    msg = mis_unpack(&f->frame);
    msg.share.sealed.data = now.sealed;
    msg.share.tags.data = now.tag[0];
    mis_pack(&f->frame, &msg);
}

static void try_landing(struct mis_tally *t, size_t at)
{
    const struct mis_landing *l = &t->script->at[at];

    for (size_t i = 0; i < sizeof meddlings / sizeof *meddlings; i++) {
        for (uint32_t part = 0; part < PARTS; part++) {
            struct target g = {&meddlings[i], part};
            struct mis m = {.at = at, .act = meddle, .owner = &g};

            snprintf(m.name, sizeof m.name, "%s %zu (%s), part %u: %s", wire_kind_name(l->kind), at,
                     purpose_of(l->purpose)->name, part, meddlings[i].name);
            m.names = l->up ? "the share of p2" : part == 0 ? "the share of p1" : "the share of p3";
            mis_expect(t, &m, MIS(UNOPENED));
        }
    }
}

static void all_parts(enum mis_which which, size_t least)
{
    struct mis_script *c = mis_script(which);
    struct mis_tally t = {.script = c, .what = "sealed parts"};
    bool seen[2][PURPOSE_DEAL_DATA + 1] = {0};

    mis_record(c);
    for (size_t i = 0; i < c->n; i++) {
        const struct mis_landing *l = &c->at[i];

        if ((l->kind != WIRE_SHARE && l->kind != WIRE_RELAY) || l->generation < 2 ||
            seen[l->up][l->purpose])
            continue;
        seen[l->up][l->purpose] = true;
        try_landing(&t, i);
    }
    mis_forget(c);
    mis_close(&t, least);
}

static void test_no_part_that_was_meddled_with_opens_coded(void **state)
{
    (void)state;
    all_parts(MIS_CODED, 60);
}

static void test_no_part_that_was_meddled_with_opens_fedvs(void **state)
{
    (void)state;
    all_parts(MIS_FEDVS, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_part_that_was_meddled_with_opens_coded),
        cmocka_unit_test(test_no_part_that_was_meddled_with_opens_fedvs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
