/* postgres.h -- a table or view of a PostgreSQL server as a source, through libpq.
 *
 * postgres:SERVICE/TABLE: the service's entry in libpq's own file says where the server is and who
 * asks; passwords are in libpq's password file, certificates where it looks for them.  The server
 * is on a Unix socket, or shows a certificate for its name (sslmode verify-full, whatever the entry
 * says).  All rows are of one moment: one statement, in one transaction that reads only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_POSTGRES_H
#define COLONNADE_DATA_POSTGRES_H

#include "common/data/source.h"

/* Fills s, whose path is set; on failure what it has made is left to source_close. */
enum status postgres_open(struct source *s, const struct source_options *o,
                          struct error *err) MUST_USE;

#endif
