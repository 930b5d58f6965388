/* test_rollback.c -- a party whose ledger was put back, replaced or deleted is told by any other
 * one that has seen more of it, and stops before it sends anything; and nobody else ever is.  That
 * its own checkpoint tells it sooner is another test's matter (test_restore.c): here it says
 * nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "party/train/resume.h"
#include "tests/sim/inside.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum { PARTIES = 3, VICTIM = 1, DOWN_US = 20000 };

/* Five epochs of four rounds, an evaluation after each: two blocks of the ledger an epoch. */
static struct sim_options three(void)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 12,
                                .checkpoint_rounds = 3,
                                .sets = {"training.epochs=5", "protocol.patience_ms=2000"}};
}

static const char *const variants[][3] = {
    {NULL},
    {"protocol.aggregation=coded"},
    {"protocol.aggregation=clear"},
    {"protocol.straggler=drop", "protocol.deadline_ms=200"},
    {"protocol.local_iterations=3"},
};

static struct sim_options variant(size_t v)
{
    struct sim_options o = three();

    for (size_t i = 0; i < 3 && variants[v][i] != NULL; i++)
        o.sets[2 + i] = variants[v][i];
    return o;
}

static struct sim_ledger *ledger_of(struct sim *s, uint32_t party)
{
    return &s->party[party].disk.ledger;
}

/* The most that anybody else has seen of the victim's. */
static uint64_t seen_by_others(const struct sim *s)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < PARTIES; i++) {
        uint64_t seen = inside(s->party[i].session)->purse.witness.seen[VICTIM];

        if (i != VICTIM && seen > most)
            most = seen;
    }
    return most;
}

static uint32_t messages_with_data(const struct sim *s, int who)
{
    return sim_sent(s, who, WIRE_UPLOAD) + sim_sent(s, who, WIRE_SHARE);
}

static void expect_refused(struct sim *s, uint64_t seen, uint64_t number, uint32_t sent)
{
    const struct sim_end *end = sim_party_end(s, VICTIM);
    char words[128];

    snprintf(words, sizeof words,
             "has seen number %llu of this ledger, which ends at %llu: it was "
             "put back or replaced",
             (unsigned long long)seen, (unsigned long long)number);
    if (!end->over || end->error.status != STATUS_POLICY ||
        strstr(end->error.text, words) == NULL || strncmp(end->error.text, "ledger: p", 9) != 0)
        fail_msg("'%s', not '%s'", end->error.text, words);
    assert_int_equal(messages_with_data(s, VICTIM), sent); /* nothing left after it */
    assert_int_equal(ledger_of(s, VICTIM)->number, number);
}

/* The others are told who, and why; and it has cost them nothing: `sent` by all of them. */
static void expect_told(struct sim *s, uint32_t others_sent)
{
    const struct sim_end *server = sim_server_end(s);

    assert_true(server->over);
    assert_int_equal(messages_with_data(s, 0) + messages_with_data(s, 2), others_sent);
    if (strstr(server->error.text, "p2") == NULL ||
        strstr(server->error.text, "put back or replaced") == NULL)
        fail_msg("the server: %s", server->error.text);
    for (uint32_t i = 0; i < PARTIES; i++) {
        if (i != VICTIM && strstr(sim_party_end(s, i)->error.text, "p2") == NULL)
            fail_msg("p%u: %s", i + 1, sim_party_end(s, i)->error.text);
    }
}

/* Its operator has had the victim's checkpoints forget how far the ledger had come. */
static void silence(struct sim *s)
{
    struct sim_disk *d = &s->party[VICTIM].disk;
    uint64_t was;

    if (d->saved.len > 0)
        assert_true(party_train_forget_ledger(d->saved.data, d->saved.len, 0, &was));
    if (d->before.len > 0)
        assert_true(party_train_forget_ledger(d->before.data, d->before.len, 0, &was));
}

/* --- in the middle of a run --- */

enum what { WHOLE, ALONE, DELETED };

static uint64_t length_us(const struct sim_options *o)
{
    struct sim *s = sim_new(o);
    uint64_t us;

    sim_run(s, HOUR_US);
    expect_completed(s);
    us = sim_now_us(s);
    sim_free(s);
    return us;
}

