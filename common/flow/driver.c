/* driver.c -- one event after another to a core, and its actions in order.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/driver.h"

void driver_init(struct driver *d, const struct driver_calls *calls, void *owner)
{
    d->calls = calls;
    d->owner = owner;
    d->actions.n = 0;
    d->in_step = d->working = d->keeping = d->over = false;
    d->kept = d->stop = d->cancel = d->timer = d->asked = false;
    d->stands = d->stopped = false;
    d->ending = NULL;
    for (size_t i = 0; i < WIRE_MEMBERS_MAX; i++)
        d->lost[i] = false;
}

void driver_stand(struct driver *d)
{
    CHECK(d->calls->pause != NULL);
    d->stands = true;
}

/* --- actions --- */

/* What the core waits for, and what tells it of the end. */
static bool is_work(const struct action *a, enum event_kind *answer)
{
    if (a->kind == ACTION_WORK)
        *answer = EVENT_DONE;
    else if (a->kind == ACTION_CHARGE && !a->charge.give_back)
        *answer = EVENT_CHARGED;
    else if (a->kind == ACTION_RECALL)
        *answer = EVENT_RECALLED;
    else
        return false;
    return true;
}

/* False: a message that did not go out. */
static bool act(struct driver *d, const struct action *a)
{
    enum status s;

    if (a->kind == ACTION_ARM || a->kind == ACTION_DISARM)
        d->timer = false; /* an older one that ran out meanwhile counts no more */
    CHECK(a->kind != ACTION_KEEP || !d->keeping);
    d->keeping |= a->kind == ACTION_KEEP;
    CHECK(a->kind != ACTION_APPEND && a->kind != ACTION_TURN); /* work asks for these */
    s = d->calls->act(d->owner, a);
    CHECK(s == STATUS_OK || (s == STATUS_MEMORY && a->kind == ACTION_SEND));
    return s == STATUS_OK;
}

static void end_job(struct driver *d, const struct action *finish)
{
    d->over = !d->stands || d->stopped;
    d->ending = NULL;
    CHECK(act(d, finish));
}

static void finish(struct driver *d, const struct action *a)
{
    if (d->kept) /* while it worked */
        d->keeping = d->kept = false;
    if (!d->keeping || !d->stands) {
        end_job(d, a);
        return;
    }
    d->ending = a;
    d->calls->pause(d->owner, true);
}

/* One step of the core and all that it asks for.  True: *e is what it has to be told at once; its
 * error is *result. */
static bool step(struct driver *d, struct event *e, struct error *result)
{
    const struct action *work = NULL;
    bool unsent = false;

    d->actions.n = 0;
    d->stopped |= e->kind == EVENT_STOP;
    d->calls->step(d->owner, e, &d->actions);
    for (size_t i = 0; i < d->actions.n; i++) {
        const struct action *a = &d->actions.item[i];
        if (a->kind == ACTION_FINISH) {
            finish(d, a);
            return false;
        }
        if (is_work(a, &d->answer)) {
            CHECK(work == NULL);
            work = a;
        } else if (!act(d, a)) {
            unsent = true;
        }
    }
    if (work == NULL && !unsent)
        return false;
    *e = (struct event){.kind = unsent ? EVENT_UNSENT : d->answer, .error = result};
    *result = (struct error){0};
    if (unsent)
        return true;
    d->working = true;
    if (!d->calls->begin(d->owner, work, result))
        return false;
    d->working = false;
    return true;
}

static void run(struct driver *d, const struct event *e)
{
    struct event next = *e;
    struct error result;

    CHECK(!driver_works(d) && !d->in_step); /* the core belongs to its work, or is being told */
    d->in_step = true;
    while (step(d, &next, &result))
        ;
    d->in_step = false;
}

/* --- events --- */

