/* answers.h -- what a server keeps of predictions, so that a row that is asked for again needs no
 * second draw: state/models/RUN/answers, beside the model that has made them.
 *
 * A line for each: data epoch (and behind an @ the digest of an alignment, where ids are its
 * places), who was missing (left out, or away), id, scores.  An answer is one of these and of the
 * model; the epoch is a number that the operator moves when data has changed, and answers of others
 * are not looked at.  Lines are appended; one that a crash has cut
 * short is dropped, and costs another draw.  Scores are about persons: mode 0600, and
 * answers_forget() takes one out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_ANSWERS_H
#define COLONNADE_DAEMON_ANSWERS_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/crypto/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANSWERS_FILE_MAX = 1 << 30, ANSWERS_ABSENT_MAX = 1100 };

/* Who is missing, as keys have it, of n parties. */
void answers_missing(char out[ANSWERS_ABSENT_MAX], const bool *missing, size_t n);

/* Whose answers: those of other keys stand in the same file. */
struct answers_key {
    uint64_t epoch;
    char absent[ANSWERS_ABSENT_MAX]; /* numbers of the roster, from 0, with + between; "": nobody */
    /* Hexadecimal, of the alignment that ids are places of (places.h); "": they are ids. */
    char alignment[DIGEST_HEX_CHARS + 1];
    uint32_t outputs; /* scores of a row */
};

struct answers {
    char *path; /* of the file */
    int lock;
    struct answers_key key;
    struct buf file;
    size_t opened;         /* bytes of it that were there before */
    struct answer *answer; /* n of them, in the order of their ids */
    float *scores;         /* theirs */
    size_t n;
};

/* Reads what is kept, and keeps others out (answers_forget, another process) until answers_close.
 * STATUS_CONFIG: somebody has it. */
enum status answers_open(struct answers *a, const char *state, const char *run,
                         const struct answers_key *key, struct error *err) MUST_USE;
void answers_close(struct answers *a); /* safe on a zeroed struct */
/* `outputs` scores of this id, or NULL; until the next answers_keep.  They are of the key, or were
 * added since it was opened. */
const float *answers_find(const struct answers *a, const char *id, size_t n);
/* Who is missing from them, as keys have it: *len characters. */
const char *answers_without(const struct answers *a, const char *id, size_t n, size_t *len);
/* Adds `rows` of them, durably: row i's id is ids + at[i], up to the line end before at[i + 1]. */
enum status answers_keep(struct answers *a, const char *ids, const uint32_t *at, uint32_t rows,
                         const float *scores, struct error *err) MUST_USE;
/* The same of another set's than the key has. */
struct answers_rows {
    const char *ids;
    const uint32_t *at;
    uint32_t rows;
    const float *scores;
    const char *absent; /* who is missing, as keys have it */
};
enum status answers_keep_rows(struct answers *a, const struct answers_rows *rows,
                              struct error *err) MUST_USE;

/* --- by who has all of them in memory and no lock in between --- */

/* All of the key. */
void answers_each(const struct answers *a, void *owner,
                  void (*visit)(void *owner, const char *id, size_t n, const float *score));
/* One line. */
enum status answers_print(struct buf *out, const struct answers_key *key, const char *id, size_t n,
                          const float *score) MUST_USE;
/* How the file stands: it is another when somebody has taken a person out, or added an answer. */
struct answers_file {
    bool there;
    uint64_t inode, size;
};
void answers_stand(const char *state, const char *run, struct answers_file *f);
bool answers_same(const struct answers_file *a, const struct answers_file *b);
/* Adds lines, durably.  *file, as they were read, follows, unless the file had become another:
 * where it was replaced since, a person was taken out, and lines of that one may be among these, so
 * that they are dropped, and cost another draw. STATUS_CONFIG: somebody has it. */
enum status answers_append(const char *state, const char *run, const struct buf *lines,
                           struct answers_file *file, struct error *err) MUST_USE;

/* Of all keys; *n: how many there were. */
enum status answers_count(const char *state, const char *run, size_t *n,
                          struct error *err) MUST_USE;
/* Those that are for `goes` to go: of which alignment ("": of none), and of which id. */
struct answers_goes {
    const void *owner;
    bool (*goes)(const void *owner, const char *alignment, const char *id, size_t n);
};
enum status answers_forget(const char *state, const char *run, const struct answers_goes *whose,
                           size_t *n, struct error *err) MUST_USE;
/* With the model they go: all of them.  STATUS_CONFIG: somebody has them. */
enum status answers_remove(const char *state, const char *run, struct error *err) MUST_USE;

#endif
