/* job.h -- what a federation plays: a table of functions for each kind of job.
 *
 * The happy path: begin (a set has agreed on keys) -> message, work, done ... -> NEXT_FINISH.  A
 * new generation may begin in between, whenever the set changes.  Each function says what follows;
 * none calls the federation back but for the services of members.h.  Where a line says so a
 * function may be NULL: then nothing is done, and nobody is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_JOB_H
#define COLONNADE_SERVER_JOB_H

#include "server/federation.h"

enum server_job_state { JOB_FRESH, JOB_BEGUN, JOB_DONE };

struct server_job {
    /* --- a set comes together; s is the job's own state --- */
    /* The process has begun.  *over: the job was done before. */
    struct server_next (*start)(void *s, struct actions *a, bool *over); /* or NULL */
    /* f->error says why this party cannot take part. */
    enum status (*fits)(void *s, uint32_t peer, const struct wire_join *j); /* or NULL */
    void (*joined)(void *s, uint32_t peer, const struct wire_join *j);      /* or NULL */
    /* Somebody has joined while a round is under way. */
    struct server_next (*came)(void *s, struct actions *a);
    /* Under straggler wait: after so long those who stay away are done without (away.h); 0, or
     * NULL: they never are. */
    uint32_t (*away_ms)(const void *s);
    uint64_t (*step)(const void *s); /* that the offer speaks of; or NULL: 0 */
    /* WIRE_DIGEST_BYTES that tell this playing of a job from all others; or NULL: zeros. */
    const uint8_t *(*playing)(const void *s);
    /* Steps of the run at its best evaluation so far; or NULL: it keeps none. */
    uint64_t (*best)(const void *s);
    /* All hellos are in, by member: f->error says what is wrong with them.  Or NULL. */
    enum status (*agreed)(void *s, const struct agree_hello *hellos);
    enum status (*prepare)(void *s); /* all have confirmed: memory for such a set; or NULL */
    struct server_next (*begin)(void *s, struct actions *a); /* with the set as it is */

    /* --- it is played --- */
    /* Of this generation, of a kind that the phase expects. */
    struct server_next (*message)(void *s, struct actions *a, uint32_t peer,
                                  const struct wire_msg *m);
    /* Any message before it is looked at; and one of a generation that is over.  Or NULL. */
    enum status (*arrival)(void *s, uint32_t peer, const struct wire_msg *m);
    enum status (*overtaken)(void *s, uint32_t peer, const struct wire_msg *m);
    /* Out of time in a phase of the job's own, and these members may be left behind; NULL: nobody
     * may.  NEXT_LATE: they are, or the job fails. */
    struct server_next (*timer)(void *s, struct actions *a, const char *missing);
    /* An open job: rows are asked for, or its end.  And: is nobody asked anything just now, so that
     * what runs out is the job's own time?  Or NULL, both. */
    struct server_next (*asked)(void *s, struct actions *a);
    bool (*rests)(const void *s);
    /* The set changes, and what is under way is void; or NULL. */
    void (*voided)(void *s);
    /* A member has left: does what is under way go on without it?  Then it is settled. */
    bool (*lost)(void *s, bool had_answered);
    struct server_next (*settle)(void *s, struct actions *a);
    void (*left_behind)(void *s, uint32_t peer); /* or NULL */
    /* What it wants written first goes to `out` (APPEND, TURN); `written` says what became of it.
     */
    void (*work)(void *s, struct actions *out);
    struct server_next (*done)(void *s, struct actions *a, const struct error *written);
    /* What it asked for by RECALL is there, or not; NULL: it never asks. */
    struct server_next (*recalled)(void *s, struct actions *a, const struct error *result);
    struct server_next (*kept)(void *s, struct actions *a,
                               const struct error *result); /* or NULL */

    /* --- what there is of it --- */
    /* Largest frame a member may send, and the server; NULL: those of a federation without a job.
     */
    void (*frames)(const void *s, size_t *up, size_t *down);
    enum server_job_state (*state)(const void *s);
    /* JOB_DONE, and no party is there to do anything for: what is left is the server's own. */
    struct server_next (*complete)(void *s, struct actions *a);
    /* Where the protocol is over and the job is not (it has moved to OVER): it is told each event.
     * NULL: it never does. */
    struct server_next (*alone)(void *s, struct actions *a, const struct event *e);
    void (*ended)(void *s, enum wire_outcome outcome); /* or NULL */
};

#endif