enum end { REFUSED, REFUSED_BEFORE, WENT_ON, HAD_ENDED };

/* A copy at one time, its return at another.  *covered: the ledger has all that others saw end. */
static enum end put_back(const struct sim_options *o, enum what what, uint64_t copy_us,
                         uint64_t at_us, bool *covered)
{
    bool drops = o->sets[2] != NULL && strstr(o->sets[2], "drop") != NULL;
    struct sim *s = sim_new(o);
    uint64_t seen, number;
    uint32_t sent, others_sent, confirms;
    enum end end = WENT_ON;

    sim_break_at(s, (struct sim_break){.what = SIM_COPY, .who = VICTIM, .at_us = copy_us});
    sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                       .who = VICTIM,
                                       .at_us = at_us,
                                       .down_us = DOWN_US,
                                       .last_words = true,
                                       .put_back = what == WHOLE,
                                       .put_back_ledger = what != DELETED,
                                       .lose_ledger = what == DELETED});
    sim_run(s, at_us + DOWN_US - 1); /* others hear of what it had sent */
    if (sim_party_end(s, VICTIM)->over || s->party[VICTIM].up_us == 0) {
        sim_free(s);
        return HAD_ENDED;
    }
    silence(s);
    sent = messages_with_data(s, VICTIM);
    others_sent = messages_with_data(s, 0) + messages_with_data(s, 2);
    confirms = sim_sent(s, VICTIM, WIRE_CONFIRM);
    number = ledger_of(s, VICTIM)->number;
    seen = seen_by_others(s);
    *covered = seen <= number;
    sim_run(s, HOUR_US);
    if (sim_party_end(s, VICTIM)->error.status == STATUS_POLICY) {
        end = REFUSED;
        expect_refused(s, seen, number, sent);
        if (!drops)
            expect_told(s, others_sent);
        else /* who go on without it */
            assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    } else if (sim_sent(s, VICTIM, WIRE_CONFIRM) == confirms) {
        end = REFUSED_BEFORE; /* the model was put back too far, too; or the run ended without it */
        assert_int_equal(messages_with_data(s, VICTIM), sent);
    } else if (!drops) {
        expect_completed(s);
    }
    sim_free(s);
    return end;
}

static void test_it_is_refused_whenever_it_lacks_what_others_saw_end(void **state)
{
    (void)state;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct sim_options o = variant(v);
        uint64_t us = length_us(&o), points = 20;
        unsigned ends[HAD_ENDED + 1] = {0};

        for (enum what what = WHOLE; what <= DELETED; what++) {
            for (uint64_t p = 1; p < points; p++) {
                for (uint64_t q = p + 1; q <= points; q += 3) {
                    bool covered = false;
                    enum end end =
                        put_back(&o, what, us * p / points, us * q / points + 137, &covered);

                    if (end < REFUSED_BEFORE ? covered : end == WENT_ON && !covered)
                        fail_msg("variant %zu, kind %d, copied at %llu of %llu, back at %llu: %s",
                                 v, (int)what, (unsigned long long)p, (unsigned long long)points,
                                 (unsigned long long)q, end == REFUSED ? "refused" : "not refused");
                    ends[end]++;
                }
            }
        }
        assert_true(ends[REFUSED] > 30 && ends[WENT_ON] >= 10);
    }
}

/* --- from one run to the next --- */

/* Stopped in its third epoch, and about to go on: every process is a new one. */
static struct sim *interrupted(const struct sim_options *o)
{
    struct sim *s = sim_new(o), *next;

    sim_stop_at(s, SIM_SERVER, length_us(o) / 2);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_STOPPED);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_true(i == VICTIM || ledger_of(s, i)->seen[VICTIM] > 8);
    next = sim_resume(s);
    sim_free(s);
    return next;
}

/* What sessions asked of their ledgers when they were made, they ask again. */
static void change(struct sim *s, uint32_t party, const struct sim_ledger *to)
{
    *ledger_of(s, party) = *to;
    ledger_of(s, party)->tampered = true;
    party_witness_init(&inside(s->party[party].session)->purse.witness,
                       &s->party[party].session->setup);
}

