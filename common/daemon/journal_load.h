/* journal_load.h -- an open journal, and its segments read back: all of them at the start, one of
 * them later.  Private to the journal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_JOURNAL_LOAD_H
#define COLONNADE_DAEMON_JOURNAL_LOAD_H

#include "common/daemon/journal_line.h"
#include "common/daemon/journal_segment.h"

#include <limits.h>

/* A segment, as far as it goes. */
struct journal_part {
    struct journal_segment head;
    uint64_t records, end_step; /* the training step to come where it ends */
    bool evaluates;             /* it holds evaluations of the model after end_step steps */
};

struct journal {
    char state[PATH_MAX];
    uint8_t state_key[SEALED_KEY_BYTES], label[JOURNAL_LABEL_BYTES];
    struct journal_part *parts; /* the oldest first; the last is in use */
    size_t n, cap;
    struct journal_line line;
    struct buf bytes; /* the record being sealed or opened */
    struct aead seals, opens;
    int fd;        /* of the segment in use */
    uint64_t size; /* where its whole records end */
    bool cut;      /* a write has failed: there may be more in the file, and a nonce is spent */
    bool broken;   /* what is on the disk is not what is here: nothing more is written */
};

/* One part more will fit. */
enum status journal_load_room(struct journal *j) MUST_USE;
/* Everything that is in the folder.  *size of the last segment's whole records is j->size; what is
 * torn behind them is said in the log.  STATUS_CONFIG, STATUS_IO, STATUS_MEMORY as journal_open. */
enum status journal_load_all(struct journal *j, uint64_t first_step, struct error *err) MUST_USE;

/* The line and its segment learn of a record that lies at this byte; there is room in the line. */
void journal_load_note(struct journal *j, struct journal_part *in, const struct journal_record *r,
                       uint64_t offset);

/* A segment of this journal again.  The caller closes from->fd, which is -1 after a failure. */
enum status journal_load_again(struct journal *j, const struct journal_part *p,
                               struct journal_reader *from, struct error *err) MUST_USE;
/* A record of such a segment: that there is none is STATUS_IO. */
enum status journal_load_record(struct journal *j, struct journal_reader *from,
                                struct journal_record *r, struct error *err) MUST_USE;

#endif
