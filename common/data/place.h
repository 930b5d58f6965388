/* place.h -- where a table of a database server is, as a path says it.
 *
 *   KIND:NAME              the table that the options name (data.table)
 *   KIND:NAME/TABLE        that table, wherever the server looks for its name
 *   KIND:NAME/SCHEMA/TABLE
 *
 * NAME is an entry of a file of the system's own (a service of PostgreSQL, a data source of ODBC),
 * where address, user and how to prove who one is are kept: none of it stands here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_PLACE_H
#define COLONNADE_DATA_PLACE_H

#include "common/data/source.h"

enum { PLACE_NAME_MAX = 64, PLACE_TABLE_MAX = 128 }; /* with their final 0 */

struct place {
    char name[PLACE_NAME_MAX];
    char schema[PLACE_TABLE_MAX]; /* "": none is said */
    char table[PLACE_TABLE_MAX];
};

/* `path` begins with `kind`, its colon included.  STATUS_CONFIG names the path. */
enum status place_parse(struct place *p, const char *path, const char *kind, const char *table,
                        struct error *err) MUST_USE;

#endif
