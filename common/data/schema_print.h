/* schema_print.h -- a schema as the text that schema_text.h reads.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_SCHEMA_PRINT_H
#define COLONNADE_DATA_SCHEMA_PRINT_H

#include "common/base/buf.h"
#include "common/data/schema.h"

/* STATUS_LIMIT: it is longer than out may be. */
enum status schema_print(const struct schema *s, struct buf *out) MUST_USE;

#endif
