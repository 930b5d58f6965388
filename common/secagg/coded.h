/* coded.h -- Lagrange-coded shares: any K + T members' uploads give the sum of all.
 *
 * Here the shape and the party; the server's side is coded_server.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_CODED_H
#define COLONNADE_SECAGG_CODED_H

#include "common/lcc/lcc.h"
#include "common/secagg/ops.h"

/* Columns that are coded together: rows and shares stay in a near cache level, and a packed chunk
 * ends at a whole byte. */
enum { CODED_CHUNK = 1024 };

extern const struct secagg_ops coded_ops;

/* The code of a shape that exists. */
enum status coded_lcc_init(struct lcc *c, const struct secagg_shape *s) MUST_USE;
/* Columns: ceil(n / K). */
size_t coded_upload_values(const struct secagg_shape *s, size_t n);

#endif
