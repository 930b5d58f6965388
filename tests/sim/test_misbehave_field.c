/* test_misbehave_field.c -- every field of every message that p2 is told or tells, changed in every
 * small way (mutate.h): refused as a breach of the protocol, but for what `exceptions` has, each
 * with its reason.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/misbehave_scripts.h"
#include "tests/sim/mutate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* --- what may end otherwise --- */

#define ON(script) (1u << MIS_##script)
#define WAITING (ON(MASKED) | ON(CODED) | ON(FEDVS) | ON(CLEAR) | ON(BEHIND) | ON(ONCE))
#define GOING_ON (ON(DROP) | ON(IGNORE) | ON(ASYNC))
#define IN_CLEAR (ON(CLEAR) | ON(IGNORE) | ON(ASYNC))
#define ALL (WAITING | GOING_ON)
#define UNSEEN (MIS(SAME) | MIS(OTHER))

enum when { ALWAYS, NOT_OPENING, NOT_CLOSING, STALE };

struct exception {
    const char *field; /* beginning of "broadcast.round +1" */
    const char *how;   /* end of it; "": any */
    int up;            /* -1: both ways */
    enum when when;
    unsigned on, may;
};

static const struct exception exceptions[] = {
    /* Frames that are too long: the connection is closed without a word, the party comes back. */
    {"", "far too many bytes", 1, ALWAYS, WAITING, MIS(REFUSED) | MIS(CLOSED)},
    {"", "far too many bytes", 1, ALWAYS, GOING_ON,
     MIS(REFUSED) | MIS(CLOSED) | MIS(OTHER) | MIS(PATIENCE)},
    {"", " many", 1, ALWAYS, ALL, MIS(REFUSED) | MIS(CLOSED)},
    /* Overtaken by the end of its generation: whatever it says, it is late, not wrong (3.2). */
    {"", "", 1, STALE, ALL, MIS(SAME) | MIS(REFUSED)},

    /* What a joining party says of itself: another model or another roster is its own fault; the
     * rest is its own business. */
    {"join.roster_digest", "", 1, ALWAYS, ALL, MIS(DATA) | MIS(REFUSED)},
    {"join.applied", "", 1, ALWAYS, WAITING, MIS(DATA)},
    {"join.applied", "", 1, ALWAYS, GOING_ON, UNSEEN | MIS(REFUSED)},
    /* Of a run that has no steps yet. */
    {"join.resumes true", "", 1, ALWAYS, WAITING, MIS(SAME)},
    {"join.resumes", "", 1, ALWAYS, WAITING, MIS(DATA)},
    {"join.resumes", "", 1, ALWAYS, GOING_ON, MIS(SAME)},
    {"join.trail", " bit", 1, ALWAYS, ALL, MIS(SAME) | MIS(DATA)},
    {"join.trail zeros", "", 1, ALWAYS, ALL, MIS(SAME) | MIS(DATA)},
    {"join.trail ones", "", 1, ALWAYS, ALL, MIS(SAME) | MIS(DATA)},
    {"join.kept", "", 1, ALWAYS, ALL, MIS(SAME) | MIS(DATA)},
    {"join.keeps", "", 1, ALWAYS, ALL, MIS(SAME)},
    {"join.generation", "", 1, ALWAYS, ALL, MIS(SAME) | MIS(REFUSED)},
    {"join.min_parties", "", 1, ALWAYS, ALL, MIS(SAME)},
    {"kept.final false", "", 1, ALWAYS, WAITING, MIS(PATIENCE)},
    {"kept.", "", 1, ALWAYS, ALL, MIS(SAME)},

    /* An answer to an older generation is late, not wrong; the one that is due never comes. */
    {"hello.body.generation", "-1", 1, ALWAYS, ALL, MIS(PATIENCE)},
    {"hello.body.generation", " 0", 1, ALWAYS, ALL, MIS(PATIENCE)},
    {"confirm.generation", "-1", 1, ALWAYS, ALL, MIS(PATIENCE)},
    {"confirm.generation", " 0", 1, ALWAYS, ALL, MIS(PATIENCE)},
    {"behind.generation", "-1", 1, ALWAYS, ALL, MIS(PATIENCE)},
    {"behind.generation", " 0", 1, ALWAYS, ALL, MIS(PATIENCE)},
    {"share.generation", "-1", 1, ALWAYS, ALL, MIS(PATIENCE)},
    {"share.generation", " 0", 1, ALWAYS, ALL, MIS(PATIENCE)},
    /* An upload may be one that enough others did without. */
    {"upload.generation", "-1", 1, ALWAYS, ALL, MIS(PATIENCE) | UNSEEN},
    {"upload.generation", " 0", 1, ALWAYS, ALL, MIS(PATIENCE) | UNSEEN},
    {"upload.round -1", "", 1, ALWAYS, ON(FEDVS), MIS(PATIENCE) | MIS(REFUSED)},

    /* What a party uploads is its own: wrong values make noise, or a wrong sum (A15). */
    {"upload.payload", " bit", 1, ALWAYS, ALL, MIS(VOID) | MIS(REFUSED) | UNSEEN},
    {"upload.payload zeros", "", 1, ALWAYS, ALL, MIS(VOID) | UNSEEN},
    {"upload.payload ones", "", 1, ALWAYS, ALL, MIS(VOID) | MIS(REFUSED) | UNSEEN},
    {"upload.check first bit", "", 1, ALWAYS, ALL, MIS(VOID)},
    {"upload.check zeros", "", 1, ALWAYS, ALL, MIS(VOID)}, /* ones: beyond the last, too */
    /* Only the receiver can tell, and who is to blame it cannot tell. */
    {"share.sealed", " bit", 1, ALWAYS, ALL, MIS(UNOPENED)},
    {"share.sealed zeros", "", 1, ALWAYS, ALL, MIS(UNOPENED)},
    {"share.sealed ones", "", 1, ALWAYS, ALL, MIS(UNOPENED)},
    {"share.tags", " bit", 1, ALWAYS, ALL, MIS(UNOPENED)},
    {"share.tags zeros", "", 1, ALWAYS, ALL, MIS(UNOPENED)},
    {"share.tags ones", "", 1, ALWAYS, ALL, MIS(UNOPENED)},
    {"relay.sealed", " bit", 0, ALWAYS, ALL, MIS(UNOPENED)},
    {"relay.sealed zeros", "", 0, ALWAYS, ALL, MIS(UNOPENED)},
    {"relay.sealed ones", "", 0, ALWAYS, ALL, MIS(UNOPENED)},
    {"relay.tags", " bit", 0, ALWAYS, ALL, MIS(UNOPENED)},
    {"relay.tags zeros", "", 0, ALWAYS, ALL, MIS(UNOPENED)},
    {"relay.tags ones", "", 0, ALWAYS, ALL, MIS(UNOPENED)},

    /* That of no job there is: p2 says so, and goes on with another. */
    {"offer.job.kind", "", 0, ALWAYS, ALL, MIS(DATA) | MIS(REFUSED)},
    /* A step that the server has not done, or that p2 cannot go back to, is a state put back; fedvs
     * deals once more, and then the views differ. */
    {"offer.step", "", 0, ALWAYS, ON(ASYNC), MIS(SAME)},
    /* One that p2's ledger lacks: it cannot know whether that or the server is wrong. */
    {"offer.step", " +1", 0, ALWAYS, ALL, MIS(DATA) | MIS(REFUSED) | MIS(UNOPENED) | MIS(POLICY)},
    {"offer.step", "", 0, ALWAYS, ALL, MIS(DATA) | MIS(REFUSED) | MIS(UNOPENED)},
    /* The generation is in the sid that is signed. */
    {"confirms.confirm[", ".generation +1", 0, ALWAYS, ALL, MIS(SAME)},
    {"confirms.confirm[", ".generation -1", 0, ALWAYS, ALL, MIS(SAME)},
    {"confirms.confirm[", ".generation 0", 0, ALWAYS, ALL, MIS(SAME)},
    {"confirms.confirm[", ".generation max", 0, ALWAYS, ALL, MIS(SAME)},
    {"confirms.confirm[", ".generation high bit", 0, ALWAYS, ALL, MIS(SAME)},
    /* The server's proof is for the first member, and p2 the second. */
    {"confirms.proof", " bit", 0, ALWAYS, ALL, MIS(SAME)},
    {"confirms.proof zeros", "", 0, ALWAYS, ALL, MIS(SAME)},
    {"confirms.proof ones", "", 0, ALWAYS, ALL, MIS(SAME)},

    /* Where nothing is opened or closed, what would be says nothing. */
    {"broadcast.close_step", "", 0, NOT_CLOSING, ALL, MIS(SAME)},
    {"broadcast.purpose an unknown", "", 0, NOT_OPENING, ALL, MIS(REFUSED)},
    {"broadcast.purpose a negative", "", 0, NOT_OPENING, ALL, MIS(REFUSED)},
    {"broadcast.purpose", "", 0, NOT_OPENING, ALL, MIS(SAME)},
    {"broadcast.round", "", 0, NOT_OPENING, ALL, MIS(SAME)},
    {"broadcast.place", "", 0, NOT_OPENING, ALL, MIS(SAME)},
    {"broadcast.sweep", "", 0, NOT_OPENING, ALL, MIS(SAME)},
    /* Told to one alone, what no party can know to be wrong hides what it answers (3.8); in clear
     * nothing is hidden.  Before p3 is lost the round never ends. */
    {"broadcast.sweep", "", 0, ALWAYS, ON(MASKED) | ON(BEHIND) | ON(DROP) | ON(ONCE),
     MIS(REFUSED) | MIS(VOID) | MIS(SAME)},
    {"broadcast.sweep", "", 0, ALWAYS, ON(CODED) | ON(FEDVS),
     MIS(REFUSED) | MIS(UNOPENED) | MIS(SAME)},
    {"broadcast.sweep", "", 0, ALWAYS, IN_CLEAR, MIS(REFUSED) | UNSEEN},
    {"broadcast.gradient", " bit", 0, ALWAYS, ALL, MIS(VOID) | MIS(UNOPENED) | UNSEEN},
    {"broadcast.gradient zeros", "", 0, ALWAYS, ALL, MIS(VOID) | MIS(UNOPENED) | UNSEEN},
    {"broadcast.absent one byte more", "", 0, ALWAYS, ON(IGNORE), MIS(REFUSED) | MIS(SAME)},
    {"replay.gradient", " bit", 0, ALWAYS, ALL, MIS(VOID)},
    {"replay.gradient zeros", "", 0, ALWAYS, ALL, MIS(VOID)},
    /* A round that p2 is not told of, or told by a later number. */
    {"broadcast.opens", "", 0, ALWAYS, ALL, MIS(PATIENCE) | UNSEEN | MIS(REFUSED)},
    {"broadcast.round", "", 0, ALWAYS, ALL, MIS(REFUSED) | MIS(SAME)},

    /* A party takes the outcome over (4.1). */
    {"finish.outcome an unknown", "", 0, ALWAYS, ALL, MIS(REFUSED)},
    {"finish.outcome a negative", "", 0, ALWAYS, ALL, MIS(REFUSED)},
    {"finish.outcome", "", 0, ALWAYS, ALL, MIS(TOLD)},
    {"finish.text far", "", 0, ALWAYS, ALL, MIS(REFUSED)},
    {"finish.text a long", "", 0, ALWAYS, ALL, MIS(REFUSED)},
    {"finish.text", "", 0, ALWAYS, ALL, MIS(SAME)},
    {"finish.kind +1", "", 0, ALWAYS, ALL, MIS(SAME)},
};

