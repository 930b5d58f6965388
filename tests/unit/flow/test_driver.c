/* test_driver.c -- the driver's laws, over all orders of events and all that a core may answer.
 *
 * A run of the first test is a row of choices: what happens next in the world, and what the core
 * asks for when it is told.  All rows up to a length are played.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/driver.h"

#include "tests/lib/aborts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { EVENTS_MAX = 5, ASKED_MAX = 3, CHOICES_MAX = 64, PEERS = 2 };

/* --- choices --- */

static struct {
    unsigned made[CHOICES_MAX], of[CHOICES_MAX];
    size_t n, at;
} choices;

static unsigned choose(unsigned of)
{
    assert_true(choices.at < CHOICES_MAX);
    if (choices.at == choices.n) {
        choices.made[choices.n] = 0;
        choices.of[choices.n++] = of;
    }
    assert_int_equal(choices.of[choices.at], of); /* the same choices lead to the same place */
    return choices.made[choices.at++];
}

/* The next row; false: that was the last. */
static bool next_row(void)
{
    choices.at = 0;
    while (choices.n > 0 && choices.made[choices.n - 1] + 1 == choices.of[choices.n - 1])
        choices.n--;
    if (choices.n == 0)
        return false;
    choices.made[choices.n - 1]++;
    return true;
}

/* --- a core that asks for what is chosen, in a world that looks at all that is done --- */

enum asked { NOTHING, LONG_WORK, SHORT_WORK, CHARGE, RECALL, KEEP, ARM, UNSENT, END, ASKED };

/* In the order in which they are told when they were held back. */
enum held {
    HELD_LOST,
    HELD_KEPT = HELD_LOST + PEERS,
    HELD_STOP,
    HELD_CANCEL,
    HELD_TIMER,
    HELD_ASKED,
    HELDS
};

static struct {
    struct driver driver;
    unsigned asked_n, done; /* done: of the list of the last step */
    bool working, keeping, over, unsent, interrupted;
    bool stands, stopped, ending, paused; /* ending: a FINISH waits for the checkpoint */
    unsigned jobs;                        /* that have ended */
    enum event_kind answer;               /* that must be told next; EVENT_START: anything may be */
    bool due[HELDS];                      /* has happened, and was not told yet */
    int told_last;                        /* of enum held, since work ended; -1: none */
    unsigned told[EVENT_STOP + 1];
} world;

static int held_of(const struct event *e)
{
    if (e->kind == EVENT_LOST)
        return HELD_LOST + (int)e->peer;
    return e->kind == EVENT_KEPT     ? HELD_KEPT
           : e->kind == EVENT_STOP   ? HELD_STOP
           : e->kind == EVENT_CANCEL ? HELD_CANCEL
           : e->kind == EVENT_TIMER  ? HELD_TIMER
           : e->kind == EVENT_ASKED  ? HELD_ASKED
                                     : -1;
}

static void look_at(const struct event *e)
{
    const int held = held_of(e);

    assert_false(world.working);
    assert_false(world.over);
    assert_false(world.ending);
    world.stopped |= e->kind == EVENT_STOP;
    assert_int_equal(e->kind == EVENT_UNSENT, world.unsent);
    world.unsent = false;
    if (world.answer != EVENT_START)
        assert_int_equal(e->kind, world.answer);
    world.answer = EVENT_START;
    world.told[e->kind]++;
    if (held < 0)
        return;
    assert_true(world.due[held]);
    world.due[held] = false;
    assert_true(world.told_last < held);
    world.told_last = held;
    if (held == HELD_KEPT)
        world.keeping = false;
}

/* Each list has a message before and behind what is asked for, which is not the last of it. */
static void ask(enum asked what, struct actions *out)
{
    actions_add(out, ACTION_SEND);
    if (what == LONG_WORK || what == SHORT_WORK || what == UNSENT)
        actions_add(out, ACTION_WORK)->flops = what == SHORT_WORK ? 0 : 1;
    if (what == CHARGE)
        actions_add(out, ACTION_CHARGE)->charge.give_back = false;
    if (what == RECALL)
        actions_add(out, ACTION_RECALL);
    if (what == KEEP && !world.keeping)
        actions_add(out, ACTION_KEEP);
    if (what == ARM)
        actions_add(out, choose(2) == 0 ? ACTION_ARM : ACTION_DISARM);
    if (what == UNSENT)
        actions_add(out, ACTION_SEND)->to_n = 1;
    if (what == END)
        actions_add(out, ACTION_FINISH);
    actions_add(out, ACTION_SEND);
    actions_add(out, ACTION_CHARGE)->charge.give_back = true;
}

