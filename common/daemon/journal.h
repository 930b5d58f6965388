/* journal.h -- every sum the server was given and every gradient it broadcast, on disk before
 * anything of it is sent.
 *
 * A restarted server replays the journal onto its last checkpoint and asks for no new release; a
 * restarted party asks for the gradients it missed.  The journal is a row of segments,
 * state/journal-<number>.sealed, each under a key of its own (journal_segment.h has the format); a
 * file that a process has left is never appended to, so no key meets a nonce twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_JOURNAL_H
#define COLONNADE_DAEMON_JOURNAL_H

#include "common/base/buf.h"
#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a record survives: the end of the process, however sudden, as soon as journal_append has
 * returned (the page cache outlives kill -9); the end of the machine, once journal_turn has.  There
 * is no fsync for each record.
 *
 * What is noticed when the journal is opened: every changed, exchanged, reordered or missing byte
 * of it, but for its end.  Without its last records the journal is one of an earlier moment, which
 * nothing in the folder can disprove (threats B4): the server then asks again, and it is each
 * party's ledger that counts.  Only a journal that ends before its checkpoint, or begins after it,
 * is refused.
 *
 * The line of training steps: a training record's place is its step, and steps come in order.  A
 * training record whose step was there before has gone back to it: what followed the earlier one is
 * dead, and is neither read nor counted.  An evaluation record belongs to the model after the
 * training steps before it. */

enum {
    JOURNAL_TRAIN = 0, /* the purpose (enum wire_purpose) whose records carry a gradient */
    JOURNAL_LABEL_BYTES = 32,
    JOURNAL_TRAIL_BYTES = 32,
    JOURNAL_FLOATS_MAX = 1 << 28,   /* of one record: sum and gradient together */
    JOURNAL_SEGMENTS_MAX = 1 << 16, /* of one journal */
    JOURNAL_RECORDS_MAX = 1 << 30,  /* of one segment */
};

/* Where it is, and the key that seals it. */
struct journal_place {
    const char *state, *state_key; /* a folder that exists; a key file as in sealed.h */
};

struct journal_record {
    uint32_t purpose;      /* enum wire_purpose as a number; JOURNAL_TRAIN: a training step */
    uint64_t round, place; /* place: the step of a training round, else the first row */
    uint64_t sweep, generation;
    uint32_t rows, present;             /* present: members in the sum */
    uint8_t trail[JOURNAL_TRAIL_BYTES]; /* digest of all gradients up to and with this step */
    const float *sum;
    size_t sum_floats;
    const void
        *gradient; /* of training steps: 4-byte words, as broadcast (perhaps none); else NULL, */
    size_t gradient_words; /* ... 0 */
};

struct journal; /* one thread at a time */

/* Reads and checks all that is there, then begins a new segment.  first_step: the training step
 * that comes next by the checkpoint (0 without one); the journal must hold every step from there
 * on.  A torn or unreadable last record of the last segment was being written when its process or
 * machine ended: it is cut off, and the log says so.
 * STATUS_CONFIG: no state_key, another state_key, another plan (label: the plan's digest).
 * STATUS_IO: damage anywhere else, segments missing, steps from first_step on missing.
 * STATUS_MEMORY.  *out is NULL after a failure, and the records on disk are as they were. */
enum status journal_open(struct journal **out, const struct journal_place *at,
                         const uint8_t label[JOURNAL_LABEL_BYTES], uint64_t first_step,
                         struct error *err) MUST_USE;
/* NULL is fine.  Wipes the keys. */
void journal_close(struct journal *j);
/* Unlinks every segment, of any plan, the oldest first: the run is complete.  A crash in between
 * leaves a journal that goes with a checkpoint at the last step; so does STATUS_IO. */
enum status journal_remove(const struct journal_place *at, struct error *err) MUST_USE;

/* The record is written by one write(2) or not at all: after a failure (STATUS_IO: the disk is
 * full, say) the journal is what it was before, and the next record goes to a new segment.  A
 * training step is at most journal_next(): an earlier one goes back.
 * STATUS_CONFIG over JOURNAL_FLOATS_MAX.  Allocates only when a record is larger than all before
 * it, or for the list of steps when it has doubled. */
enum status journal_append(struct journal *j, const struct journal_record *r,
                           struct error *err) MUST_USE;

/* Brings all records to the disk and begins a new segment.  To be called right BEFORE the server
 * writes its checkpoint at `step` (== journal_next()), so that no checkpoint is ever ahead of its
 * journal; a crash between the two replays a few records more.  After a failure the journal goes on
 * where it is. */
enum status journal_turn(struct journal *j, uint64_t step, struct error *err) MUST_USE;
/* Unlinks the oldest segments as long as all their training steps are < before_step and they hold
 * no evaluation of the model after step before_step - 1.  The segment in use stays.  A file that
 * cannot be unlinked is a line of the log. */
void journal_forget(struct journal *j, uint64_t before_step);

/* Hands over, in order, each live record that was written at or after training step from_step:
 * that step and all later, and the evaluations of the model after from_step steps and later.  The
 * record and its floats are the callee's to read until it returns; an answer other than STATUS_OK
 * ends the reading and is returned.  take() does not call the journal.  STATUS_DATA when from_step
 * < journal_first(). */
enum status journal_read(struct journal *j, uint64_t from_step,
                         enum status (*take)(void *owner, const struct journal_record *r),
                         void *owner, struct error *err) MUST_USE;

/* Appends to out the gradients of step, step + 1, ... side by side (native floats), as many whole
 * ones as fit bytes_max, but at least one; *steps: how many.  STATUS_DATA when `step` is not held
 * (journal_first() <= step < journal_next() are), STATUS_LIMIT when they are over out->max. */
enum status journal_gradients(struct journal *j, uint64_t step, size_t bytes_max, struct buf *out,
                              uint64_t *steps, struct error *err) MUST_USE;

/* The trail after so many steps; false when it is not held.  It is held for
 * journal_first() < steps_applied <= journal_next(), and for journal_first() itself when a step
 * before it was once in this journal. */
bool journal_trail(const struct journal *j, uint64_t steps_applied,
                   uint8_t trail[JOURNAL_TRAIL_BYTES]);

uint64_t journal_first(const struct journal *j); /* oldest training step held, or ... */
uint64_t journal_next(const struct journal *j);  /* ... the one to come */

#endif
