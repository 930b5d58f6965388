/* test_restore.c -- a checkpoint and its ledger: one that ends before the checkpoint was made, or
 * lacks what the steps since have taken, is refused by the party itself, though no other one
 * remembers it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "party/checkpoint.h"
#include "party/core.h"
#include "party/train/resume.h"
#include "tests/sim/disk.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum { PARTIES = 3, VICTIM = 1, DOWN_US = 20000 };

/* Five epochs of four rounds: a block of the ledger each. */
static struct sim_options three(uint32_t checkpoint_rounds)
{
    return (struct sim_options){.parties = PARTIES,
                                .train_rows = 12,
                                .checkpoint_rounds = checkpoint_rounds,
                                .quiet = true,
                                .sets = {"training.epochs=5", "protocol.patience_ms=2000"}};
}

static uint32_t messages_with_data(const struct sim *s)
{
    uint32_t n = 0;

    for (int i = 0; i < PARTIES; i++)
        n += sim_sent(s, i, WIRE_UPLOAD) + sim_sent(s, i, WIRE_SHARE);
    return n;
}

static struct sim_disk *disk_of(struct sim *s, uint32_t party)
{
    return &s->party[party].disk;
}

/* What its last durable checkpoint asks of a ledger. */
static uint64_t asked(struct sim *s, uint32_t party)
{
    struct buf copy;
    uint64_t number = 0;

    buf_init(&copy, 1 << 24);
    CHECK(buf_append(&copy, disk_of(s, party)->saved.data, disk_of(s, party)->saved.len) ==
          STATUS_OK);
    assert_true(party_train_forget_ledger(copy.data, copy.len, 0, &number));
    buf_deinit(&copy);
    return number;
}

/* All of them, or the victim alone, die now and come back with this ledger. */
static void die(struct sim *s, int first, int last, const struct sim_ledger *with)
{
    for (int who = first; who <= last; who++) {
        disk_of(s, (uint32_t)who)->ledger_copy = *with;
        sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                           .who = who,
                                           .at_us = sim_now_us(s) + 1,
                                           .down_us = DOWN_US,
                                           .put_back_ledger = true});
    }
}

static void expect_refused(struct sim *s, uint32_t party, const char *words)
{
    const struct sim_end *end = sim_party_end(s, party);

    assert_true(end->over);
    if (strstr(end->error.text, words) == NULL ||
        strstr(end->error.text, "/ledger.db ends at ") == NULL)
        fail_msg("p%u: '%s', not '%s'", party + 1, end->error.text, words);
    assert_int_equal(end->error.status, STATUS_POLICY);
    assert_int_equal(status_exit_code(end->error.status), 5);
}

/* --- a ledger that ends before the checkpoint --- */

static void test_all_ledgers_deleted_at_once_are_missed_by_the_checkpoints(void **state)
{
    struct sim_options o = three(3);
    struct sim *s = sim_new(&o);
    uint32_t sent;

    (void)state;
    sim_run_to_step(s, 11);
    die(s, 0, PARTIES - 1, &(struct sim_ledger){0});
    sim_run(s, DOWN_US / 2);
    sent = messages_with_data(s);
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < PARTIES; i++) {
        expect_refused(s, i, "by the checkpoint it had come to");
        assert_int_equal(disk_of(s, i)->ledger.number, 0);
    }
    assert_int_equal(messages_with_data(s), sent);
    sim_free(s);
}

/* The victim alone, with a ledger that ends `less` numbers before what its checkpoint asks for;
 * `seen`: what others remember of it is at most that. */
static struct sim *with_less(uint64_t less)
{
    struct sim_options o = three(3);
    struct sim *s = sim_new(&o);
    struct sim_ledger l;

    sim_run_to_step(s, 11);
    l = disk_of(s, VICTIM)->ledger;
    l.number = asked(s, VICTIM) - less;
    die(s, VICTIM, VICTIM, &l);
    sim_run(s, HOUR_US);
    return s;
}

static void test_one_number_less_than_at_the_checkpoint_is_refused(void **state)
{
    struct sim *s = with_less(1);

    (void)state;
    expect_refused(s, VICTIM, "by the checkpoint it had come to");
    sim_free(s);
}

