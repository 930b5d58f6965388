/* odbc.h -- a table or view of any database that has an ODBC driver, as a source.
 *
 * odbc:DSN/TABLE: the data source's entry in unixODBC's own files says which driver, where the
 * server is and who asks; no password stands here.  The driver is code of others in this process:
 * deadlines, and that nothing is written, are asked of it, and hang on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_ODBC_H
#define COLONNADE_DATA_ODBC_H

#include "common/data/source.h"

/* Fills s, whose path is set; on failure what it has made is left to source_close. */
enum status odbc_open(struct source *s, const struct source_options *o, struct error *err) MUST_USE;

#endif