static void step(void *owner, const struct event *e, struct actions *out)
{
    assert_ptr_equal(owner, &world);
    assert_int_equal(out->n, 0);
    look_at(e);
    world.done = 0;
    ask(world.asked_n++ < ASKED_MAX ? (enum asked)choose(ASKED) : NOTHING, out);
}

static bool begun_last(const struct action *a)
{
    return a->kind == ACTION_WORK || a->kind == ACTION_RECALL ||
           (a->kind == ACTION_CHARGE && !a->charge.give_back);
}

/* Of the last list this one is next, but for work. */
static void in_order(const struct action *a)
{
    const struct actions *all = &world.driver.actions;

    if (begun_last(&all->item[world.done]))
        world.done++;
    assert_ptr_equal(a, &all->item[world.done++]);
}

static enum status act(void *owner, const struct action *a)
{
    assert_ptr_equal(owner, &world);
    assert_false(world.over);
    assert_false(world.working);
    assert_false(begun_last(a));
    in_order(a);
    if (a->kind == ACTION_KEEP) {
        assert_false(world.keeping);
        world.keeping = true;
    }
    if (a->kind == ACTION_ARM || a->kind == ACTION_DISARM)
        world.due[HELD_TIMER] = false;
    if (a->kind == ACTION_FINISH) {
        world.over = !world.stands || world.stopped;
        world.keeping &= !world.due[HELD_KEPT];
        world.due[HELD_KEPT] = false;
        /* The next job may keep what it likes, and so may the end of this one. */
        assert_false(world.keeping && world.stands);
        world.ending = world.unsent = false;
        world.jobs++;
    }
    if (a->kind != ACTION_SEND || a->to_n == 0)
        return STATUS_OK;
    world.unsent = true;
    return STATUS_MEMORY;
}

static bool begin(void *owner, const struct action *a, struct error *result)
{
    assert_ptr_equal(owner, &world);
    assert_true(begun_last(a));
    assert_int_equal(world.done, world.driver.actions.n); /* all else has been done */
    assert_false(world.unsent);
    assert_int_equal(result->status, STATUS_OK);
    world.answer = a->kind == ACTION_WORK     ? EVENT_DONE
                   : a->kind == ACTION_CHARGE ? EVENT_CHARGED
                                              : EVENT_RECALLED;
    world.working = a->kind != ACTION_WORK || a->flops > 0;
    return !world.working;
}

static void interrupt(void *owner)
{
    assert_ptr_equal(owner, &world);
    assert_true(world.working);
    world.interrupted = true;
}

static void pause_reading(void *owner, bool on)
{
    assert_ptr_equal(owner, &world);
    assert_true(world.stands && (on || world.paused));
    assert_false(on && world.due[HELD_KEPT]); /* it is durable */
    world.paused = on;
    world.ending |= on;
    assert_int_equal(on, world.ending);
}

static const struct driver_calls calls = {step, act, begin, interrupt, pause_reading};

static void begin_world(bool stands)
{
    world.stands = stands;
    world.stopped = world.ending = world.paused = false;
    world.asked_n = world.jobs = 0;
    world.working = world.keeping = world.over = world.unsent = world.interrupted = false;
    world.answer = EVENT_START;
    memset(world.due, 0, sizeof world.due);
    memset(world.told, 0, sizeof world.told);
    driver_init(&world.driver, &calls, &world);
    if (stands)
        driver_stand(&world.driver);
}

static bool is_busy(void)
{
    return world.working || world.ending;
}

/* --- what happens --- */

static void tell(enum event_kind kind, uint32_t peer)
{
    static const struct error why = {.status = STATUS_NET};
    const struct event e = {.kind = kind, .peer = peer, .error = &why};
    const int held = held_of(&e);
    const bool stopped = kind == EVENT_STOP && world.working;

    if (held >= 0)
        world.due[held] = true;
    world.interrupted = false;
    driver_tell(&world.driver, &e);
    assert_int_equal(world.interrupted, stopped);
}

static void happens(void)
{
    static const struct error fine;
    const bool was_working = world.working;
    bool free_now;

    world.told_last = -1;
    switch (choose(7)) {
    case 0: /* what the core waits for, or else a message */
        if (!is_busy())
            tell(EVENT_MESSAGE, 0); /* none is read otherwise */
        if (!was_working)
            break;
        world.working = false;
        free_now = driver_done(&world.driver, &fine);
        assert_int_equal(free_now, !is_busy());
        world.paused &= !free_now; /* as whoever has begun the work does */
        break;
    case 1: tell(EVENT_LOST, choose(PEERS)); break;
    case 2: tell(EVENT_STOP, 0); break;
    case 3: tell(EVENT_TIMER, 0); break;
    case 4: tell(EVENT_CANCEL, 0); break;
    case 6: tell(EVENT_ASKED, 0); break;
    case 5:
        if (!world.keeping || world.due[HELD_KEPT])
            break;
        world.due[HELD_KEPT] = !world.ending;
        world.keeping = !world.ending;
        driver_kept(&world.driver, &fine);
        break;
    }
}

