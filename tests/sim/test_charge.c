/* test_charge.c -- every release stands in the ledger before it is sent, once, under its own set.
 *
 * The steps of charge.c alone, with a ledger of plain counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/purse.h"

#include "common/base/check.h"
#include "common/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { ROWS = 23, BATCH = 5, ROUNDS = 5, TEST_ROWS = 100, LONG_ROWS = 500 };

/* The parts that it takes. */
struct charging {
    struct party_course course;
    struct party_purse purse;
    struct party_task task;
};

static struct charging *p;
static struct actions actions;
/* Releases in the ledger and releases sent, by split and row. */
static int held[2][LONG_ROWS], sent[2][LONG_ROWS];

static void start(uint32_t rows, uint32_t batch, double epochs)
{
    p = mem_alloc(1, sizeof *p);
    CHECK(p != NULL);
    plan_defaults(&p->course.plan);
    p->course.plan.shape.train_rows = rows;
    p->course.plan.shape.test_rows = TEST_ROWS;
    p->course.plan.training.batch = batch;
    p->course.plan.training.epochs = epochs;
    p->course.plan.training.evaluate_train = true;
    agenda_make(&p->course.agenda, &p->course.plan);
    CHECK(schedule_init(&p->course.schedule, agenda_seed(&p->course.plan, 0), rows, batch, 1) ==
          STATUS_OK);
    p->purse.rows_max = rows > TEST_ROWS ? rows : TEST_ROWS;
    p->purse.rows = mem_alloc(p->purse.rows_max, sizeof *p->purse.rows);
    CHECK(p->purse.rows != NULL);
    p->purse.mechanism.parties = 5;
    p->purse.mechanism.colluders = 1;
    p->purse.witness.seen_n = 5;
    memset(held, 0, sizeof held);
    memset(sent, 0, sizeof sent);
}

static void stop(void)
{
    schedule_deinit(&p->course.schedule);
    mem_free(p->purse.rows);
    mem_free(p);
}

/* What a ledger works out from the stretch that it keeps, now and later, is what was charged. */
static void check_stretch(const struct action_charge *c)
{
    static uint32_t rows[LONG_ROWS + TEST_ROWS];
    struct ledger_walk walk = {.ready = false};

    if (c->rounds == 0)
        return;
    assert_true(c->n <= sizeof rows / sizeof *rows);
    assert_int_equal(ledger_walk_rows(&walk, &c->stretch, rows, c->n), STATUS_OK);
    assert_memory_equal(rows, c->rows, c->n * sizeof *rows);
    ledger_walk_deinit(&walk);
}

/* What the driver does with the charges of one step.  Returns how many there were. */
static size_t commit(void)
{
    size_t charges = 0;

    for (size_t i = 0; i < actions.n; i++) {
        const struct action_charge *c = &actions.item[i].charge;

        assert_int_equal(actions.item[i].kind, ACTION_CHARGE);
        assert_int_equal(c->mechanism.parties, p->purse.mechanism.parties);
        check_stretch(c);
        for (size_t r = 0; r < c->n; r++) {
            int *h = &held[c->purpose != PURPOSE_EVALUATE_TEST][c->rows[r]];
            *h += c->give_back ? -1 : 1;
            assert_true(*h >= sent[c->purpose != PURPOSE_EVALUATE_TEST][c->rows[r]]);
        }
        charges++;
    }
    actions.n = 0;
    return charges;
}

static void send_row(enum wire_purpose purpose, uint32_t row)
{
    size_t split = purpose != PURPOSE_EVALUATE_TEST;

    sent[split][row]++;
    assert_true(sent[split][row] <= held[split][row]);
}

/* One training round; returns whether it needed a charge. */
static bool train(uint64_t step)
{
    const uint32_t *row;
    uint32_t n;
    bool ready;

    p->task = (struct party_task){.open = true, .purpose = PURPOSE_TRAIN, .place = step};
    ready = party_reserved(&p->purse, &p->course, &p->task, &actions);
    assert_int_equal(commit(), !ready);
    row = schedule_batch(&p->course.schedule, step, &n);
    for (uint32_t i = 0; i < n; i++)
        send_row(PURPOSE_TRAIN, row[i]);
    return !ready;
}

