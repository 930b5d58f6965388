/* test_reactor.c -- a core under a reactor: what runs on which thread, and in which order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/reactor/reactor.h"

#include "common/base/check.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LONG_FLOPS 1e9

/* What is noted by the reactor's thread, and by others under `lock`. */
struct host {
    struct reactor reactor;
    pthread_t own;
    sem_t go; /* work on the pool waits for it */
    char noted[512];
    void (*answer)(struct host *h, const struct event *e, struct actions *out);
    bool pool[2]; /* work, keep: not on the reactor's thread */
};

static void note(struct host *h, const char *what)
{
    size_t n = strlen(h->noted);

    CHECK(n + strlen(what) + 2 < sizeof h->noted);
    sprintf(h->noted + n, "%s ", what);
}

static void step(void *owner, const struct event *e, struct actions *out)
{
    static const char *const words[] = {
        [EVENT_START] = "START",     [EVENT_JOINED] = "JOINED",     [EVENT_LOST] = "LOST",
        [EVENT_MESSAGE] = "MESSAGE", [EVENT_TIMER] = "TIMER",       [EVENT_DONE] = "DONE",
        [EVENT_CHARGED] = "CHARGED", [EVENT_KEPT] = "KEPT",         [EVENT_UNSENT] = "UNSENT",
        [EVENT_STOP] = "STOP",       [EVENT_RECALLED] = "RECALLED", [EVENT_CANCEL] = "CANCEL",
    };
    struct host *h = owner;

    assert_true(pthread_equal(pthread_self(), h->own) != 0);
    note(h, words[e->kind]);
    h->answer(h, e, out);
}

static enum status act(void *owner, const struct action *a)
{
    struct host *h = owner;

    note(h, a->kind == ACTION_FINISH ? "finish" : "send");
    if (a->kind == ACTION_FINISH)
        reactor_close(&h->reactor);
    return STATUS_OK;
}

static void work(void *owner, const struct action *a, struct error *result)
{
    struct host *h = owner;

    h->pool[0] = pthread_equal(pthread_self(), h->own) == 0;
    if (h->pool[0])
        sem_wait(&h->go);
    if (a->kind == ACTION_CHARGE)
        error_set(result, STATUS_BUDGET, "no");
}

static void keep(void *owner, const struct wire_bytes *kept, struct error *result)
{
    struct host *h = owner;

    h->pool[1] = pthread_equal(pthread_self(), h->own) == 0;
    if (kept->n != 3)
        result->status = STATUS_IO;
}

static void pause_reading(void *owner, bool on)
{
    note(owner, on ? "pause" : "go-on");
}

static void reload(void *owner)
{
    note(owner, "reload");
    sem_post(&((struct host *)owner)->go);
}

static void interrupt(void *owner)
{
    note(owner, "interrupt");
    sem_post(&((struct host *)owner)->go);
}

static const char *play(struct host *h,
                        void (*answer)(struct host *, const struct event *, struct actions *))
{
    static const struct reactor_calls calls = {
        .step = step,
        .act = act,
        .work = work,
        .keep = keep,
        .pause = pause_reading,
        .reload = reload,
        .interrupt = interrupt,
    };

    h->own = pthread_self();
    h->noted[0] = 0;
    h->answer = answer;
    h->pool[0] = h->pool[1] = false;
    assert_int_equal(sem_init(&h->go, 0, 0), 0);
    reactor_init(&h->reactor, &calls, h);
    driver_tell(&h->reactor.driver, &(struct event){.kind = EVENT_START});
    reactor_run(&h->reactor);
    sem_destroy(&h->go);
    return h->noted;
}

static struct host host;

static void end(struct actions *out)
{
    actions_add(out, ACTION_FINISH);
}

/* --- cores --- */

static void timer_core(struct host *h, const struct event *e, struct actions *out)
{
    (void)h;
    if (e->kind == EVENT_TIMER) {
        end(out);
        return;
    }
    actions_add(out, ACTION_ARM)->after_ms = 1;
    actions_add(out, ACTION_DISARM);
    actions_add(out, ACTION_ARM)->after_ms = 0;
}

