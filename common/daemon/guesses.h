/* guesses.h -- how many lists of ids somebody may have tried on this daemon's, in a file beside the
 * rest of its state.
 *
 * A comparison that does not end in the other end's right proof may have told it that one list was
 * wrong, the one that its element was made of (common/flow/ids.h).  So an element counts from
 * before it is answered, once however often it comes back, and no longer once that end has shown
 * that it holds the list: who holds it has learnt nothing by trying.
 *
 * The file holds, for each other end and own list, the other end's last element and how many there
 * were; and a seed, from which and the identity key the own elements' scalars are made, so that
 * they, too, come back the same.  STATE/guesses, 160 bytes and 104 for each row, signed with the
 * identity key.  It does not name ids: a list is the digest of a signature over it, and nobody who
 * has the file but not the key can try lists.  A file that was changed is refused, and so is a
 * link; one that is gone counts from nothing, and who lost its own comes with a new element
 * everywhere.  An older one put back is taken: the signature does not say that it is the last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_GUESSES_H
#define COLONNADE_DAEMON_GUESSES_H

#include "common/base/buf.h"
#include "common/crypto/sign.h"

#include <stdbool.h>

enum { GUESSES_KEY_BYTES = 32, GUESSES_ROWS_MAX = 4096, GUESSES_PATH_MAX = 512 };

#define GUESSES_ALL "all"

struct guesses_row {
    uint8_t peer[GUESSES_KEY_BYTES]; /* the roster's key */
    uint8_t list[GUESSES_KEY_BYTES];
    uint8_t element[GUESSES_KEY_BYTES]; /* its last */
    uint64_t count;                     /* 0: the last has shown that it is this list's */
};

struct guesses {
    char path[GUESSES_PATH_MAX];
    const struct sign_key *key;
    uint8_t seed[GUESSES_KEY_BYTES];
    uint8_t *secret; /* GUESSES_KEY_BYTES, for scalars; in the arena */
    size_t n;
    struct guesses_row *row; /* GUESSES_ROWS_MAX */
};

/* `key` stays the caller's.  Where there is no file: `make` one, since the secret has to be there
 * for the next process before anything made of it is shown; without make the secret is nobody's.
 * STATUS_POLICY: the file is not what this key's daemon wrote. */
enum status guesses_open(struct guesses *g, const char *state, const struct sign_key *key,
                         bool make, struct error *err) MUST_USE;
void guesses_close(struct guesses *g); /* safe on a zeroed struct */

/* Of one other end, over all lists. */
uint64_t guesses_count(const struct guesses *g, const uint8_t peer[GUESSES_KEY_BYTES]);
/* Is this its last element on that list?  False, too, where it cannot be told. */
bool guesses_known(const struct guesses *g, const uint8_t peer[GUESSES_KEY_BYTES],
                   const uint8_t list[GUESSES_KEY_BYTES], const uint8_t element[GUESSES_KEY_BYTES]);
/* Of each of n on this list the element that is about to be answered: one more where it is not the
 * last one.  Durable when it returns; a failure has changed nothing.  What changes nothing is not
 * written. */
enum status guesses_note(struct guesses *g, const uint8_t *const *peers,
                         const uint8_t *const *elements, size_t n,
                         const uint8_t list[GUESSES_KEY_BYTES], struct error *err) MUST_USE;
/* Each of n has shown that it holds this list: none on it any more.  As durable. */
enum status guesses_equal(struct guesses *g, const uint8_t *const *peers, size_t n,
                          const uint8_t list[GUESSES_KEY_BYTES], struct error *err) MUST_USE;
/* `--ids-forget NAME` of a daemon that is not running: none of this one any more, durably, and a
 * line that says how many there were.
 * peer NULL: of everybody where the name is GUESSES_ALL; else the roster has nobody of that name
 * (STATUS_CONFIG). */
enum status guesses_order(const char *state, const struct sign_key *key, const uint8_t *peer,
                          const char *name, struct buf *out, struct error *err) MUST_USE;

#endif
