/* schemas.h -- one schema of the whole table, cut into those of parties: party-I-schema.yaml, each
 * with its own columns in the order of its file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_SPLIT_SCHEMAS_H
#define COLONNADE_TOOLS_SPLIT_SCHEMAS_H

#include "common/data/source.h"
#include "deploy/tools/split/split.h"

/* Once it is known whose each column is: `feature` are the columns of the source that parties may
 * have, `id` its column of ids (from->cols: there is none).  STATUS_CONFIG: the schema is none, or
 * speaks of a column that the table has not, or of other ids. */
enum status schemas_cut(struct split *s, const struct source *from, const size_t *feature,
                        size_t id);
/* After all else is in place; without a schema those of an earlier split are gone. */
enum status schemas_write(struct split *s);
void schemas_deinit(struct split *s);

#endif
