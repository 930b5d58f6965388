/* reactor.h -- a driver (common/flow/driver.h) under libuv: one timer, one piece of work and one
 * checkpoint at a time on the pool, SIGTERM and SIGINT as an order to stop, SIGHUP to read files
 * again.
 *
 * All runs on one thread, the reactor's, but for `work` and `keep`.  What is said to the core is
 * said through `driver`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_REACTOR_REACTOR_H
#define COLONNADE_REACTOR_REACTOR_H

#include "common/flow/driver.h"

#include <uv.h>

struct reactor_calls {
    /* The core's step, and its actions but for ARM, DISARM, KEEP and what `work` is for: as in
     * driver.h.  A FINISH with which the driver is over has to call reactor_close. */
    void (*step)(void *owner, const struct event *e, struct actions *out);
    enum status (*act)(void *owner, const struct action *a);
    /* WORK, CHARGE and RECALL: on a thread of the pool, while nothing is told to the core; work of
     * less than about a millisecond on the reactor's own.  *result comes as none. */
    void (*work)(void *owner, const struct action *a, struct error *result);
    /* The same while the core goes on. */
    void (*keep)(void *owner, const struct wire_bytes *kept, struct error *result);
    /* Work has begun on the pool, or the end of a job waits for its checkpoint: no message may be
     * told any more; or that has ended. */
    void (*pause)(void *owner, bool on);
    void (*reload)(void *owner);    /* SIGHUP; the core may be at work */
    void (*interrupt)(void *owner); /* as in driver.h; may be NULL */
};

struct reactor {
    uv_loop_t uv;
    struct driver driver;
    /* The rest is the reactor's own. */
    const struct reactor_calls *calls;
    void *owner;
    uv_timer_t timer;
    uv_signal_t sigterm, sigint, sighup;
    uv_work_t work, keep;
    const struct action *asked; /* the work under way: the core leaves it alone */
    struct wire_bytes kept;     /* the checkpoint under way, likewise */
    struct error worked, keep_result;
};

/* From here on signals are taken.  `calls` and `owner` outlive the reactor. */
void reactor_init(struct reactor *r, const struct reactor_calls *calls, void *owner);
/* Timer and signals end, once; a reactor without other handles then runs out. */
void reactor_close(struct reactor *r);
/* Until no handle is left; then the loop is closed. */
void reactor_run(struct reactor *r);

#endif