static void test_an_untouched_ledger_goes_on(void **state)
{
    struct sim_options o = three();
    struct sim *s = interrupted(&o);

    (void)state;
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

static void test_one_that_remembers_is_enough(void **state)
{
    struct sim_options o = three();

    (void)state;
    for (uint32_t remembers = 0; remembers < PARTIES; remembers += 2) {
        struct sim *s = interrupted(&o);
        uint64_t seen = ledger_of(s, remembers)->seen[VICTIM];
        struct sim_ledger other = *ledger_of(s, 2 - remembers);
        char name[16];

        other.seen[VICTIM] = 0;
        change(s, 2 - remembers, &other);
        change(s, VICTIM, &(struct sim_ledger){0}); /* deleted */
        sim_run(s, HOUR_US);
        expect_refused(s, seen, 0, 0);
        expect_told(s, 0);
        snprintf(name, sizeof name, "ledger: p%u has", remembers + 1);
        assert_non_null(strstr(sim_party_end(s, VICTIM)->error.text, name));
        sim_free(s);
    }
}

/* A limit that is written down: the folders of all parties put back at once, or the only ones that
 * remember told to forget. */
static void test_when_nobody_remembers_it_goes_on(void **state)
{
    struct sim_options o = three();
    struct sim *s = interrupted(&o);

    (void)state;
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct sim_ledger l = *ledger_of(s, i);

        l.seen[VICTIM] = 0;
        change(s, i, i == VICTIM ? &(struct sim_ledger){0} : &l);
    }
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

static void test_a_refused_ledger_stays_refused_however_often_it_is_tried(void **state)
{
    struct sim_options o = three();
    struct sim *s = interrupted(&o);
    struct sim_ledger old = *ledger_of(s, VICTIM);
    uint64_t seen = ledger_of(s, 0)->seen[VICTIM];

    (void)state;
    old.number = seen - 1; /* by one round */
    for (int again = 0; again < 10; again++) {
        struct sim *next;

        change(s, VICTIM, &old);
        sim_run(s, HOUR_US);
        expect_refused(s, seen, seen - 1, 0);
        next = sim_resume(s);
        old = *ledger_of(next, VICTIM);
        assert_int_equal(old.number, seen - 1); /* trying costs no number */
        sim_free(s);
        s = next;
    }
    old.number = seen; /* the right file */
    change(s, VICTIM, &old);
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

/* --- everybody dies --- */

static void test_what_others_saw_survives_their_deaths_but_for_their_last_block(void **state)
{
    struct sim_options o = three();
    uint64_t us = length_us(&o);
    unsigned refused = 0;

    (void)state;
    for (uint64_t at_us = us / 8; at_us < us; at_us += us / 40) {
        struct sim *s = sim_new(&o);
        uint64_t ram, disk;

        sim_run(s, at_us - 1);
        ram = seen_by_others(s);
        disk = ledger_of(s, 0)->seen[VICTIM];
        assert_true(ram >= disk && ram - disk <= 5); /* a block here is four rounds, or one */
        for (int who = SIM_SERVER; who < PARTIES; who++)
            sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                               .who = who,
                                               .at_us = at_us,
                                               .down_us = DOWN_US,
                                               .lose_ledger = who == VICTIM});
        sim_run(s, at_us + DOWN_US / 2 - sim_now_us(s));
        silence(s);
        sim_run(s, HOUR_US);
        if (disk > 0) {
            expect_refused(s, disk, 0, messages_with_data(s, VICTIM));
            refused++;
        }
        sim_free(s);
    }
    assert_true(refused > 20);
}

/* --- lies --- */

static void see_very_much(struct wire_msg *m, void *owner)
{
    static struct agree_confirm kept;
    struct sim *s = owner;

    agree_keep_confirm(&kept, &m->confirm);
    agree_put_seen(&kept, VICTIM, UINT64_MAX);
    CHECK(agree_sign_confirm(&kept, &s->party[2].key) == STATUS_OK);
    m->confirm = agree_show_confirm(&kept, m->confirm.generation);
}