static void test_the_timer_is_told_once(void **state)
{
    (void)state;
    assert_string_equal(play(&host, timer_core), "START TIMER finish ");
}

static void short_core(struct host *h, const struct event *e, struct actions *out)
{
    (void)h;
    if (e->kind == EVENT_START)
        actions_add(out, ACTION_WORK)->flops = 1;
    else
        end(out);
    actions_add(out, ACTION_SEND);
}

static void test_short_work_is_done_at_once_on_the_reactors_thread(void **state)
{
    (void)state;
    assert_string_equal(play(&host, short_core), "START send DONE finish ");
    assert_false(host.pool[0]);
}

/* A stop comes while the pool is at work, and only the interruption lets that end. */
static void long_core(struct host *h, const struct event *e, struct actions *out)
{
    (void)h;
    if (e->kind == EVENT_START) {
        actions_add(out, ACTION_WORK)->flops = LONG_FLOPS;
        raise(SIGTERM);
    } else if (e->kind == EVENT_STOP) {
        end(out);
    }
}

static void test_a_stop_during_long_work_interrupts_it_and_is_told_behind_it(void **state)
{
    (void)state;
    assert_string_equal(play(&host, long_core), "START pause interrupt DONE STOP finish ");
    assert_true(host.pool[0]);
}

static void charge_core(struct host *h, const struct event *e, struct actions *out)
{
    if (e->kind == EVENT_START) {
        actions_add(out, ACTION_CHARGE)->charge.give_back = false;
        sem_post(&h->go);
    } else if (e->kind == EVENT_CHARGED) {
        assert_int_equal(e->error->status, STATUS_BUDGET);
        assert_string_equal(e->error->text, "no");
        actions_add(out, ACTION_ARM)->after_ms = 0;
    } else {
        end(out);
    }
}

static void test_a_charge_is_always_the_pools(void **state)
{
    (void)state;
    assert_string_equal(play(&host, charge_core), "START pause CHARGED go-on TIMER finish ");
    assert_true(host.pool[0]);
}

/* The checkpoint ends while work is held up by this very test: the core hears of it behind that. */
static void keep_core(struct host *h, const struct event *e, struct actions *out)
{
    (void)h;
    if (e->kind == EVENT_START) {
        actions_add(out, ACTION_KEEP)->kept = (struct wire_bytes){(const uint8_t *)"abc", 3};
        actions_add(out, ACTION_ARM)->after_ms = 0;
    } else if (e->kind == EVENT_KEPT) {
        assert_int_equal(e->error->status, STATUS_OK);
        end(out);
    }
}

static void test_the_core_goes_on_while_a_checkpoint_is_written(void **state)
{
    const char *noted = play(&host, keep_core);

    (void)state;
    assert_true(strcmp(noted, "START TIMER KEPT finish ") == 0 ||
                strcmp(noted, "START KEPT finish ") == 0);
    assert_true(host.pool[1]);
}

static void reload_core(struct host *h, const struct event *e, struct actions *out)
{
    (void)h;
    if (e->kind == EVENT_START) {
        actions_add(out, ACTION_WORK)->flops = LONG_FLOPS;
        raise(SIGHUP);
    } else {
        end(out);
    }
}

static void test_files_are_read_again_during_work(void **state)
{
    (void)state;
    assert_string_equal(play(&host, reload_core), "START pause reload DONE finish ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_timer_is_told_once),
        cmocka_unit_test(test_short_work_is_done_at_once_on_the_reactors_thread),
        cmocka_unit_test(test_a_stop_during_long_work_interrupts_it_and_is_told_behind_it),
        cmocka_unit_test(test_a_charge_is_always_the_pools),
        cmocka_unit_test(test_the_core_goes_on_while_a_checkpoint_is_written),
        cmocka_unit_test(test_files_are_read_again_during_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
