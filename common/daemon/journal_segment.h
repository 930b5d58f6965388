/* journal_segment.h -- one file of the journal: its format, how a record is sealed and read back.
 * Private to the journal.
 *
 *   header  "VFLJRNL1" | number | first_step | before_records | trail_known (8 bytes each, LE)
 *           | trail | label | before_check | salt | check (32 bytes each)
 *   record  head (96) | tag (16) | the floats of sum and gradient | tag (16)
 *
 * key || check = HKDF-SHA-256(state_key, salt, "vfl/journal/1" || all of the header before check):
 * a header with any byte changed does not fit its check, and no two files share a key.  A record's
 * place in the file is its index: nonces are 2 index (head) and 2 index + 1 (floats), the segment's
 * number and the index are authenticated.  So lengths are known to be true before anything is
 * allocated for them, and records can be neither moved nor left out.  Each header names the segment
 * before it by its check and counts its records: a shortened, exchanged or missing segment does not
 * fit the next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_JOURNAL_SEGMENT_H
#define COLONNADE_DAEMON_JOURNAL_SEGMENT_H

#include "common/crypto/aead.h"
#include "common/crypto/sealed.h"
#include "common/daemon/journal.h"

enum {
    JOURNAL_CHECK_BYTES = 32,
    JOURNAL_HEADER_BYTES = 5 * 8 + 5 * 32,
    JOURNAL_HEAD_BYTES = 96,
    JOURNAL_RECORD_BYTES_MIN = JOURNAL_HEAD_BYTES + 2 * AEAD_TAG_BYTES, /* without floats */
};

/* What a header says. */
struct journal_segment {
    uint64_t number;     /* of the file's name, from 1 */
    uint64_t first_step; /* the training step to come where it begins, ... */
    bool trail_known;    /* ... and the trail up to there: all 0 when it is not known */
    uint8_t trail[JOURNAL_TRAIL_BYTES];
    uint8_t label[JOURNAL_LABEL_BYTES];
    uint64_t before_records; /* in the segment before; 0 for the first of all, and ... */
    uint8_t before_check[JOURNAL_CHECK_BYTES]; /* ... its check */
    uint8_t check[JOURNAL_CHECK_BYTES];        /* by which the next one names this one */
};

/* Draws a salt; sets s->check and the key of its records (the caller wipes it).  STATUS_CRYPTO. */
enum status journal_segment_print(struct journal_segment *s,
                                  const uint8_t state_key[SEALED_KEY_BYTES],
                                  uint8_t out[JOURNAL_HEADER_BYTES],
                                  uint8_t key[AEAD_KEY_BYTES]) MUST_USE;
/* STATUS_INTEGRITY when it is not a header made with this state_key. */
enum status journal_segment_parse(struct journal_segment *s,
                                  const uint8_t state_key[SEALED_KEY_BYTES],
                                  const uint8_t in[JOURNAL_HEADER_BYTES],
                                  uint8_t key[AEAD_KEY_BYTES]) MUST_USE;

/* The whole record on disk.  At most JOURNAL_FLOATS_MAX floats. */
size_t journal_record_bytes(const struct journal_record *r);
/* out[journal_record_bytes(r)]. */
void journal_record_seal(struct aead *seals, uint64_t number, uint64_t index,
                         const struct journal_record *r, uint8_t *out);

/* Reads the records of one open file in order. */
struct journal_reader {
    struct aead *opens; /* with the segment's key */
    int fd;
    uint64_t number, size;  /* of the segment; of the file */
    uint64_t offset, index; /* of the next record */
};

enum journal_found {
    JOURNAL_RECORD,
    JOURNAL_END,     /* the file ends where a record does */
    JOURNAL_TORN,    /* what follows may be a last record whose writing came to no end */
    JOURNAL_DAMAGED, /* what follows was changed after it was written */
};

/* After JOURNAL_RECORD, *r points into floats (which is overwritten: its owner wipes it) and the
 * reader stands behind the record; otherwise it stands where it stood.
 * STATUS_IO (the text does not name the file), STATUS_MEMORY. */
enum status journal_reader_next(struct journal_reader *from, struct journal_record *r,
                                struct buf *floats, enum journal_found *found,
                                struct error *err) MUST_USE;

/* Makes floats hold at least n bytes, without copying what was in it: that is wiped. */
enum status journal_room(struct buf *floats, size_t n) MUST_USE;

#endif
