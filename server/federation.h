/* federation.h -- who is there, which set under which keys: the server's side, whatever the job.
 *
 * The federation outlives rounds and generations.  It admits parties, agrees with a set on keys,
 * compares ids, and then lets the job play (job.h); it knows nothing of what a job computes.
 * Files:
 *
 *   dispatch.c, jobs.c     events in, verdicts carried out; one job after another
 *   members.c, seats.c     messages to members, who answered; who is in the next set
 *   join.c, keys.c         GATHER, lost parties; AGREE, CONFIRM
 *   away.c                 a job that waits for all, and goes on without those who stay away
 *   compare.c, accused.c   are the ids those of the members; what one member says of another
 *
 * It is written by dispatch.c, jobs.c, members.c, seats.c, join.c, away.c, keys.c and accused.c;
 * what `agree` has by keys.c and compare.c, once dispatch.c has made room.  A job reads what it
 * needs, counts answers and losses through members.c and seats.c, says in `error` what went wrong,
 * and moves `sm`; it changes nothing else here, and tells by a struct server_next what follows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_FEDERATION_H
#define COLONNADE_SERVER_FEDERATION_H

#include "common/base/log.h"
#include "common/config/plan.h"
#include "common/data/table.h"
#include "common/flow/action.h"
#include "common/flow/agree.h"
#include "common/flow/event.h"
#include "common/flow/ids.h"
#include "common/flow/roster.h"
#include "common/flow/sm.h"
#include "server/generation.h"
#include "server/odds.h"

struct server_job;

enum {
    /* Threats E6: a party that fails this many rounds in a row does not get another chance to. */
    SERVER_LOSSES_MAX = 3,
    SERVER_OWED_MAX = 24, /* for rounds that came to nothing, or waits, by one party (seats.c) */
    SERVER_SENDS_MAX = 4, /* messages to many in one step */
    SERVER_REFUSED_MAX = 4,
    /* Generations that a killed server may have forgotten.  A party that claims more would drive
     * the count to where it ends; by so many a join it gets there in centuries. */
    SERVER_FORGOTTEN_MAX = 1 << 20,
};

/* What follows, as the one who was asked sees it.  `error` of the federation says why not. */
enum server_next_kind {
    NEXT_WAIT,   /* for the next event */
    NEXT_FAIL,   /* the job is over: error */
    NEXT_FINISH, /* the job is over: outcome */
    NEXT_DROP,   /* peer has broken the rules */
    NEXT_BLAME,  /* the fault of peer: it costs that one alone where the others can go on */
    NEXT_SET,    /* the set has changed: new keys, or gather again */
    NEXT_LATE    /* who has not answered is left behind */
};

struct server_next {
    enum server_next_kind kind;
    uint32_t peer;
    enum wire_outcome outcome;
};

static inline struct server_next next_of(enum server_next_kind kind)
{
    return (struct server_next){.kind = kind};
}

static inline struct server_next next_of_peer(enum server_next_kind kind, uint32_t peer)
{
    return (struct server_next){.kind = kind, .peer = peer};
}

static inline struct server_next next_finish(enum wire_outcome outcome)
{
    return (struct server_next){.kind = NEXT_FINISH, .outcome = outcome};
}

/* What a federation is about; all of it stays the caller's. */
enum { SERVER_ROWS_OWN = UINT32_MAX };

struct server_terms {
    const struct roster *roster;
    const char *kind;       /* of the job, and ... */
    struct wire_bytes text; /* ... what it says (common/flow/job.h), ... */
    const uint8_t *digest;  /* ... and is called by */
    enum plan_straggler straggler;
    uint32_t patience_ms, deadline_ms;
    uint32_t smallest;  /* set that the job can be played by */
    uint32_t colluders; /* that may lie about shares together, and nobody else is shut out for it */
    /* That each party has to have; SERVER_ROWS_OWN: how many is its own affair, and the job's to
     * judge (`agreed`). */
    uint32_t train_rows, test_rows;
    const struct table *train, *test; /* ids that the first member's are compared with; test NULL:
                                         none */
    struct ids_counts counts;
    uint32_t id_mismatches; /* that are counted of one party, at most; 0: no limit */
};

/* The join of a party that came when there was no job, for the next one. */
struct server_held {
    bool any;
    struct wire_join join; /* with this trail */
    uint8_t trail[WIRE_DIGEST_BYTES];
};

/* Sets that a party has refused for a larger one since the job last came a step forward.  Who has
 * refused SERVER_REFUSED_MAX takes part in the whole roster alone until it does; and so does, while
 * it owes for as many, who has kept the others waiting for its refusals. */