static bool evaluate(enum wire_purpose purpose, uint64_t sweep, uint32_t place, uint32_t rows)
{
    bool ready;

    p->task = (struct party_task){.open = true,
                                  .purpose = purpose,
                                  .place = place,
                                  .sweep = sweep,
                                  .rows = rows,
                                  .coded = rows};
    ready = party_reserved(&p->purse, &p->course, &p->task, &actions);
    assert_int_equal(commit(), !ready);
    for (uint32_t i = 0; i < rows; i++)
        send_row(purpose, place + i);
    return !ready;
}

/* Releases held beyond what was sent. */
static int unsent(void)
{
    int n = 0;

    for (int split = 0; split < 2; split++) {
        for (int r = 0; r < LONG_ROWS; r++)
            n += held[split][r] - sent[split][r];
    }
    return n;
}

static void test_a_run_charges_each_epoch_once_and_exactly_what_it_sends(void **state)
{
    (void)state;
    start(ROWS, BATCH, 3);
    for (uint64_t step = 0; step < p->course.agenda.steps; step++)
        assert_int_equal(train(step), step % ROUNDS == 0);
    assert_int_equal(unsent(), 0);
    party_give_back(&p->purse, &p->course, &actions);
    assert_int_equal(commit(), 0);
    stop();
}

static void test_no_block_is_longer_than_the_most_or_goes_beyond_the_last_step(void **state)
{
    size_t charges = 0;

    (void)state;
    start(LONG_ROWS, 2, 1.5);
    assert_int_equal(p->course.agenda.rounds_per_epoch, 250);
    assert_int_equal(p->course.agenda.steps, 375);
    for (uint64_t step = 0; step < p->course.agenda.steps; step++) {
        bool charged = train(step);

        assert_int_equal(charged, step % 250 % PARTY_CHARGE_ROUNDS == 0);
        charges += charged;
    }
    assert_int_equal(charges, 2 + 1);
    assert_int_equal(unsent(), 0);
    stop();
}

static void test_a_repeated_round_is_charged_on_its_own(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    assert_true(train(0));
    assert_true(train(0));
    assert_true(train(0));
    assert_int_equal(unsent(), ROWS - BATCH); /* the rest of the epoch stays reserved */
    assert_false(train(1));
    assert_true(train(1));
    assert_false(train(2));
    assert_false(train(3));
    assert_false(train(4));
    assert_int_equal(unsent(), 0);
    assert_true(train(4));
    assert_true(train(5));
    stop();
}

static void test_the_unsent_rest_is_given_back_once(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    assert_true(train(0));
    assert_false(train(1));
    assert_int_equal(unsent(), ROWS - 2 * BATCH);
    party_give_back(&p->purse, &p->course, &actions);
    assert_true(actions.item[0].charge.give_back);
    assert_int_equal(commit(), 1);
    assert_int_equal(unsent(), 0);
    party_give_back(&p->purse, &p->course, &actions);
    assert_int_equal(commit(), 0);
    assert_true(train(2)); /* charged anew */
    assert_int_equal(unsent(), ROWS - 3 * BATCH);
    stop();
}

static void test_another_set_gives_back_and_charges_under_its_own_mechanism(void **state)
{
    struct account_entry next;

    (void)state;
    start(ROWS, BATCH, 2);
    assert_true(train(0));
    next = p->purse.mechanism;
    party_use_mechanism(&p->purse, &p->course, &actions,
                        next); /* the same set again: nothing to do */
    assert_int_equal(commit(), 0);
    assert_false(train(1));
    for (int change = 0; change < 2; change++) {
        next = p->purse.mechanism;
        next.parties -= change == 0;
        next.colluders += change == 1;
        party_use_mechanism(&p->purse, &p->course, &actions, next);
        assert_int_equal(actions.n, 1);
        assert_true(actions.item[0].charge.give_back);
        assert_int_equal(actions.item[0].charge.mechanism.parties, change == 0 ? 5 : 4);
        assert_int_equal(actions.item[0].charge.mechanism.colluders, 1);
        assert_int_equal(p->purse.mechanism.parties, 4);
        actions.item[0].charge.mechanism = p->purse.mechanism; /* looked at above */
        assert_int_equal(commit(), 1);
        assert_int_equal(unsent(), 0);
        assert_true(train(2 + (uint64_t)change));
    }
    assert_false(train(4));
    stop();
}

