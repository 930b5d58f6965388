/* align.h -- the job `align` at the server: a member of the ring with ids and a key of its own, the
 * relay between the others, and who compares the lists in the end.
 *
 * One step after the other, each of all members: what everybody is given goes out, the server works
 * on its own part, and once that and all answers are there, which bring what everybody is given
 * next, the next step opens.  Each key is a pass of such steps with keys of its own; the next one
 * has what is left of all lists.  A generation that ends in between costs the whole playing:
 * another one begins with fresh keys, and is counted.
 *
 *   job.c    the table of functions (server/job.h), sizes and the set
 *   step.c   one step after the other
 *   init.c   made, and unmade
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_ALIGN_ALIGN_H
#define COLONNADE_SERVER_ALIGN_ALIGN_H

#include "common/align/match.h"
#include "common/align/member.h"
#include "common/base/buf.h"
#include "common/flow/alignment.h"
#include "server/job.h"
#include "server/setup.h"

extern const struct server_job server_job_align;

/* What a member is given with a step. */
struct align_given {
    uint8_t *entries; /* room for WIRE_ENTRIES_MAX */
    size_t n;
    uint8_t tag[WIRE_TAG_BYTES];
    bool sealed;
    uint8_t words[WIRE_TAGS_MAX]; /* a tag of each other party: what it was told */
};

struct server_align {
    struct server_federation *fed;
    struct server_aligned ids;
    struct alignment about;
    struct buf text; /* canonical, of `about` */
    uint8_t digest[WIRE_DIGEST_BYTES];

    uint32_t listed[ALIGN_MEMBERS_MAX]; /* lengths of lists of this generation, by ring index */
    /* The pass: which it is, how much of each list is left, and how many rows those before it have
     * found. */
    uint32_t pass, found, size[ALIGN_MEMBERS_MAX];
    uint8_t session[DIGEST_BYTES], transcript[DIGEST_BYTES]; /* transcript: of the last one */
    bool more;                                               /* another one follows */
    struct align_course course;
    struct align_member *member; /* NULL: no set, or the pass has not begun */
    struct align_match *match; /* NULL: nothing is compared here, the rows are the labelled ones */
    struct align_given given[ALIGN_MEMBERS_MAX]; /* by ring index, of the step that is next */
    uint8_t *tallies;                            /* everybody's of the stage that ends */
    uint32_t step, steps, base;                  /* of the pass, and of those before it */
    bool told;                                   /* how many rows are common is known */
    bool complete;
    uint64_t rounds;
    enum status worked;
};

/* init.c */
enum status server_align_new(struct server_align **out, const struct server_setup *setup,
                             struct server_federation *fed, struct error *err) MUST_USE;
void server_align_free(struct server_align *p); /* NULL is fine */
struct server_terms server_align_terms(const struct server_align *p,
                                       const struct server_setup *setup);

/* What is there once it is complete; transcript NULL: nothing. */
struct server_alignment {
    const struct alignment *about;
    const uint8_t *transcript;
    uint32_t common, members; /* common: rows that it has found */
    const uint32_t *size;     /* by ring index */
    uint64_t steps;
};
struct server_alignment server_align_result(const struct server_align *p);

/* step.c */
void server_align_forget(struct server_align *p);           /* the set and its keys */
void server_align_open_course(struct server_align *p);      /* of p->size and p->session */
uint32_t server_align_common(const struct server_align *p); /* 0: it is not known */
struct server_next server_align_open(struct server_align *p, struct actions *a) MUST_USE;
struct server_next server_align_batch(struct server_align *p, struct actions *a, uint32_t peer,
                                      const struct wire_batch *b) MUST_USE;
void server_align_work(void *state, struct actions *out);
struct server_next server_align_worked(struct server_align *p, struct actions *a) MUST_USE;

#endif