/* It could as well have ended the run in any other way; but it is named, and nothing is sent. */
static void test_a_liar_stops_whom_it_accuses_and_is_named(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(
        s,
        (struct sim_rule){
            .act = SIM_ALTER, .from = 2, .kind = WIRE_CONFIRM, .alter = see_very_much, .owner = s});
    sim_run(s, HOUR_US);
    expect_refused(s, UINT64_MAX, 0, 0);
    assert_non_null(strstr(sim_party_end(s, VICTIM)->error.text, "ledger: p3 has seen"));
    expect_told(s, 0);
    /* Nobody takes its word for what the victim's ledger is. */
    assert_int_equal(ledger_of(s, 0)->seen[VICTIM], 0);
    sim_free(s);
}

static void see_of_two(struct wire_msg *m, void *owner)
{
    static struct agree_confirm kept;
    struct sim *s = owner;

    agree_keep_confirm(&kept, &m->confirm);
    kept.members = 2;
    CHECK(agree_sign_confirm(&kept, &s->party[2].key) == STATUS_OK);
    m->confirm = agree_show_confirm(&kept, m->confirm.generation);
}

static void test_a_confirmation_that_is_silent_about_a_member_is_refused(void **state)
{
    struct sim_options o = three();
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(
        s, (struct sim_rule){
               .act = SIM_ALTER, .from = 2, .kind = WIRE_CONFIRM, .alter = see_of_two, .owner = s});
    sim_run(s, HOUR_US);
    assert_non_null(strstr(sim_party_end(s, 2)->error.text, "numbers of 2 ledgers where 3 are"));
    sim_free(s);
}

/* --- nobody else --- */

/* Deaths and cuts in every mode: generations with other sets, rounds that are void, blocks that are
 * given back or forgotten.  Whoever is accused ends with these words. */
static void test_who_was_not_put_back_is_never_refused(void **state)
{
    static const char *const modes[][3] = {
        {"protocol.straggler=drop", "protocol.deadline_ms=60"},
        {"protocol.straggler=drop", "protocol.deadline_ms=60", "protocol.aggregation=coded"},
        {"protocol.straggler=drop", "protocol.deadline_ms=60", "protocol.aggregation=clear"},
        {"protocol.straggler=async", "protocol.aggregation=clear"},
        {"protocol.aggregation=coded"},
        {"training.evaluate_train=true"},
    };

    (void)state;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
            struct sim_options o = three();
            struct sim *s;

            o.quiet = true;
            o.parties = 4;
            o.jitter_us = 3000;
            o.jitter_seed = seed;
            for (size_t i = 0; i < 3 && modes[m][i] != NULL; i++)
                o.sets[2 + i] = modes[m][i];
            s = sim_new(&o);
            for (uint64_t i = 0; i < 16; i++)
                sim_break_at(s,
                             (struct sim_break){.what = (i + seed) % 3 == 0 ? SIM_CUT : SIM_DEATH,
                                                .who = (int)((i * seed + i / 3) % 4),
                                                .at_us = 9000 + i * (4000 + 700 * seed),
                                                .down_us = 1000 * (i % 5),
                                                .last_words = i % 2 == 0});
            sim_run(s, HOUR_US);
            for (uint32_t i = 0; i < o.parties; i++) {
                if (strstr(sim_party_end(s, i)->error.text, "put back or replaced") != NULL)
                    fail_msg("mode %zu, seed %llu: p%u: %s", m, (unsigned long long)seed, i + 1,
                             sim_party_end(s, i)->error.text);
            }
            sim_free(s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_refused_whenever_it_lacks_what_others_saw_end),
        cmocka_unit_test(test_an_untouched_ledger_goes_on),
        cmocka_unit_test(test_one_that_remembers_is_enough),
        cmocka_unit_test(test_when_nobody_remembers_it_goes_on),
        cmocka_unit_test(test_a_refused_ledger_stays_refused_however_often_it_is_tried),
        cmocka_unit_test(test_what_others_saw_survives_their_deaths_but_for_their_last_block),
        cmocka_unit_test(test_a_liar_stops_whom_it_accuses_and_is_named),
        cmocka_unit_test(test_a_confirmation_that_is_silent_about_a_member_is_refused),
        cmocka_unit_test(test_who_was_not_put_back_is_never_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