/* --- every change of every landing --- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return m <= n && strcmp(text + n - m, end) == 0;
}

static bool holds(enum when when, const struct mis_landing *l)
{
    switch (when) {
    case ALWAYS: return true;
    case NOT_OPENING: return !l->opens;
    case NOT_CLOSING: return !l->closes;
    case STALE: return l->phase == PHASE_GATHER && l->kind != WIRE_JOIN;
    }
    return false;
}

static unsigned may_end(enum mis_which which, const struct mis_landing *l, const char *name)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
        const struct exception *e = &exceptions[i];

        if ((e->up < 0 || (e->up == 1) == l->up) && (e->on >> which & 1u) != 0 &&
            holds(e->when, l) && strncmp(name, e->field, strlen(e->field)) == 0 &&
            ends_with(name, e->how))
            return e->may;
    }
    return MIS(REFUSED);
}

static void change(struct mis *m, struct flight *f)
{
    char name[MUTATE_NAME_MAX];

    assert_true(mutate_frame(&f->frame, name, *(const size_t *)m->owner));
}

static bool name_of(char name[MUTATE_NAME_MAX], const struct mis_landing *l, size_t which)
{
    struct buf frame = {0};
    bool is;

    mis_copy(&frame, &l->frame);
    is = mutate_frame(&frame, name, which);
    buf_deinit(&frame);
    return is;
}

static void try_landing(struct mis_tally *t, enum mis_which script, size_t at)
{
    const struct mis_landing *l = &t->script->at[at];
    char name[MUTATE_NAME_MAX];

    for (size_t which = 0; name_of(name, l, which); which++) {
        struct mis m = {.at = at, .act = change, .owner = &which};

        m.unwatched = strncmp(name, "upload.payload", 14) == 0 ||
                      strncmp(name, "broadcast.gradient", 18) == 0;
        /* Steps of which nothing came down are known to be done by the offer alone. */
        m.taken = script == MIS_ONCE && strncmp(name, "offer.step", 10) == 0;
        snprintf(m.name, sizeof m.name, "%s %zu, %s: %s", l->up ? "up" : "down", at,
                 phase_row(l->phase)->name, name);
        mis_expect(t, &m, may_end(script, l, name));
    }
}