/* What a set without the server's own party changes: nothing else follows how many there are. */
static void test_another_sigma_alone_gives_back_and_charges_anew(void **state)
{
    struct account_entry next;

    (void)state;
    start(ROWS, BATCH, 2);
    p->purse.mechanism.kind = ACCOUNT_GAUSSIAN;
    p->purse.mechanism.sigma = 1.25;
    assert_true(train(0));
    next = p->purse.mechanism;
    next.sigma = 1.5;
    party_use_mechanism(&p->purse, &p->course, &actions, next);
    assert_int_equal(actions.n, 1);
    assert_true(actions.item[0].charge.give_back);
    assert_true(actions.item[0].charge.mechanism.sigma == 1.25 && p->purse.mechanism.sigma == 1.5);
    assert_int_equal(commit(), 1);
    assert_int_equal(unsent(), 0);
    assert_true(train(1));
    assert_false(train(2));
    stop();
}

static void test_a_refused_charge_is_neither_used_nor_given_back(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    p->task = (struct party_task){.open = true, .purpose = PURPOSE_TRAIN, .place = 0};
    assert_false(party_reserved(&p->purse, &p->course, &p->task, &actions));
    actions.n = 0; /* the ledger said no */
    party_forget_reserves(&p->purse);
    party_give_back(&p->purse, &p->course, &actions);
    assert_int_equal(commit(), 0);
    assert_true(train(0));
    stop();
}

static void test_a_sweep_is_charged_at_its_first_round_and_each_sweep_anew(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    for (uint64_t sweep = 1; sweep <= 3; sweep++) {
        assert_true(evaluate(PURPOSE_EVALUATE_TEST, sweep, 0, 40));
        assert_int_equal(unsent(), TEST_ROWS - 40);
        assert_false(evaluate(PURPOSE_EVALUATE_TEST, sweep, 40, 40));
        assert_false(evaluate(PURPOSE_EVALUATE_TEST, sweep, 80, 20));
        assert_int_equal(unsent(), 0);
        assert_true(evaluate(PURPOSE_EVALUATE_TRAIN, sweep, 0, 20));
        assert_false(evaluate(PURPOSE_EVALUATE_TRAIN, sweep, 20, 3));
        assert_int_equal(unsent(), 0);
    }
    stop();
}

static void test_sweeps_that_follow_each_other_are_charged_once_each(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    for (uint64_t sweep = 1; sweep <= 3; sweep++) {
        for (uint32_t place = 0; place < TEST_ROWS; place += 25)
            assert_int_equal(evaluate(PURPOSE_EVALUATE_TEST, sweep, place, 25), place == 0);
        assert_int_equal(unsent(), 0);
    }
    stop();
}

static void test_a_repeated_round_of_a_sweep_is_charged_on_its_own(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    assert_true(evaluate(PURPOSE_EVALUATE_TEST, 1, 0, 40));
    assert_true(evaluate(PURPOSE_EVALUATE_TEST, 1, 0, 40));
    assert_int_equal(unsent(), TEST_ROWS - 40);
    assert_false(evaluate(PURPOSE_EVALUATE_TEST, 1, 40, 40));
    assert_false(evaluate(PURPOSE_EVALUATE_TEST, 1, 80, 20));
    assert_true(evaluate(PURPOSE_EVALUATE_TEST, 1, 80, 20));
    assert_int_equal(unsent(), 0);
    stop();
}

static void test_another_set_charges_the_rest_of_a_sweep_again(void **state)
{
    struct account_entry next;

    (void)state;
    start(ROWS, BATCH, 2);
    assert_true(evaluate(PURPOSE_EVALUATE_TEST, 1, 0, 40));
    next = p->purse.mechanism;
    next.parties--;
    party_use_mechanism(&p->purse, &p->course, &actions, next);
    assert_int_equal(commit(), 0); /* what is left of a sweep is not given back */
    assert_true(evaluate(PURPOSE_EVALUATE_TEST, 1, 40, 40));
    assert_false(evaluate(PURPOSE_EVALUATE_TEST, 1, 80, 20));
    stop();
}

