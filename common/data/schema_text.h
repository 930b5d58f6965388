/* schema_text.h -- a schema as a file that a person reads and changes, and as packages keep it.
 *
 *     statistics: fit
 *     columns:
 *       - {name: "who", kind: id}
 *       - {name: "age", kind: number, missing: mean, indicator: true, clip: [0, 120]}
 *       - {name: "job", kind: category, levels: ["Craft", "Sales"], other: true}
 *
 * docs/tables.md says what each key means.  What is printed is read back to the same schema, and
 * printed again it is the same text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SCHEMA_TEXT_H
#define COLONNADE_DATA_SCHEMA_TEXT_H

#include "common/data/schema_print.h"

/* A table of as many columns as there may be, with all that may be said of them. */
enum { SCHEMA_TEXT_MAX = 1 << 25, SCHEMA_NODES_MAX = 1 << 21 };

/* s is zeroed on failure; STATUS_CONFIG with `path:line: reason`.  `path` is only for that. */
enum status schema_parse(struct schema *s, const char *text, size_t n, const char *path,
                         struct error *err) MUST_USE;
enum status schema_load(struct schema *s, const char *path, struct error *err) MUST_USE;
/* As whoever reads its text will have it; `to` is empty where `from` is, and on failure.
 * STATUS_DATA: its text cannot be read again (more than SCHEMA_TEXT_MAX bytes or SCHEMA_NODES_MAX
 * entries). */
enum status schema_copy(struct schema *to, const struct schema *from, struct error *err) MUST_USE;

#endif
