/* idlist.h -- the ids of a table, read for an alignment: what its points are made of, and how this
 * side spells them.
 *
 *   id      SHA-256("vfl/align/id/1" || columns || for each: length || bytes), numbers of 4 bytes,
 *           little-endian; bytes in the form of normal.h
 *   row     SHA-256("vfl/align/row/1" || id || occurrence), occurrence from 0 in the table's order
 *
 * A row's digest is as secret as the id: whoever has it can try ids on it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_IDLIST_H
#define COLONNADE_DAEMON_IDLIST_H

#include "common/base/buf.h"
#include "common/config/config.h"

struct idlist {
    uint32_t n, columns;
    uint8_t *rows;   /* n times 32 bytes */
    size_t rows_max; /* room */
    struct buf text; /* spellings, a line end behind each; several columns with commas between */
    size_t *at;      /* n + 1: where each begins */
    uint32_t left;   /* rows that the rule about duplicates has left out */
};

/* STATUS_DATA: path, place and reason. */
enum status idlist_read(struct idlist *l, const struct config_align *c, struct error *err) MUST_USE;
void idlist_deinit(struct idlist *l); /* wipes; safe on a zeroed struct */

#endif