struct server_refused {
    uint32_t n;
    uint32_t since; /* of these, before it connected: it may be asked of them again */
    uint32_t late;  /* owed for those waits, less one for each that was none */
    uint64_t set[SERVER_REFUSED_MAX][WIRE_MEMBERS_MAX / 64]; /* a bit for each party */
};

/* One party of the roster. */
struct server_peer {
    bool present;         /* connected, and its join was good */
    bool excluded;        /* `drop`: too late; sits out until it is let in again */
    bool spoken;          /* has said where it is in this job; or it speaks of others */
    uint64_t spoke_again; /* ... to the offer of this generation; 0: when it joined */
    struct server_held held;
    bool answered;        /* has answered in this phase (hello, confirm, upload) */
    bool barred;          /* `drop`: lost or late too often, or at odds with too many */
    uint32_t losses;      /* times lost or late as a member, since its last whole round */
    uint32_t owed;        /* `drop`: for rounds that came to nothing by it: seats.c */
    uint32_t stalled;     /* `drop`, `async`: owed for times that others waited for it: seats.c */
    int member;           /* index in the generation; -1: none */
    uint32_t min_parties; /* smallest set its policy takes part in, as its join says */
    struct server_refused refused;
    uint64_t claimed;     /* the generation that it was refused for; 0: none */
    struct log_few comes; /* its joins in the log, and why it was dropped: as often as it likes */
};

/* What AGREE and CONFIRM have of this generation. */
struct server_agree {
    uint64_t offered_us;            /* when the set was */
    uint64_t until_us;              /* who is behind may catch up until then */
    struct agree_hello *hellos;     /* by member */
    struct agree_confirm *confirms; /* by member */
    struct wire_hello *show_hellos;
    struct wire_confirm *show_confirms;
    uint8_t sid[WIRE_DIGEST_BYTES];
    /* Comparing ids with the first member; list: of the labels, a secret. */
    uint8_t list[WIRE_DIGEST_BYTES], element[WIRE_ELEMENT_BYTES];
    uint8_t
        proof[WIRE_PROOF_BYTES]; /* of the confirms sent last: a generation may end as it begins */
    struct ids_pair ids;
};

/* Members of this generation, and what was asked of them last.  Written by keys.c, which offers it,
 * members.c and seats.c, who answers and leaves, join.c and session.c, which have heard of a later
 * one, and jobs.c. */
struct server_set {
    uint64_t generation, known; /* known: the last that any party was offered */
    uint32_t n, left;           /* left: members lost since the generation began */
    uint8_t member[WIRE_MEMBERS_MAX];
    uint32_t answers;
    bool shown; /* everybody's hellos, to all: from then on one may accuse another */
};

/* The generation before, of which accusations may still be on their way. */
struct server_past {
    uint64_t generation;
    bool shown, in[WIRE_MEMBERS_MAX];
};

/* Whom the messages of one step go to: members still there; at the end, everybody who is. */
struct server_audience {
    uint8_t list[SERVER_SENDS_MAX][WIRE_MEMBERS_MAX];
    size_t n;
    uint8_t alone[WIRE_MEMBERS_MAX]; /* each by itself: alone[i] is i, once something went to it */
};

struct server_counts {
    uint64_t stale_messages;
    uint64_t lost[WIRE_MEMBERS_MAX], joined[WIRE_MEMBERS_MAX];
};

/* The job, and how far the federation has come with it. */
struct server_play {
    const struct server_job *job;
    void *state;  /* the job's */
    bool started; /* a first generation has begun, or come together again in a process that goes on
                     with the job: `drop` gathers no more than those who are here */
    bool idle;    /* it is over, and there is no other yet */
    bool waited;  /* for those who are away, since the set last changed (away.c) */
};

/* Written by the dispatch.c, jobs.c, members.c, seats.c, keys.c and, what a process before has
 * left, session.c; `error` by the job's, too: of training behind.c, close.c and job.c. */
struct server_federation {
    struct server_terms terms;
    struct server_play play;
    struct sm sm;
    uint64_t now_us;    /* of the step under way */
    struct error error; /* why the job failed, or the last reason to drop a peer */
    struct server_peer peer[WIRE_MEMBERS_MAX];
    struct server_set set;
    struct generation_floor floor; /* `value` written by keys.c, durably before an offer */
    struct server_past past;
    struct odds odds;
    struct server_audience audience;
    struct server_agree agree;
    struct server_counts counts;
};

