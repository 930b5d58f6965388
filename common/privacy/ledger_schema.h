/* ledger_schema.h -- what the ledger's database is: two tables, and nothing else in it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PRIVACY_LEDGER_SCHEMA_H
#define COLONNADE_PRIVACY_LEDGER_SCHEMA_H

#include "common/base/status.h"

#include <stdbool.h>

struct sqlite3;

/* Makes a connection safe and durable, holds the file, makes the tables in one that holds nothing,
 * and refuses one that is not exactly this (STATUS_IO): somebody else's is left as it was.  *fresh:
 * the tables were made just now, in a transaction that is still open. */
enum status ledger_schema_open(struct sqlite3 *db, const char *path, bool *fresh,
                               struct error *err) MUST_USE;

/* SQLite's last failure, as a status with one clear line. */
enum status ledger_schema_failed(struct sqlite3 *db, const char *path, struct error *err) MUST_USE;

#endif
