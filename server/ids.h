/* ids.h -- ids of rows that are to be predicted: as a file lists them, and those of them that no
 * answer is kept of.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SERVER_IDS_H
#define COLONNADE_SERVER_IDS_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/daemon/answers.h"
#include "common/daemon/placed.h"

#include <stddef.h>
#include <stdint.h>

struct ids {
    struct buf text; /* of all, a line end behind each */
    uint32_t *at;    /* n + 1: where each begins, and where the last one ends */
    uint32_t n, room;
};

void ids_init(struct ids *l);
void ids_deinit(struct ids *l); /* safe on a zeroed struct */
/* A file of one id a line, PREDICTION_ROWS_MAX at most, at least one: STATUS_DATA else. */
enum status ids_read(struct ids *l, const char *path, struct error *err) MUST_USE;
/* Places of an alignment: of the ids in that file, one a line as this side's file of the alignment
 * has them, at least one, each row of an id; NULL: all. */
enum status ids_read_placed(struct ids *l, const char *path, const struct placed *p,
                            struct error *err) MUST_USE;
/* Into out, empty: each id of `all` once that is not kept, in their order. */
enum status ids_missing(struct ids *out, const struct ids *all, const struct answers *kept,
                        struct error *err) MUST_USE;
/* Without its line end; its length in *n. */
const char *ids_get(const struct ids *l, uint32_t i, size_t *n);
/* What it is called in tables: of a place of p (NULL: ids are ids) how this side spells it. */
const char *ids_name(const struct ids *l, uint32_t i, const struct placed *p, size_t *n);

#endif
