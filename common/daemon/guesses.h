/* guesses.h -- how often ids were compared with somebody in vain, in a file beside the rest of a
 * daemon's state.
 *
 * A comparison that does not end in the other end's right proof may have told it that one guess at
 * this side's ids was wrong (common/flow/ids.h).  So it counts from before it can have, and no
 * longer once that end has shown that it holds the list: rows of that list are taken away then.
 *
 * The file holds, for each other end and list, how often: STATE/guesses, 128 bytes and 72 for each
 * row, signed with the daemon's identity key, which it does not name ids by: a list is the digest
 * of a signature over it, and nobody who has the file but not the key can try lists.  A file that
 * was changed is refused, and so is a link; one that is gone counts from nothing.  An older one put
 * back is taken: the signature does not say that it is the last.
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
    uint64_t count; /* above 0 */
};

struct guesses {
    char path[GUESSES_PATH_MAX];
    const struct sign_key *key;
    size_t n;
    struct guesses_row *row; /* GUESSES_ROWS_MAX */
};

/* `key` stays the caller's.  STATUS_POLICY: the file is not what this key's daemon wrote. */
enum status guesses_open(struct guesses *g, const char *state, const struct sign_key *key,
                         struct error *err) MUST_USE;
void guesses_close(struct guesses *g); /* safe on a zeroed struct */

/* Of one other end, over all lists. */
uint64_t guesses_count(const struct guesses *g, const uint8_t peer[GUESSES_KEY_BYTES]);
/* One more of each of n on this list; or, equal, none of them on it.  Durable when it returns; a
 * failure has changed nothing. */
enum status guesses_note(struct guesses *g, const uint8_t *const *peers, size_t n,
                         const uint8_t list[GUESSES_KEY_BYTES], bool equal,
                         struct error *err) MUST_USE;
/* By order of the operator: none of this one (NULL: of nobody), durably.  *was: how many there
 * were. */
enum status guesses_forget(struct guesses *g, const uint8_t peer[GUESSES_KEY_BYTES], uint64_t *was,
                           struct error *err) MUST_USE;

/* `--ids-forget NAME` of a daemon that is not running: guesses_forget, and a line of what it did.
 * peer NULL: of everybody where the name is GUESSES_ALL; else the roster has nobody of that name
 * (STATUS_CONFIG). */
enum status guesses_order(const char *state, const struct sign_key *key, const uint8_t *peer,
                          const char *name, struct buf *out, struct error *err) MUST_USE;

#endif