/* Whatever has happened was told, once, unless the core is at work or there is none any more. */
static void nothing_is_left(void)
{
    assert_int_equal(driver_works(&world.driver), is_busy());
    assert_int_equal(driver_over(&world.driver), world.over);
    assert_true(world.paused || !world.ending);
    assert_true(!world.paused || is_busy() || world.over);
    for (int i = 0; i < HELDS; i++)
        assert_false(world.due[i] && !is_busy() && !world.over);
    assert_false(world.unsent && !world.over);
}

static void laws_hold(bool stands)
{
    unsigned long rows = 0, further = 0, told[EVENT_STOP + 1] = {0};

    do {
        begin_world(stands);
        for (int i = 0; i < EVENTS_MAX && !world.over; i++) {
            happens();
            nothing_is_left();
        }
        for (int i = 0; i <= EVENT_STOP; i++)
            told[i] += world.told[i];
        further += world.jobs > 1;
        rows++;
    } while (next_row());
    assert_true(rows > 100000); /* all of them, and each kind of event in some */
    for (int i = EVENT_LOST; i <= EVENT_STOP; i++)
        assert_true(told[i] > 0);
    assert_int_equal(further > 0, stands);
}

static void test_laws_hold_over_all_orders_of_events_and_answers(void **state)
{
    (void)state;
    laws_hold(false);
}

/* A job's end is not the core's: it is told what happens, but nothing of what that job kept. */
static void test_they_hold_for_one_job_after_another(void **state)
{
    (void)state;
    laws_hold(true);
}

/* --- one order that matters, written out --- */

static char told[256];

static void note_step(void *owner, const struct event *e, struct actions *out)
{
    static const char *const words[] = {
        [EVENT_START] = "start",     [EVENT_JOINED] = "joined",     [EVENT_LOST] = "lost",
        [EVENT_MESSAGE] = "message", [EVENT_TIMER] = "timer",       [EVENT_DONE] = "done",
        [EVENT_CHARGED] = "charged", [EVENT_KEPT] = "kept",         [EVENT_UNSENT] = "unsent",
        [EVENT_STOP] = "stop",       [EVENT_RECALLED] = "recalled", [EVENT_CANCEL] = "cancel",
        [EVENT_ASKED] = "asked",
    };
    size_t n = strlen(told);

    (void)owner;
    n += (size_t)snprintf(told + n, sizeof told - n, "%s", words[e->kind]);
    if (e->kind == EVENT_LOST)
        n += (size_t)snprintf(told + n, sizeof told - n, " %u %s", e->peer, e->error->text);
    snprintf(told + n, sizeof told - n, "; ");
    if (e->kind == EVENT_MESSAGE) {
        actions_add(out, ACTION_WORK);
        actions_add(out, ACTION_KEEP);
    }
}

static enum status note_act(void *owner, const struct action *a)
{
    (void)owner;
    (void)a;
    return STATUS_OK;
}

static bool never_at_once(void *owner, const struct action *a, struct error *result)
{
    (void)owner;
    (void)a;
    (void)result;
    return false;
}

static const struct driver_calls notes = {note_step, note_act, never_at_once, NULL, NULL};

static void lose(struct driver *d, uint32_t peer, enum status s, const char *text)
{
    struct error why = {.status = s};

    snprintf(why.text, sizeof why.text, "%s", text);
    driver_tell(d, &(struct event){.kind = EVENT_LOST, .peer = peer, .error = &why});
    memset(&why, 0xff, sizeof why); /* it may go */
}

static void test_what_was_held_is_told_in_one_order(void **state)
{
    static struct driver d;
    const struct error fine = {0};

    (void)state;
    told[0] = 0;
    driver_init(&d, &notes, NULL);
    driver_tell(&d, &(struct event){.kind = EVENT_MESSAGE});
    driver_tell(&d, &(struct event){.kind = EVENT_ASKED});
    driver_tell(&d, &(struct event){.kind = EVENT_TIMER});
    driver_tell(&d, &(struct event){.kind = EVENT_STOP});
    driver_kept(&d, &fine);
    lose(&d, WIRE_MEMBERS_MAX - 1, STATUS_OK, "closed");
    lose(&d, 3, STATUS_NET, "reset");
    assert_string_equal(told, "message; ");
    assert_true(driver_done(&d, &fine));
    assert_string_equal(told, "message; done; lost 3 reset; lost 255 closed; kept; stop; timer; "
                              "asked; ");
    assert_false(driver_works(&d));
}

