/* ledger_store.h -- the ledger's file: an SQLite database that one process holds, and what is in
 * it.
 *
 * WAL and synchronous=FULL: when ledger_store_commit has returned STATUS_OK the change survives a
 * power cut.  Every text of an error begins with the file's name.  Nothing here knows limits or
 * claims.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_STORE_H
#define COLONNADE_PRIVACY_LEDGER_STORE_H

#include "common/base/status.h"
#include "common/privacy/account.h"
#include "common/privacy/ledger_counts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

struct ledger_store {
    struct sqlite3 *db;
    struct sqlite3_stmt *begin, *commit, *find, *add, *put, *enter;
    char *path;
};

/* Opens or creates, holds the file against every other opener, checks it from end to end; a file
 * of an earlier version is brought up to this one.  STATUS_IO: cannot, in use, damaged, of a later
 * version, or not a ledger (then left as it was). */
enum status ledger_store_open(struct ledger_store *st, const char *path,
                              struct error *err) MUST_USE;
void ledger_store_close(struct ledger_store *st); /* safe on a zeroed struct */

/* Changes go between begin and commit.  A commit that fails has rolled back. */
enum status ledger_store_begin(struct ledger_store *st, struct error *err) MUST_USE;
enum status ledger_store_commit(struct ledger_store *st, struct error *err) MUST_USE;
void ledger_store_rollback(struct ledger_store *st);

/* The slot of an id; *slot = UINT32_MAX when the ledger does not know it. */
enum status ledger_store_find(struct ledger_store *st, const char *id, uint32_t *slot,
                              struct error *err) MUST_USE;
enum status ledger_store_add(struct ledger_store *st, const char *id, uint32_t slot,
                             struct error *err) MUST_USE;
enum status ledger_store_add_mechanism(struct ledger_store *st, size_t number,
                                       const struct account_entry *mechanism,
                                       struct error *err) MUST_USE;
/* Writes every dirty chunk of a column. */
enum status ledger_store_put(struct ledger_store *st, struct ledger_counts *counts,
                             struct ledger_column column, struct error *err) MUST_USE;

/* For the files of this room that keep tables of their own: statements without a result; a query
 * whose first value, as text, is compared with `expected`; a prepared and bound statement without a
 * result, made ready for its next use. */
enum status ledger_store_run(struct ledger_store *st, const char *sql, struct error *err) MUST_USE;
enum status ledger_store_answers(struct ledger_store *st, const char *sql, const char *expected,
                                 bool *yes, struct error *err) MUST_USE;
enum status ledger_store_finish(struct ledger_store *st, struct sqlite3_stmt *stmt,
                                struct error *err) MUST_USE;

/* STATUS_IO and the text "ledger PATH: damaged: what". */
enum status ledger_store_damaged(const struct ledger_store *st, const char *what,
                                 struct error *err) MUST_USE;
/* SQLite's last failure, as a status with one clear line. */
enum status ledger_store_failed(const struct ledger_store *st, struct error *err) MUST_USE;

#endif
