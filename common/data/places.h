/* places.h -- which rows of a source are taken, and by what number others know them: those of an
 * alignment.
 *
 * An interface: what makes a row one of them is common/daemon/placed.h's affair.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_PLACES_H
#define COLONNADE_DATA_PLACES_H

#include "common/data/source.h"

enum { PLACES_DIGEST_BYTES = 32 };
#define PLACES_NONE UINT32_MAX

struct places {
    void *owner;
    uint8_t digest[PLACES_DIGEST_BYTES]; /* sides that have the same one number rows alike */
    /* This side calls each row by the cell of its column of ids, which there has to be; else by
     * that cell, where there is one that is no key, or as `own` says. */
    bool by_id;
    uint32_t n; /* rows that there have to be, or at most where `end` says so; places are below */
    /* Of a source that was just opened: its columns, and no row taken so far. */
    enum status (*begin)(void *owner, const struct source *s, struct error *err);
    /* Is this column one of those that tell rows apart? */
    bool (*is_key)(const void *owner, size_t column);
    /* Of its present row: the place, or PLACES_NONE, where it is left out.  No place comes twice.
     */
    enum status (*find)(void *owner, const struct source *s, uint32_t *place, struct error *err);
    /* What this side calls the row that was just found: 1 to 64 plain bytes and a final 0. */
    const char *(*own)(const void *owner);
    /* There are no more rows.  STATUS_DATA: the first place that none was found for, where each has
     * to have one. */
    enum status (*end)(void *owner, const struct source *s, struct error *err);
};

#endif