/* The first reason counts; but one that is not the network's is why nobody need try again. */
static void test_of_two_reasons_the_graver_is_told(void **state)
{
    static const struct {
        enum status first, second;
        bool second_told;
    } pairs[] = {
        {STATUS_NET, STATUS_NET, false},     {STATUS_OK, STATUS_NET, false},
        {STATUS_NET, STATUS_POLICY, true},   {STATUS_OK, STATUS_MEMORY, true},
        {STATUS_POLICY, STATUS_NET, false},  {STATUS_POLICY, STATUS_OK, false},
        {STATUS_POLICY, STATUS_AUTH, false}, {STATUS_PATIENCE, STATUS_AUTH, true},
    };
    static struct driver d;
    const struct error fine = {0};

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        told[0] = 0;
        driver_init(&d, &notes, NULL);
        driver_tell(&d, &(struct event){.kind = EVENT_MESSAGE});
        lose(&d, 0, pairs[i].first, "first");
        lose(&d, 0, pairs[i].second, "second");
        assert_true(driver_done(&d, &fine));
        assert_string_equal(told, pairs[i].second_told ? "message; done; lost 0 second; "
                                                       : "message; done; lost 0 first; ");
    }
}

/* --- mistakes of the surroundings and of the core --- */

static void at_work(struct driver *d)
{
    driver_init(d, &notes, NULL);
    driver_tell(d, &(struct event){.kind = EVENT_MESSAGE});
}

static void message_at_work(void *arg)
{
    at_work(arg);
    driver_tell(arg, &(struct event){.kind = EVENT_MESSAGE});
}

static void join_at_work(void *arg)
{
    at_work(arg);
    driver_tell(arg, &(struct event){.kind = EVENT_JOINED});
}

static void done_without_work(void *arg)
{
    driver_init(arg, &notes, NULL);
    driver_done(arg, &(struct error){0});
}

static void kept_twice(void *arg)
{
    at_work(arg);
    driver_kept(arg, &(struct error){0});
    driver_kept(arg, &(struct error){0});
}

static void told_what_is_the_drivers(void *arg)
{
    driver_init(arg, &notes, NULL);
    driver_tell(arg, &(struct event){.kind = EVENT_DONE});
}

static void two_works(void *owner, const struct event *e, struct actions *out)
{
    (void)owner;
    (void)e;
    actions_add(out, ACTION_WORK);
    actions_add(out, ACTION_WORK);
}

static void two_keeps(void *owner, const struct event *e, struct actions *out)
{
    (void)owner;
    (void)e;
    actions_add(out, ACTION_KEEP);
    actions_add(out, ACTION_KEEP);
}

static void writes(void *owner, const struct event *e, struct actions *out)
{
    (void)owner;
    (void)e;
    actions_add(out, ACTION_APPEND); /* work asks for that, no step */
}

static void start_with(void (*core)(void *, const struct event *, struct actions *))
{
    static struct driver d;
    struct driver_calls c = notes;

    c.step = core;
    driver_init(&d, &c, NULL);
    driver_tell(&d, &(struct event){.kind = EVENT_START});
}

static void work_twice(void *arg)
{
    (void)arg;
    start_with(two_works);
}

static void keep_twice(void *arg)
{
    (void)arg;
    start_with(two_keeps);
}

static void write_in_a_step(void *arg)
{
    (void)arg;
    start_with(writes);
}

static void test_mistakes_end_the_process(void **state)
{
    static struct driver d;

    (void)state;
    assert_true(aborts(message_at_work, &d));
    assert_true(aborts(join_at_work, &d));
    assert_true(aborts(done_without_work, &d));
    assert_true(aborts(kept_twice, &d));
    assert_true(aborts(told_what_is_the_drivers, &d));
    assert_true(aborts(work_twice, NULL));
    assert_true(aborts(keep_twice, NULL));
    assert_true(aborts(write_in_a_step, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws_hold_over_all_orders_of_events_and_answers),
        cmocka_unit_test(test_they_hold_for_one_job_after_another),
        cmocka_unit_test(test_what_was_held_is_told_in_one_order),
        cmocka_unit_test(test_of_two_reasons_the_graver_is_told),
        cmocka_unit_test(test_mistakes_end_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
