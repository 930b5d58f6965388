/* job.h -- what a federation plays: a table of functions for each kind of job.
 *
 * The happy path: offer -> ready -> say (the hello) -> begin (a set, under its keys) -> confirm,
 * check -> start -> message, work, done, and so on -> end.  A job calls nobody back: what it wants
 * done is in the actions, and what follows for the session is what it returns.  Which of its own
 * phases it is in it moves itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_JOB_H
#define COLONNADE_PARTY_JOB_H

#include "common/base/buf.h"
#include "common/flow/sm.h"
#include "common/secagg/secagg.h"
#include "party/federation.h"
#include "party/setup.h"

#include <stdatomic.h>

/* What a session lends to a job, for as long as that lasts.  What is behind `error` is written by
 * the job: of training train.c and close.c. */
struct party_host {
    const struct party_setup *setup;
    const struct party_set *set;
    const atomic_bool *stop; /* another thread wants the work to end early */
    struct sm *sm;
    struct error *error; /* why something was refused, or failed */
    struct spans *spans;
};

enum party_next {
    PARTY_WAIT,   /* for the next event */
    PARTY_READY,  /* in AGREE: the hello may be said */
    PARTY_REFUSE, /* *error says why: the server is told, and the job is over */
    PARTY_ACCUSE, /* *error says why not with a certain member (accused): the server is told.  Where
                     somebody is done without, the generation is over, for this party, and it waits
                     for the next offer; elsewhere the job is over */
    PARTY_FAIL,   /* the same without a word */
    PARTY_DONE,   /* it is over, and well */
};

/* `state` is the job's own. */
struct party_job {
    const char *kind;

    /* With what has been saved of this job (setup->saved), or nothing. */
    enum status (*new)(void **state, const struct party_host *host) MUST_USE;
    void (*free)(void *state); /* wipes */

    /* --- a set comes together --- */
    void (*join)(const void *state, struct wire_join *j); /* how far it has come */
    /* Its text, for the set that set->members will be. */
    enum status (*offer)(void *state, struct actions *a, const struct wire_offer *o) MUST_USE;
    /* The offer was refused for its set alone, where somebody is done without: this party takes
     * part among all of the roster, and waits for more of them; NULL: never. */
    bool (*wants_more)(const void *state);
    /* What this party signs that it plays: the digest of the text that it holds
     * (common/flow/job.h), which is not taken from an offer. */
    const uint8_t *(*digest)(const void *state);
    /* The generation has begun: what is to be done before a hello?  PARTY_READY: nothing. */
    enum party_next (*ready)(void *state, struct actions *a);
    void (*say)(const void *state, struct wire_hello *h); /* of itself */
    /* All hellos are in set->hellos: whom it will be played with, under these keys. */
    enum status (*begin)(void *state, const struct secagg_pair *pairs) MUST_USE;
    void (*confirm)(const void *state, struct agree_confirm *c); /* of what it has seen */
    enum status (*check)(void *state, const struct wire_confirms *cs) MUST_USE;
    void (*start)(void *state); /* all hold one view: into the first phase of its own */
    /* Whoever is late, lost or at odds with another costs it that one alone; NULL: never. */
    bool (*does_without)(const void *state);

    /* --- it is played --- */
    /* Of a kind that the phase expects and the session does not know. */
    enum party_next (*message)(void *state, struct actions *a, const struct wire_msg *m);
    void (*work)(void *state); /* on any thread */
    /* What an action asked for: EVENT_DONE, EVENT_CHARGED, EVENT_KEPT. */
    enum party_next (*done)(void *state, struct actions *a, const struct event *e);
    /* Whom PARTY_ACCUSE was about: roster index + 1; NULL: it is never said. */
    uint32_t (*accused)(const void *state);
    /* Nothing for patience_ms(). */
    enum party_next (*timer)(void *state, bool connected);
    uint64_t (*patience_ms)(const void *state);
    void (*lost)(void *state); /* the set is no more, nor are its keys */

    /* --- its end --- */
    /* The server says that it is over, and well. */
    enum party_next (*dismissed)(void *state, const struct wire_finish *f);
    void (*end)(void *state, struct actions *a);

    enum status (*save)(const void *state, struct buf *out) MUST_USE; /* for a later process */
    void (*report)(const void *state, struct party_report *r);
};

#endif
