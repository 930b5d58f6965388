/* test_restore.c -- a checkpoint and its ledger: one that ends before the checkpoint was made, or
 * lacks what the steps since have taken, is refused by the party itself, though no other one
 * remembers it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "party/core.h"
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

static void run_to_step(struct sim *s, uint64_t step)
{
    uint64_t us = 100;

    while (sim_server_report(s)->steps < step) {
        uint64_t before = sim_now_us(s);
        sim_run(s, us);
        us = sim_now_us(s) == before ? us + 100 : 100;
    }
}

/* What its last durable checkpoint asks of a ledger. */
static uint64_t asked(struct sim *s, uint32_t party)
{
    struct buf copy;
    uint64_t number = 0;

    buf_init(&copy, 1 << 24);
    CHECK(buf_append(&copy, disk_of(s, party)->saved.data, disk_of(s, party)->saved.len) ==
          STATUS_OK);
    assert_true(party_session_forget_ledger(copy.data, copy.len, 0, &number));
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
    run_to_step(s, 11);
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

    run_to_step(s, 11);
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
    run_to_step(s, 17);
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
        run_to_step(s, 3);
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
    run_to_step(s, 9);
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

/* --- by order --- */

/* `last`: where the ledger ends. */
static void forget(struct sim *s, uint32_t party, uint64_t last)
{
    struct sim_disk *d = disk_of(s, party);
    uint64_t was;

    assert_true(party_session_forget_ledger(d->saved.data, d->saved.len, last, &was));
    if (d->before.len > 0)
        assert_true(party_session_forget_ledger(d->before.data, d->before.len, last, &was));
}

static void test_an_operator_who_lets_the_ledger_go_goes_on(void **state)
{
    static const uint32_t every[] = {3, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        struct sim_options o = three(every[i]);
        struct sim *s = sim_new(&o);

        run_to_step(s, 11);
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

static void test_bytes_of_another_version_are_not_changed(void **state)
{
    uint8_t bytes[512] = {5}, same[512] = {5};
    uint64_t was = 7;

    (void)state;
    assert_false(party_session_forget_ledger(bytes, sizeof bytes, 3, &was));
    assert_false(party_session_forget_ledger(bytes, 4, 3, &was));
    assert_false(party_session_forget_ledger(NULL, 0, 3, &was));
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
        cmocka_unit_test(test_an_operator_who_lets_the_ledger_go_goes_on),
        cmocka_unit_test(test_bytes_of_another_version_are_not_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
