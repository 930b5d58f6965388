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

#include "common/align/member.h"
#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/data/normal.h"
#include "common/data/source.h"

/* Of all columns, with quotes, commas and line end. */
enum { IDLIST_SPELLING_MAX = CONFIG_ALIGN_COLUMNS_MAX * (2 * NORMAL_TEXT_MAX + 3) };

struct idlist {
    struct config_align as; /* how it was read */
    uint32_t n, columns;
    uint8_t *rows;   /* n times 32 bytes */
    size_t rows_max; /* room */
    struct buf text; /* spellings, a line end behind each; several columns with commas between */
    size_t *at;      /* n + 1: where each begins */
    uint32_t *occurrence; /* n, where duplicates are all there; else NULL: each is the first */
    uint32_t left;        /* rows that the rule about duplicates has left out */
};

/* STATUS_DATA: path, place and reason. */
enum status idlist_read(struct idlist *l, const struct config_align *c, struct error *err) MUST_USE;
void idlist_deinit(struct idlist *l); /* wipes; safe on a zeroed struct */

/* The same row by row: which columns of a source make an id, and in which form. */
struct idlist_form {
    uint32_t columns;
    size_t column[CONFIG_ALIGN_COLUMNS_MAX];
    struct normal_rule rule;
};

void idlist_form_of(struct idlist_form *f, const struct config_align *c); /* no columns yet */
enum status idlist_form_find(struct idlist_form *f, const struct config_align *c,
                             const struct source *source, struct error *err) MUST_USE;
/* Of the source's present row; its spelling is added to `text`. */
enum status idlist_form_row(const struct idlist_form *f, const struct source *source,
                            uint8_t id[ALIGN_ROW_BYTES], struct buf *text,
                            struct error *err) MUST_USE;
/* Of such a spelling; f->column is not looked at.  False: it is none. */
bool idlist_form_spelling(const struct idlist_form *f, const char *text, size_t n,
                          uint8_t id[ALIGN_ROW_BYTES]);
/* From an id to its row. */
void idlist_number(uint8_t row[ALIGN_ROW_BYTES], uint32_t occurrence);

#endif
