/* idlist.h -- the ids of a table, read for an alignment: what its points are made of, and how this
 * side spells them.
 *
 *   id      SHA-256("vfl/align/id/1" || columns || for each: length || bytes), numbers of 4 bytes,
 *           little-endian; bytes in the form of normal.h
 *   row     SHA-256("vfl/align/row/1" || id || occurrence), occurrence from 0 in the table's order
 *
 * A row's digest is as secret as the id: whoever has it can try ids on it.  There may be several
 * keys, and a row that lacks the id of one of them; which rows an alignment lists, and what numbers
 * them, is roll.h's affair.
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
#include "common/flow/alignment.h"

/* Of all columns, with quotes, commas and line end. */
enum { IDLIST_KEYS_MAX = ALIGNMENT_KEYS_MAX, IDLIST_KEY_NAME_MAX = ALIGNMENT_KEY_NAME_MAX };
enum { IDLIST_SPELLING_MAX = CONFIG_ALIGN_COLUMNS_MAX * (2 * NORMAL_TEXT_MAX + 3) };

/* Which columns of a source make an id, and in which form. */
struct idlist_form {
    uint32_t columns;
    size_t column[CONFIG_ALIGN_COLUMNS_MAX];
    struct normal_rule rule;
};

struct idlist_key {
    char name[IDLIST_KEY_NAME_MAX + 1]; /* "id", where align.key does not say it */
    char columns[CONFIG_COLUMN_MAX];    /* of it, commas between */
    struct idlist_form form;
    uint8_t *ids;    /* n times 32 bytes; of a row without one all zeros */
    size_t ids_max;  /* room */
    struct buf text; /* spellings, a line end behind each; several columns with commas between; of
                      * a row without an id nothing */
    size_t *at;      /* n + 1: where each begins */
    size_t at_max;
};

struct idlist {
    struct config_align as; /* how it was read */
    bool named;             /* align.key has names */
    uint32_t n, keys_n;
    struct idlist_key key[IDLIST_KEYS_MAX];
};

/* STATUS_DATA: path, place and reason; a row has an id by one key at least, and where duplicates
 * are refused no id is there twice by any. */
enum status idlist_read(struct idlist *l, const struct config_align *c, struct error *err) MUST_USE;
void idlist_deinit(struct idlist *l); /* wipes; safe on a zeroed struct */

static inline bool idlist_has(const struct idlist *l, uint32_t key, uint32_t row)
{
    return l->key[key].at[row + 1] - l->key[key].at[row] > 1;
}
/* The how manieth of its id by that key each of n rows is, from 0 and in their order; of one
 * without an id 0.  `order` is room for as many.  True: some are not the first. */
bool idlist_occurrences(const struct idlist *l, uint32_t key, const uint32_t *row, uint32_t n,
                        uint32_t *order, uint32_t *occurrence);

/* Has that align.key names, `NAME: COLUMNS; ...`?  (Or it is one column that is called so.) */
bool idlist_is_named(const char *key);

void idlist_form_of(struct idlist_form *f, bool trim, bool fold,
                    enum config_unicode unicode); /* no columns yet */
/* key: columns, commas between, or one whose name has commas. */
enum status idlist_form_find(struct idlist_form *f, const char *key, const struct source *source,
                             struct error *err) MUST_USE;
/* Of the source's present row; its spelling is added to `text`.  *none: a cell of it is empty, so
 * there is no id and no spelling. */
enum status idlist_form_row(const struct idlist_form *f, const struct source *source,
                            uint8_t id[ALIGN_ROW_BYTES], bool *none, struct buf *text,
                            struct error *err) MUST_USE;
/* Of such a spelling; f->column is not looked at.  False: it is none. */
bool idlist_form_spelling(const struct idlist_form *f, const char *text, size_t n,
                          uint8_t id[ALIGN_ROW_BYTES]);
/* From an id to its row. */
void idlist_number(uint8_t row[ALIGN_ROW_BYTES], uint32_t occurrence);

#endif
