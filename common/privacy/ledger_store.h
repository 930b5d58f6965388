/* ledger_store.h -- the ledger's file: an SQLite database that one process holds, with a log of
 * records that only grows, and a head that says where it ends.
 *
 * Each record is a text and some bytes, under a MAC (HMAC-SHA-256) that covers the one before it;
 * the head is under a MAC over the last.  So whoever cannot read the key can change, add, move and
 * leave out nothing; an older file that is put back whole is another matter (ledger.h).
 *
 *     record  HMAC(key, MAC before || serial || SHA-256(text) || SHA-256(bytes)); first: 32 zeros
 *     head    HMAC(key, "head" || serial || number || MAC of that record)
 *     key     HKDF(the ledger's key, no salt, "vfl/ledger/1 chain"); numbers 8 bytes little-endian
 *
 * The schema is exactly the two tables; any other object is refused before a row is read, and
 * triggers and views are switched off.  WAL and synchronous=FULL: when ledger_store_seal has
 * returned STATUS_OK the change survives a power cut.  Every text of an error begins with the
 * file's name.  Nothing here knows what records say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_STORE_H
#define COLONNADE_PRIVACY_LEDGER_STORE_H

#include "common/base/status.h"
#include "common/crypto/digest.h"
#include "common/privacy/ledger.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

enum { LEDGER_RECORD_BYTES_MAX = 1 << 28 };

/* Where the log ends. */
struct ledger_end {
    uint64_t serial;           /* of the last record; 0: there is none */
    uint8_t mac[DIGEST_BYTES]; /* its */
};

struct ledger_store {
    struct sqlite3 *db;
    struct sqlite3_stmt *begin, *commit, *append, *head;
    char *path;
    struct digest_mac chain;
    struct ledger_end last, next; /* on the disk; with what is appended since begin */
    bool fresh;                   /* its tables were made just now, and wait for the first seal */
};

struct ledger_record {
    const char *text;
    const uint8_t *bytes;
    size_t n;
};

/* Opens or creates, holds the file against every other opener, and looks at its schema.  A fresh
 * one exists once its first record is sealed (without a begin before it).  STATUS_IO: cannot, in
 * use, damaged, of another version, not a ledger (then left as it was), or not for this user alone.
 */
enum status ledger_store_open(struct ledger_store *st, const char *path,
                              const uint8_t key[LEDGER_KEY_BYTES], struct error *err) MUST_USE;
void ledger_store_close(struct ledger_store *st); /* safe on a zeroed struct */

/* Reads every record in order, with its MAC proven, and then the head, which must be that of the
 * last one and of the number that is then the last. */
struct ledger_reader {
    enum status (*each)(void *owner, const struct ledger_record *r, struct error *err);
    uint64_t (*number)(void *owner);
    void *owner;
};
enum status ledger_store_read(struct ledger_store *st, const struct ledger_reader *reader,
                              struct error *err) MUST_USE;

/* Records are appended between begin and seal, which writes the head and commits.  A seal that
 * fails has rolled back. */
enum status ledger_store_begin(struct ledger_store *st, struct error *err) MUST_USE;
enum status ledger_store_append(struct ledger_store *st, const struct ledger_record *r,
                                struct error *err) MUST_USE;
/* Forgets all records: what is appended next is the first. */
enum status ledger_store_clear(struct ledger_store *st, struct error *err) MUST_USE;
enum status ledger_store_seal(struct ledger_store *st, uint64_t number, struct error *err) MUST_USE;
void ledger_store_rollback(struct ledger_store *st);
/* Ends a transaction: seals it when all went well so far, and else takes it back. */
enum status ledger_store_end(struct ledger_store *st, enum status s, uint64_t number,
                             struct error *err) MUST_USE;

/* STATUS_IO and the text "ledger PATH: damaged: what". */
enum status ledger_store_damaged(const struct ledger_store *st, const char *what,
                                 struct error *err) MUST_USE;
/* STATUS_MEMORY, or another one, in the ledger's words. */
enum status ledger_store_status(const struct ledger_store *st, enum status s, struct error *err);

#endif
