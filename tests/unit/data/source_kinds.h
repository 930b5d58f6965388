/* source_kinds.h -- every kind of source, made of the same rows: for what holds of them all alike.
 *
 * ODBC is tried with SQLite's driver; PostgreSQL and ODBC are left out where they are not here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_UNIT_DATA_SOURCE_KINDS_H
#define COLONNADE_TESTS_UNIT_DATA_SOURCE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

enum { SOURCE_COLS = 4, SOURCE_KINDS = 6 };

/* Rows of four texts, NULL being nothing; `table` where a kind can say so. */
struct source_rows {
    const char *table, *name[SOURCE_COLS];
    const char *(*cell)[SOURCE_COLS];
    size_t n;
};

struct source_kind {
    const char *word;
    bool (*there)(void);
    const char *(*put)(const struct source_rows *r); /* its path */
    void (*vanish)(const char *path);                /* half of it, for whoever reads it now */
};

extern const struct source_kind source_kinds[SOURCE_KINDS]; /* the packed and plain texts first */

/* Statements that give nothing back. */
void source_run_postgres(const char *statements);

#endif