static void test_a_later_ledger_than_the_checkpoint_goes_on(void **state)
{
    struct sim_options o = three(3);
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run_to_step(s, 17);
    assert_true(asked(s, VICTIM) < disk_of(s, VICTIM)->ledger.number);
    die(s, VICTIM, VICTIM, &disk_of(s, VICTIM)->ledger);
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

/* --- a checkpoint from before everything --- */

/* The only checkpoint is the one before the first hello, of an empty ledger: the steps tell. */
static void test_the_servers_steps_tell_what_an_old_checkpoint_cannot(void **state)
{
    static const char *const modes[][2] = {
        {NULL}, {"protocol.aggregation=coded"}, {"training.releases=once"}};

    (void)state;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        struct sim_options o = three(1000);
        struct sim *s;
        uint32_t sent;

        o.sets[2] = modes[m][0];
        if (m == 2) {
            o.sets[3] = "model.fusion=sum";
            o.party_sets[0] = "model.train=frozen";
        }
        s = sim_new(&o);
        sim_run_to_step(s, 3);
        assert_int_equal(asked(s, VICTIM), 0);
        die(s, 0, PARTIES - 1, &(struct sim_ledger){0});
        sim_run(s, DOWN_US / 2);
        sent = messages_with_data(s);
        sim_run(s, HOUR_US);
        for (uint32_t i = 0; i < PARTIES; i++)
            expect_refused(s, i, "by the server's steps it had come to 3");
        assert_int_equal(messages_with_data(s), sent);
        sim_free(s);
    }
}

/* Refused once, such a party is refused again: what it then saves asks for no less. */
static void test_a_refused_checkpoint_stays_refused(void **state)
{
    struct sim_options o = three(1000);
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run_to_step(s, 9);
    die(s, 0, PARTIES - 1, &(struct sim_ledger){0});
    sim_run(s, HOUR_US);
    for (int again = 0; again < 3; again++) {
        struct sim *next = sim_resume(s);

        sim_free(s);
        s = next;
        sim_run(s, HOUR_US);
        expect_refused(s, VICTIM, "by the server's steps it had come to ");
    }
    sim_free(s);
}

/* --- no checkpoint at all --- */

static void as_one_that_resumes(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->join.resumes = true;
}

/* The server takes in a party that comes without the model that it had, which it must not. */
static void let_in(struct sim *s)
{
    for (int i = 0; i < PARTIES; i++)
        sim_rule(s,
                 (struct sim_rule){
                     .act = SIM_ALTER, .from = i, .kind = WIRE_JOIN, .alter = as_one_that_resumes});
}

/* Those from `first` to `last` die, and come back without their checkpoints; the ledger is lost too
 * if `ledger`. */
static void lose_folders(struct sim *s, int first, int last, bool ledger)
{
    let_in(s);
    for (int who = first; who <= last; who++)
        sim_break_at(s, (struct sim_break){.what = SIM_DEATH,
                                           .who = who,
                                           .at_us = sim_now_us(s) + 1,
                                           .down_us = DOWN_US,
                                           .lose_saved = true,
                                           .lose_ledger = ledger});
}

static void expect_lacking_steps(struct sim *s, uint32_t party, unsigned steps)
{
    char words[64];

    snprintf(words, sizeof words, "ends at 0, and by the server's steps it had come to %u", steps);
    expect_refused(s, party, words);
}

/* The same federation again, each party from what it had on its disk, as the dead are. */
static struct sim *from_the_disks(struct sim *s)
{
    struct sim *next;

    for (uint32_t i = 0; i < PARTIES; i++)
        s->party[i].up_us = 1;
    next = sim_resume(s);
    sim_free(s);
    return next;
}

/* Each of them keeps a checkpoint before it is refused, in which no step is paid: so the
 * processes that start from it are refused as well. */
static void test_all_state_folders_deleted_at_once_are_missed_by_the_steps(void **state)
{
    struct sim_options o = three(1000);
    struct sim *s = sim_new(&o);
    uint32_t sent;

    (void)state;
    sim_run_to_step(s, 11);
    lose_folders(s, 0, PARTIES - 1, true);
    sim_run(s, DOWN_US / 2);
    sent = messages_with_data(s);
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < PARTIES; i++)
        expect_lacking_steps(s, i, 11);
    assert_int_equal(messages_with_data(s), sent);
    for (int again = 0; again < 3; again++) {
        s = from_the_disks(s);
        sim_run(s, HOUR_US);
        for (uint32_t i = 0; i < PARTIES; i++)
            expect_lacking_steps(s, i, 11);
        assert_int_equal(messages_with_data(s), 0);
    }
    sim_free(s);
}