/* One landing of a kind is as good as another in the same place. */
static bool like_one_before(const struct mis_script *c, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        const struct mis_landing *a = &c->at[i], *b = &c->at[at];

        if (a->up == b->up && a->kind == b->kind && a->phase == b->phase &&
            a->purpose == b->purpose && a->opens == b->opens && a->closes == b->closes)
            return true;
    }
    return false;
}

static void every_change(enum mis_which which, size_t least)
{
    struct mis_script *c = mis_script(which);
    struct mis_tally t = {.script = c, .what = "changed fields"};

    mis_record(c);
    for (size_t i = 0; i < c->n; i++) {
        if (!like_one_before(c, i))
            try_landing(&t, which, i);
    }
    mis_forget(c);
    mis_close(&t, least);
}

static void test_no_changed_field_goes_unnoticed_masked(void **state)
{
    (void)state;
    every_change(MIS_MASKED, 700);
}

static void test_no_changed_field_goes_unnoticed_coded(void **state)
{
    (void)state;
    every_change(MIS_CODED, 700);
}

static void test_no_changed_field_goes_unnoticed_fedvs(void **state)
{
    (void)state;
    every_change(MIS_FEDVS, 700);
}

static void test_no_changed_field_goes_unnoticed_clear(void **state)
{
    (void)state;
    every_change(MIS_CLEAR, 700);
}

static void test_no_changed_field_goes_unnoticed_in_catching_up(void **state)
{
    (void)state;
    every_change(MIS_BEHIND, 700);
}

static void test_no_changed_field_goes_unnoticed_once(void **state)
{
    (void)state;
    every_change(MIS_ONCE, 700);
}

static void test_no_changed_field_goes_unnoticed_drop(void **state)
{
    (void)state;
    every_change(MIS_DROP, 600);
}

static void test_no_changed_field_goes_unnoticed_ignore(void **state)
{
    (void)state;
    every_change(MIS_IGNORE, 600);
}

static void test_no_changed_field_goes_unnoticed_async(void **state)
{
    (void)state;
    every_change(MIS_ASYNC, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_masked),
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_coded),
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_fedvs),
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_clear),
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_in_catching_up),
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_once),
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_drop),
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_ignore),
        cmocka_unit_test(test_no_changed_field_goes_unnoticed_async),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
