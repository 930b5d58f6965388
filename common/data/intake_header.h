/* intake_header.h -- the columns of a source that is being read into a table (intake.h): ids,
 * features, and those that are neither.  For intake.c alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_INTAKE_HEADER_H
#define COLONNADE_DATA_INTAKE_HEADER_H

#include "common/base/buf.h"
#include "common/data/intake.h"

struct intake {
    struct source source;
    struct table *t;
    struct schema *schema;
    const struct intake_want *want;
    /* Columns of the source that are no features: the ids, and those that group.h reads, or
     * source.cols. */
    size_t id, group, time;
    size_t *from;   /* schema->n: the column of the source that each one is */
    bool made;      /* the schema is made of this source */
    struct buf ids; /* becomes t->id_text */
    struct buf own; /* becomes t->own.text */
    uint64_t *line; /* where each row stands, for errors about two of them */
    size_t room;    /* rows that t has memory for */
    bool sorted;    /* every id so far stood behind the one before it */
};

/* Makes the schema of it, or finds the columns of the one that is given. */
enum status intake_header_read(struct intake *in, struct error *err) MUST_USE;
/* One of those that tell rows of places apart. */
bool intake_is_key(const struct intake *in, size_t column);
enum status intake_no_memory(const struct intake *in, struct error *err);

#endif