static void test_a_lost_folder_is_missed_where_no_checkpoints_are_kept(void **state)
{
    struct sim_options o = three(1000);
    struct sim *s;

    (void)state;
    o.diskless = 1u << VICTIM;
    s = sim_new(&o);
    sim_run_to_step(s, 5);
    lose_folders(s, VICTIM, VICTIM, true);
    sim_run(s, HOUR_US);
    expect_lacking_steps(s, VICTIM, 5);
    sim_free(s);
}

/* The ledger has the steps, and that is all that is asked of it: with or without checkpoints a
 * party is sent what it has missed. */
static void test_an_intact_ledger_goes_on_without_a_checkpoint(void **state)
{
    (void)state;
    for (uint64_t diskless = 0; diskless < 1u << PARTIES; diskless++) {
        struct sim_options o = three(1000);
        struct sim *s;

        o.diskless = diskless;
        s = sim_new(&o);
        sim_run_to_step(s, 11);
        lose_folders(s, 0, PARTIES - 1, false);
        sim_run(s, HOUR_US);
        expect_completed(s);
        sim_free(s);
    }
}

/* The server comes back from its journal; the parties have been there all the time. */
static void test_parties_without_checkpoints_outlive_their_server(void **state)
{
    struct sim_options o = three(3);
    struct sim *s;

    (void)state;
    o.diskless = (1u << PARTIES) - 1;
    s = sim_new(&o);
    sim_run_to_step(s, 11);
    sim_kill_at(s, SIM_SERVER, sim_now_us(s) + 1);
    sim_run(s, HOUR_US);
    expect_completed(s);
    sim_free(s);
}

/* The first checkpoint of a run asks for the numbers of the runs before, too. */
static void test_numbers_of_earlier_runs_do_not_stand_for_steps(void **state)
{
    struct sim_options o = three(1000);
    struct sim *s = sim_new(&o);
    struct sim_ledger l;

    (void)state;
    for (uint32_t i = 0; i < PARTIES; i++)
        disk_of(s, i)->ledger.number = 800;
    sim_run_to_step(s, 11);
    l = disk_of(s, VICTIM)->ledger;
    l.number = 805;
    die(s, VICTIM, VICTIM, &l);
    sim_run(s, HOUR_US);
    expect_refused(s, VICTIM, "by the server's steps it had come to 810");
    sim_free(s);
}

/* --- a server that lies --- */

static void two_steps_more(struct wire_msg *m, void *owner)
{
    (void)owner;
    m->offer.step += 2;
}

/* From its next offer to the victim on. */
static void lie(struct sim *s)
{
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = SIM_SERVER,
                                  .party = VICTIM,
                                  .kind = WIRE_OFFER,
                                  .alter = two_steps_more});
}

static void expect_both_named(struct sim *s)
{
    expect_refused(s, VICTIM,
                   "it was put back, replaced or deleted, or the server claims steps "
                   "that were never done: ask another party how far the run is");
}

/* The ledger is whole: the words must not send its operator after it alone. */
static void test_steps_that_were_never_done_are_not_the_ledgers_fault_alone(void **state)
{
    struct sim_options o = three(3);
    struct sim *s = sim_new(&o);
    uint32_t sent;

    (void)state;
    sim_run_to_step(s, 11);
    lie(s);
    die(s, VICTIM, VICTIM, &disk_of(s, VICTIM)->ledger);
    sim_run(s, DOWN_US / 2);
    sent = sim_sent(s, VICTIM, WIRE_HELLO);
    sim_run(s, HOUR_US);
    expect_both_named(s);
    assert_int_equal(sim_sent(s, VICTIM, WIRE_HELLO), sent);
    sim_free(s);
}