static void test_training_and_sweeps_do_not_touch_each_others_reserves(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    assert_true(train(0));
    assert_true(evaluate(PURPOSE_EVALUATE_TEST, 1, 0, 40));
    assert_false(train(1));
    assert_false(evaluate(PURPOSE_EVALUATE_TEST, 1, 40, 60));
    assert_false(train(2));
    assert_int_equal(unsent(), ROWS - 3 * BATCH);
    stop();
}

/* --- numbers --- */

/* The only charge there is. */
static const struct action_charge *charged(void)
{
    assert_int_equal(actions.n, 1);
    return &actions.item[0].charge;
}

static void ask(uint64_t step)
{
    p->task = (struct party_task){.open = true, .purpose = PURPOSE_TRAIN, .place = step};
    assert_false(party_reserved(&p->purse, &p->course, &p->task, &actions));
}

static void test_a_charge_says_where_it_begins_and_how_many_rounds_it_pays_for(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    ask(0);
    assert_int_equal(charged()->place, 0);
    assert_int_equal(charged()->rounds, ROUNDS);
    assert_ptr_equal(charged()->plan, p->course.digest);
    assert_int_equal(commit(), 1);
    ask(0); /* repeated */
    assert_int_equal(charged()->rounds, 1);
    assert_int_equal(commit(), 1);
    assert_false(train(1));
    party_give_back(&p->purse, &p->course, &actions);
    assert_int_equal(charged()->place, 2);
    assert_int_equal(charged()->rounds, ROUNDS - 2);
    assert_int_equal(commit(), 1);
    p->task = (struct party_task){
        .open = true, .purpose = PURPOSE_EVALUATE_TEST, .sweep = 1, .place = 0, .coded = 40};
    assert_false(party_reserved(&p->purse, &p->course, &p->task, &actions));
    /* All rows fit one round of an evaluation: whoever cuts them smaller pays for each. */
    assert_int_equal(charged()->rounds, 1);
    assert_int_equal(commit(), 1);
    stop();
}

static void test_rounds_of_a_sweep_are_those_of_the_agenda(void **state)
{
    uint32_t most;

    (void)state;
    start(LONG_ROWS, 2, 1);
    p->course.plan.model.embedding = 65536; /* so that a round takes few rows */
    most = agenda_round_places(&p->course.plan);
    assert_true(most < TEST_ROWS / 3);
    p->task = (struct party_task){
        .open = true, .purpose = PURPOSE_EVALUATE_TEST, .sweep = 1, .place = 0, .coded = most};
    assert_false(party_reserved(&p->purse, &p->course, &p->task, &actions));
    assert_int_equal(charged()->rounds, (TEST_ROWS + most - 1) / most);
    assert_int_equal(party_unopened(&p->purse, &p->course.plan), (TEST_ROWS + most - 1) / most - 1);
    assert_int_equal(commit(), 1);
    stop();
}

static void test_what_is_reserved_and_not_opened_is_counted(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    assert_int_equal(party_unopened(&p->purse, &p->course.plan), 0);
    for (uint64_t step = 0; step < ROUNDS; step++) {
        assert_int_equal(train(step), step == 0);
        assert_int_equal(party_unopened(&p->purse, &p->course.plan), ROUNDS - 1 - step);
    }
    assert_true(train(0)); /* a repetition reserves nothing */
    assert_int_equal(party_unopened(&p->purse, &p->course.plan), 0);
    assert_true(train(ROUNDS));
    assert_int_equal(party_unopened(&p->purse, &p->course.plan), ROUNDS - 1);
    party_give_back(&p->purse, &p->course, &actions);
    assert_int_equal(commit(), 1);
    assert_int_equal(party_unopened(&p->purse, &p->course.plan), 0);
    stop();
}

/* How often this round may be opened again now. */
static uint64_t repetitions(struct party_task task)
{
    struct party_purse purse = p->purse;
    struct error err = {0};
    uint64_t n = 0;

    while (party_count_opened(&purse, &task, &err) == STATUS_OK)
        n++;
    assert_int_equal(STATUS_PROTOCOL, err.status);
    return n;
}

static void open_once(struct party_task task)
{
    struct error err = {0};

    assert_int_equal(STATUS_OK, party_count_opened(&p->purse, &task, &err));
}

