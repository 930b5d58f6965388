/* driver.h -- between a session core and the world: what is told when, and what is done in which
 * order.
 *
 * A core knows one thing at a time.  While a piece of work is under way (WORK, CHARGE, RECALL) it
 * is told nothing: the driver holds losses, a durable checkpoint, a stop, a cancel, the timer and
 * the news that somebody asks back, and tells them in this order after the work's own answer.  Each
 * may ask for more work; what is left is then held on.  What is held is held once: of several
 * losses of one peer the first counts, but a reason that is not the network's stands above one that
 * is.  What a core asks for is done in the order of its list, and its piece of work after all else.
 * There is one piece of work at a time and one checkpoint.  When a message could not be packed
 * (memory), the rest of the list is done, but no work is begun: the core is told EVENT_UNSENT.
 *
 * With ACTION_FINISH a job ends, and the driver with it: nothing more is done, and nothing told.
 * For a core that plays one job after another it goes on (driver_stand).
 *
 * It knows no socket, no thread and no clock: the calls below are the surroundings, a daemon's
 * (common/reactor) or those of tests/sim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FLOW_DRIVER_H
#define COLONNADE_FLOW_DRIVER_H

#include "common/flow/action.h"
#include "common/flow/event.h"

/* None of them calls the driver. */
struct driver_calls {
    /* The core's step. */
    void (*step)(void *owner, const struct event *e, struct actions *out);
    /* Does one of these: SEND, ARM, DISARM, KEEP (begins it: driver_kept when it has ended), DROP,
     * REPORT, FORGET, FINISH, and a CHARGE that gives back.  STATUS_MEMORY: a SEND that could not
     * be packed; all else has to be STATUS_OK. */
    enum status (*act)(void *owner, const struct action *a);
    /* Begins WORK, CHARGE or RECALL.  True: it has ended already, with *result (given as none) for
     * the answer; false: driver_done comes when it has, and until then nobody may call the core,
     * nor driver_tell with a message. */
    bool (*begin)(void *owner, const struct action *a, struct error *result);
    /* A stop waits for the work under way, which may end early.  May be NULL. */
    void (*interrupt)(void *owner);
    /* The end of a job waits for its checkpoint: no messages until it does not.  NULL where no
     * driver stands. */
    void (*pause)(void *owner, bool on);
};

struct driver {
    const struct driver_calls *calls;
    void *owner;
    struct actions actions; /* of the last step */
    bool in_step, working, keeping, over;
    bool stands, stopped;        /* stopped: an order to has been told */
    const struct action *ending; /* a FINISH that waits for the checkpoint under way */
    enum event_kind answer;      /* to the work under way */
    /* Held back.  Losses are rare and looked for after each work: what is looked at is apart from
     * their reasons, which are half a kilobyte each. */
    bool lost[WIRE_MEMBERS_MAX];
    struct error lost_why[WIRE_MEMBERS_MAX];
    bool kept, stop, cancel, timer, asked;
    struct error kept_result;
};

/* `calls` and `owner` outlive the driver.  There is nothing to free. */
void driver_init(struct driver *d, const struct driver_calls *calls, void *owner);
/* It goes on after the end of a job; said once, before anything is told.  FINISH then waits for a
 * checkpoint under way, whose bytes are that job's, as the core waits for its work; that it is
 * durable nobody is told.  So no job hears of what the one before has kept, or keeps something at
 * the same time.  The driver is over with the FINISH that answers EVENT_STOP, between two jobs,
 * too. */
void driver_stand(struct driver *d);

/* START, JOINED, MESSAGE (never while work is under way), LOST, STOP, CANCEL, TIMER, ASKED.  What
 * `e` points to may go when this returns. */
void driver_tell(struct driver *d, const struct event *e);
/* The work under way has ended.  True: none is now, and the core may be told what it likes. */
bool driver_done(struct driver *d, const struct error *result);
/* The checkpoint under way is durable, or not. */
void driver_kept(struct driver *d, const struct error *result);

bool driver_works(const struct driver *d); /* the core belongs to its work, or to its last words */
bool driver_over(const struct driver *d);

#endif