/* Nor does the lie stay: what was kept goes on with a server that says how it is. */
static void test_a_lie_to_a_party_that_begins_costs_it_nothing_later(void **state)
{
    struct sim_options o = three(3);
    struct sim *s = sim_new(&o), *next;

    (void)state;
    lie(s);
    sim_run(s, HOUR_US);
    expect_both_named(s);
    assert_int_equal(messages_with_data(s), 0);
    next = sim_resume(s);
    sim_free(s);
    sim_run(next, HOUR_US);
    expect_completed(next);
    sim_free(next);
}

/* --- by order --- */

/* `last`: where the ledger ends. */
static void forget(struct sim *s, uint32_t party, uint64_t last)
{
    struct sim_disk *d = disk_of(s, party);
    uint64_t was;

    assert_true(party_train_forget_ledger(d->saved.data, d->saved.len, last, &was));
    if (d->before.len > 0)
        assert_true(party_train_forget_ledger(d->before.data, d->before.len, last, &was));
}

static void test_an_operator_who_lets_the_ledger_go_goes_on(void **state)
{
    static const uint32_t every[] = {3, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        struct sim_options o = three(every[i]);
        struct sim *s = sim_new(&o);

        sim_run_to_step(s, 11);
        die(s, 0, PARTIES - 1, &(struct sim_ledger){0});
        sim_run(s, DOWN_US / 2);
        for (uint32_t k = 0; k < PARTIES; k++)
            forget(s, k, 0);
        sim_run(s, HOUR_US);
        expect_completed(s);
        assert_true(disk_of(s, VICTIM)->ledger.number >= 9);
        sim_free(s);
    }
}

/* A folder that is lost: what its refused process has kept is a place for the order. */
static void test_an_operator_who_has_lost_all_lets_it_go_after_a_refusal(void **state)
{
    struct sim_options o = three(1000);
    struct sim *s = sim_new(&o);

    (void)state;
    sim_run_to_step(s, 11);
    lose_folders(s, 0, PARTIES - 1, true);
    sim_run(s, HOUR_US);
    for (uint32_t i = 0; i < PARTIES; i++) {
        expect_lacking_steps(s, i, 11);
        assert_false(sim_party_report(s, i)->progress.begun);
        assert_true(party_checkpoint_needed(sim_party_report(s, i), OUTCOME_FAILED));
        forget(s, i, 0);
    }
    s = from_the_disks(s);
    sim_run(s, HOUR_US);
    expect_completed(s);
    assert_false(sim_party_report(s, VICTIM)->progress.lacking);
    sim_free(s);
}

static void test_bytes_of_another_version_are_not_changed(void **state)
{
    uint8_t bytes[512] = {5}, same[512] = {5};
    uint64_t was = 7;

    (void)state;
    assert_false(party_train_forget_ledger(bytes, sizeof bytes, 3, &was));
    assert_false(party_train_forget_ledger(bytes, 4, 3, &was));
    assert_false(party_train_forget_ledger(NULL, 0, 3, &was));
    assert_memory_equal(bytes, same, sizeof bytes);
    assert_int_equal(was, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_ledgers_deleted_at_once_are_missed_by_the_checkpoints),
        cmocka_unit_test(test_one_number_less_than_at_the_checkpoint_is_refused),
        cmocka_unit_test(test_a_later_ledger_than_the_checkpoint_goes_on),
        cmocka_unit_test(test_the_servers_steps_tell_what_an_old_checkpoint_cannot),
        cmocka_unit_test(test_a_refused_checkpoint_stays_refused),
        cmocka_unit_test(test_all_state_folders_deleted_at_once_are_missed_by_the_steps),
        cmocka_unit_test(test_a_lost_folder_is_missed_where_no_checkpoints_are_kept),
        cmocka_unit_test(test_an_intact_ledger_goes_on_without_a_checkpoint),
        cmocka_unit_test(test_parties_without_checkpoints_outlive_their_server),
        cmocka_unit_test(test_numbers_of_earlier_runs_do_not_stand_for_steps),
        cmocka_unit_test(test_steps_that_were_never_done_are_not_the_ledgers_fault_alone),
        cmocka_unit_test(test_a_lie_to_a_party_that_begins_costs_it_nothing_later),
        cmocka_unit_test(test_an_operator_who_lets_the_ledger_go_goes_on),
        cmocka_unit_test(test_an_operator_who_has_lost_all_lets_it_go_after_a_refusal),
        cmocka_unit_test(test_bytes_of_another_version_are_not_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
