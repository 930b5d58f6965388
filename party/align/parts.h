/* parts.h -- the job `align` at a party: its list of ids around the ring, and everybody else's.
 *
 * The rules are common/align's; here are messages, sealing, and what the policy lets happen.  A
 * generation is one playing of as many passes as there are keys: the key and the shuffles of each
 * are drawn when it begins, and are gone with it (common/align/member.h).  Each is counted,
 * durably, before the hello that tells how many ids this party has, and again before anything can
 * be compared with them.  What a party lets out hangs on how many ids there are on each side and on
 * how many are common by each key, and on nothing else of its table.
 *
 *   align.c   the table of functions (party/job.h)      batch.c   one step after the other
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_ALIGN_PARTS_H
#define COLONNADE_PARTY_ALIGN_PARTS_H

#include "common/align/member.h"
#include "common/base/buf.h"
#include "common/flow/alignment.h"
#include "common/secagg/share.h"
#include "party/job.h"

/* What seals entries for the ring's neighbours, beside the shares of other jobs. */
enum { ALIGN_PURPOSE = 64 };

enum party_align_work { ALIGN_COUNTS, ALIGN_TAKES };

struct party_align {
    /* What the session lends (party/job.h). */
    const struct party_setup *setup;
    const struct party_set *set;
    struct sm *sm;
    struct error *error;

    bool known; /* the text has been read */
    struct alignment about;
    uint8_t digest[WIRE_DIGEST_BYTES];
    enum party_align_work work; /* under way, or done last */
    enum status worked;

    uint32_t listed; /* ids of this side */
    /* The pass: which it is, and how many rows those before it have found. */
    uint32_t pass, found, size[ALIGN_MEMBERS_MAX];
    uint8_t session[DIGEST_BYTES];
    bool more; /* another one follows */
    struct align_course course;
    struct align_member *member; /* NULL: no set, or the pass has not begun */
    struct share_keys keys;
    uint8_t view[DIGEST_BYTES]; /* what this stage's sealing hangs on */
    uint32_t step, steps;       /* of the pass; step: expected next */
    uint32_t base;              /* steps of the passes before it */
    uint32_t common;            /* of the pass */
    bool complete;              /* the result is on the disk */
    bool kept;                  /* so it was of some playing of this job */
    uint64_t rounds;
    uint8_t *entries, *out; /* of the step under way; what goes out */
    size_t entries_n;
    uint8_t tag[WIRE_TAGS_MAX]; /* of entries one, or acknowledgements */
    struct buf tallies;
    uint64_t furthest; /* steps that any playing has come to */
};

/* batch.c */
void align_open_course(struct party_align *p); /* of p->size and p->session */
enum status align_take_batch(struct party_align *p, struct actions *a,
                             const struct wire_batch *b) MUST_USE;
void align_work_step(struct party_align *p);
enum status align_worked_step(struct party_align *p, struct actions *a) MUST_USE;

#endif