static void hold_loss(bool *held, struct error *held_why, const struct error *why)
{
    bool of_the_network = status_kind(held_why->status) == STATUS_KIND_NONE ||
                          status_kind(held_why->status) == STATUS_KIND_NET;

    if (!*held || (of_the_network && status_kind(why->status) != STATUS_KIND_NONE &&
                   status_kind(why->status) != STATUS_KIND_NET))
        *held_why = *why;
    *held = true;
}

static void hold(struct driver *d, const struct event *e)
{
    switch (e->kind) {
    case EVENT_LOST:
        CHECK(e->peer < WIRE_MEMBERS_MAX);
        hold_loss(&d->lost[e->peer], &d->lost_why[e->peer], e->error);
        break;
    case EVENT_TIMER: d->timer = true; break;
    case EVENT_STOP:
        d->stop = true;
        if (d->working && d->calls->interrupt != NULL)
            d->calls->interrupt(d->owner);
        break;
    case EVENT_CANCEL: d->cancel = true; break;
    case EVENT_ASKED: d->asked = true; break;
    case EVENT_START:
    case EVENT_JOINED:
    case EVENT_MESSAGE:
    case EVENT_DONE:
    case EVENT_CHARGED:
    case EVENT_RECALLED:
    case EVENT_KEPT:
    case EVENT_UNSENT: CHECK(!"the core is at work: nobody may say anything to it");
    }
}

void driver_tell(struct driver *d, const struct event *e)
{
    CHECK(e->kind != EVENT_DONE && e->kind != EVENT_CHARGED && e->kind != EVENT_RECALLED &&
          e->kind != EVENT_KEPT && e->kind != EVENT_UNSENT); /* these are the driver's own */
    if (driver_works(d))
        hold(d, e);
    else if (!d->over)
        run(d, e);
}

static bool tell_once(struct driver *d, bool *held, const struct event *e)
{
    const bool was = *held;

    *held = false;
    if (was)
        run(d, e);
    return was;
}

static void tell_kept(struct driver *d, const struct error *result)
{
    d->keeping = false;
    if (!d->over)
        run(d, &(struct event){.kind = EVENT_KEPT, .error = result});
}

/* The next of what is held; false: nothing is. */
static bool tell_held(struct driver *d)
{
    for (uint32_t i = 0; i < WIRE_MEMBERS_MAX; i++) {
        const struct event e = {.kind = EVENT_LOST, .peer = i, .error = &d->lost_why[i]};
        if (tell_once(d, &d->lost[i], &e))
            return true;
    }
    if (d->kept) {
        d->kept = false;
        tell_kept(d, &d->kept_result);
        return true;
    }
    return tell_once(d, &d->stop, &(struct event){.kind = EVENT_STOP}) ||
           tell_once(d, &d->cancel, &(struct event){.kind = EVENT_CANCEL}) ||
           tell_once(d, &d->timer, &(struct event){.kind = EVENT_TIMER}) ||
           tell_once(d, &d->asked, &(struct event){.kind = EVENT_ASKED});
}

static void tell_all_held(struct driver *d)
{
    while (!driver_works(d) && !d->over && tell_held(d))
        ;
}

bool driver_done(struct driver *d, const struct error *result)
{
    const struct event e = {.kind = d->answer, .error = result};

    CHECK(d->working);
    d->working = false;
    run(d, &e);
    tell_all_held(d);
    return !driver_works(d);
}

/* The job that it was of is over, and has nothing more to hear. */
static void kept_at_the_end(struct driver *d)
{
    d->keeping = false;
    end_job(d, d->ending);
    tell_all_held(d);
    if (!driver_works(d) && !d->over)
        d->calls->pause(d->owner, false);
}

void driver_kept(struct driver *d, const struct error *result)
{
    CHECK(d->keeping && !d->kept);
    if (d->ending != NULL) {
        kept_at_the_end(d);
        return;
    }
    d->kept = d->working;
    if (d->working)
        d->kept_result = *result;
    else
        tell_kept(d, result);
}

bool driver_works(const struct driver *d)
{
    return d->working || d->ending != NULL;
}

bool driver_over(const struct driver *d)
{
    return d->over;
}
