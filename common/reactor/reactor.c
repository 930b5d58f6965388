/* reactor.c -- libuv's timer, signals and pool to a driver, and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/reactor/reactor.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/daemon/options.h"

#include <signal.h>
#include <string.h>

enum { INLINE_FLOPS = 10000000 }; /* about a millisecond: more goes to the pool */

/* --- work --- */

static void work_on_thread(uv_work_t *w)
{
    struct reactor *r = w->data;

    r->calls->work(r->owner, r->asked, &r->worked);
}

static void work_ended(uv_work_t *w, int status)
{
    struct reactor *r = w->data;

    (void)status;
    if (driver_done(&r->driver, &r->worked) && !driver_over(&r->driver))
        r->calls->pause(r->owner, false);
}

static bool begin(void *owner, const struct action *a, struct error *result)
{
    struct reactor *r = owner;

    if (a->kind == ACTION_WORK && a->flops <= INLINE_FLOPS) {
        r->calls->work(r->owner, a, result);
        return true;
    }
    r->asked = a;
    r->worked = (struct error){0};
    r->calls->pause(r->owner, true);
    CHECK(uv_queue_work(&r->uv, &r->work, work_on_thread, work_ended) == 0);
    return false;
}

static void interrupt(void *owner)
{
    struct reactor *r = owner;

    if (r->calls->interrupt != NULL)
        r->calls->interrupt(r->owner);
}

static void pause_reading(void *owner, bool on)
{
    struct reactor *r = owner;

    r->calls->pause(r->owner, on);
}

/* --- checkpoints --- */

static void keep_on_thread(uv_work_t *w)
{
    struct reactor *r = w->data;

    r->calls->keep(r->owner, &r->kept, &r->keep_result);
}

static void keep_ended(uv_work_t *w, int status)
{
    struct reactor *r = w->data;

    (void)status;
    driver_kept(&r->driver, &r->keep_result);
}

static void begin_keep(struct reactor *r, const struct wire_bytes *kept)
{
    r->kept = *kept;
    r->keep_result = (struct error){0};
    CHECK(uv_queue_work(&r->uv, &r->keep, keep_on_thread, keep_ended) == 0);
}

/* --- the core --- */

static void step(void *owner, const struct event *e, struct actions *out)
{
    struct reactor *r = owner;

    r->calls->step(r->owner, e, out);
}

static void on_timer(uv_timer_t *t)
{
    struct reactor *r = t->data;

    driver_tell(&r->driver, &(struct event){.kind = EVENT_TIMER});
}

static enum status act(void *owner, const struct action *a)
{
    struct reactor *r = owner;

    if (a->kind == ACTION_ARM) {
        uv_update_time(&r->uv); /* from now, however long what came before has taken */
        uv_timer_start(&r->timer, on_timer, a->after_ms, 0);
    } else if (a->kind == ACTION_DISARM)
        uv_timer_stop(&r->timer);
    else if (a->kind == ACTION_KEEP)
        begin_keep(r, &a->kept);
    else
        return r->calls->act(r->owner, a);
    return STATUS_OK;
}

static void on_stop(uv_signal_t *s, int number)
{
    struct reactor *r = s->data;

    log_info("signal %d: ending in order", number);
    driver_tell(&r->driver, &(struct event){.kind = EVENT_STOP});
}

static void on_reload(uv_signal_t *s, int number)
{
    struct reactor *r = s->data;

    (void)number;
    r->calls->reload(r->owner);
}

/* --- life --- */

void reactor_init(struct reactor *r, const struct reactor_calls *calls, void *owner)
{
    static const struct driver_calls own = {step, act, begin, interrupt, pause_reading};

    memset(r, 0, sizeof *r);
    r->calls = calls;
    r->owner = owner;
    driver_init(&r->driver, &own, r);
    CHECK(uv_loop_init(&r->uv) == 0);
    uv_timer_init(&r->uv, &r->timer);
    uv_signal_init(&r->uv, &r->sigterm);
    uv_signal_init(&r->uv, &r->sigint);
    uv_signal_init(&r->uv, &r->sighup);
    r->timer.data = r->sigterm.data = r->sigint.data = r->sighup.data = r->work.data =
        r->keep.data = r;
    uv_signal_start(&r->sigterm, on_stop, SIGTERM);
    uv_signal_start(&r->sigint, on_stop, SIGINT);
    uv_signal_start(&r->sighup, on_reload, SIGHUP);
    options_heed_reload();
}

void reactor_close(struct reactor *r)
{
    uv_close((uv_handle_t *)&r->timer, NULL);
    uv_close((uv_handle_t *)&r->sigterm, NULL);
    uv_close((uv_handle_t *)&r->sigint, NULL);
    uv_close((uv_handle_t *)&r->sighup, NULL);
    options_heed_nothing();
}

void reactor_run(struct reactor *r)
{
    uv_run(&r->uv, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&r->uv) == 0);
}