/* Nor does what was new before this party went back. */
static void test_what_was_new_long_ago_pays_for_no_repetitions(void **state)
{
    const struct party_task last = {.purpose = PURPOSE_TRAIN, .place = 299};
    struct party_task step = last, test = {.purpose = PURPOSE_EVALUATE_TEST, .sweep = 1};

    (void)state;
    start(ROWS, BATCH, 2);
    for (step.place = 0; step.place < 300; step.place++)
        open_once(step);
    assert_int_equal(repetitions(last), WIRE_AGAIN_MAX + 1);
    for (test.place = 0; test.place < 9; test.place++) /* each is one that may be lost again */
        open_once(test);
    assert_int_equal(repetitions(last), WIRE_AGAIN_MAX + 10);
    party_opened_back(&p->purse, 100);
    for (step.place = 100; step.place < 300; step.place++)
        open_once(step);
    assert_int_equal(repetitions(last), WIRE_AGAIN_MAX + 10);
    step.place = 300;
    open_once(step);
    assert_int_equal(repetitions(step), WIRE_AGAIN_MAX + 1);
    stop();
}

static void test_what_was_seen_goes_with_each_charge_and_alone_where_none_is_due(void **state)
{
    (void)state;
    start(ROWS, BATCH, 2);
    p->purse.witness.seen[3] = 812;
    p->purse.witness.due = p->purse.witness.dirty = true;
    ask(0);
    assert_int_equal(charged()->rounds, ROUNDS);
    assert_int_equal(charged()->seen_n, 5);
    assert_int_equal(charged()->seen[3], 812);
    assert_int_equal(commit(), 1);
    assert_false(train(1)); /* reserved, and nothing new */

    p->purse.witness.due = p->purse.witness.dirty = true; /* another generation of the same set */
    ask(2);
    assert_int_equal(charged()->rounds, 0);
    assert_int_equal(charged()->n, 0);
    assert_false(charged()->give_back);
    actions.n = 0;
    assert_int_equal(party_unopened(&p->purse, &p->course.plan), ROUNDS - 3);
    assert_false(train(3));

    p->purse.witness.dirty = true; /* rounds ended since */
    party_settle_up(&p->purse, &p->course, &actions, 0);
    assert_int_equal(charged()->rounds, 1); /* given back, and with it what was seen */
    assert_int_equal(commit(), 1);
    party_settle_up(&p->purse, &p->course, &actions, 0);
    assert_int_equal(actions.n, 0);
    p->purse.witness.dirty = true;
    party_settle_up(&p->purse, &p->course, &actions, 0);
    assert_int_equal(charged()->rounds, 0);
    assert_true(charged()->give_back); /* nobody waits for it */
    actions.n = 0;
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_charges_each_epoch_once_and_exactly_what_it_sends),
        cmocka_unit_test(test_no_block_is_longer_than_the_most_or_goes_beyond_the_last_step),
        cmocka_unit_test(test_a_repeated_round_is_charged_on_its_own),
        cmocka_unit_test(test_the_unsent_rest_is_given_back_once),
        cmocka_unit_test(test_another_set_gives_back_and_charges_under_its_own_mechanism),
        cmocka_unit_test(test_another_sigma_alone_gives_back_and_charges_anew),
        cmocka_unit_test(test_a_refused_charge_is_neither_used_nor_given_back),
        cmocka_unit_test(test_a_sweep_is_charged_at_its_first_round_and_each_sweep_anew),
        cmocka_unit_test(test_sweeps_that_follow_each_other_are_charged_once_each),
        cmocka_unit_test(test_a_repeated_round_of_a_sweep_is_charged_on_its_own),
        cmocka_unit_test(test_another_set_charges_the_rest_of_a_sweep_again),
        cmocka_unit_test(test_training_and_sweeps_do_not_touch_each_others_reserves),
        cmocka_unit_test(test_a_charge_says_where_it_begins_and_how_many_rounds_it_pays_for),
        cmocka_unit_test(test_rounds_of_a_sweep_are_those_of_the_agenda),
        cmocka_unit_test(test_what_is_reserved_and_not_opened_is_counted),
        cmocka_unit_test(test_what_was_new_long_ago_pays_for_no_repetitions),
        cmocka_unit_test(test_what_was_seen_goes_with_each_charge_and_alone_where_none_is_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