/* dispatch.c: f is zeroed.  The terms' and the job's pointers must outlive it.  job NULL: none yet;
 * of the terms the roster counts. */
enum status server_federation_init(struct server_federation *f, const struct server_terms *terms,
                                   const struct server_job *job, void *state) MUST_USE;
void server_federation_deinit(struct server_federation *f); /* safe on a zeroed one */
void server_federation_step(struct server_federation *f, uint64_t now_us, const struct event *e,
                            struct actions *out);
/* The job's work, that an ACTION_WORK asked for. */
void server_federation_work(struct server_federation *f, struct actions *out);

/* jobs.c */
/* After an ACTION_FINISH: another job, with who is there and who comes.  Its terms are of the same
 * roster, and EVENT_START begins it. */
void server_federation_play(struct server_federation *f, const struct server_terms *terms,
                            const struct server_job *job, void *state);
/* No job: after an ACTION_FINISH, or instead of the EVENT_START of one that could not be made. */
void server_federation_rest(struct server_federation *f);
/* This party says where it is in the job.  False: f->error says why it cannot take part. */
bool server_speaks(struct server_federation *f, uint32_t peer, const struct wire_join *j);
/* Between two jobs: for the next one, which hears them as it begins.  False: the one of *peer is
 * as above, and those after it have yet to be heard. */
void server_hold_join(struct server_federation *f, uint32_t peer, const struct wire_join *j);
bool server_hear_held(struct server_federation *f, uint32_t *peer);
/* Who was there before the job answers its offer by a join. */
struct server_next server_speaks_again(struct server_federation *f, uint32_t peer,
                                       const struct wire_join *j) MUST_USE;

/* join.c */
struct server_next server_gather(struct server_federation *f, struct actions *a) MUST_USE;
struct server_next server_joined(struct server_federation *f, struct actions *a,
                                 const struct event *e) MUST_USE;
/* False: f->error says why it is not let in. */
bool server_admit(struct server_federation *f, uint32_t peer, const struct wire_join *j) MUST_USE;
struct server_next server_lost(struct server_federation *f, struct actions *a,
                               uint32_t peer) MUST_USE;
/* Re-key, or gather again. */
struct server_next server_set_changed(struct server_federation *f, struct actions *a) MUST_USE;
/* Under drop and async, of a job that has begun: on with those who came.  And with nobody when all
 * is done: who had its final model has ended by itself. */
bool server_gather_ends(struct server_federation *f, struct actions *a, struct server_next *next);

/* keys.c */
struct server_next server_offer(struct server_federation *f, struct actions *a) MUST_USE;
struct server_next server_hello(struct server_federation *f, struct actions *a, uint32_t peer,
                                const struct wire_hello *h) MUST_USE;
/* Instead of a hello, where parties are done without: the set is too small for it. */
struct server_next server_too_small(struct server_federation *f, uint32_t peer,
                                    const struct wire_refuse *r) MUST_USE;
struct server_next server_confirm(struct server_federation *f, struct actions *a, uint32_t peer,
                                  const struct wire_confirm *c) MUST_USE;

/* compare.c: f->error says why not. */
/* Members are chosen. */
enum status server_compare_begin(struct server_federation *f) MUST_USE;
/* Does member m bring an element for each side on which there is somebody, and for no other? */
bool server_compare_fits(const struct server_federation *f, const struct wire_hello *h, uint32_t m);
/* The first member's hello.  STATUS_POLICY: one guess at the list more than it has. */
enum status server_compare_may_answer(struct server_federation *f,
                                      const struct wire_hello *h) MUST_USE;
/* All hellos are good, and sid is known: counted. */
enum status server_compare_end(struct server_federation *f) MUST_USE;
/* All have confirmed.  STATUS_DATA: *peer has other ids than the one before it. */
enum status server_compare_check(struct server_federation *f, uint32_t *peer) MUST_USE;
/* Has member m, not the first, the ids of the one before it, by what both have shown? */
bool server_compare_alike(const struct server_federation *f, uint32_t m);
void server_compare_forget(struct server_federation *f);

/* accused.c: where parties are done without. */
/* `by` says of another member that it cannot go on with it. */
struct server_next server_accused(struct server_federation *f, struct actions *a, uint32_t by,
                                  const struct wire_refuse *r) MUST_USE;
/* Neighbours have shown other ids: so they say of each other. */
struct server_next server_neighbours_differ(struct server_federation *f,
                                            struct actions *a) MUST_USE;

#endif
