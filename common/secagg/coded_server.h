/* coded_server.h -- the server's side of coded.h: decode from the first K + T uploads, check with
 * the others (uploads.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_CODED_SERVER_H
#define COLONNADE_SECAGG_CODED_SERVER_H

#include "common/secagg/ops.h"

/* The contracts of struct secagg_ops. */
enum status coded_server_new(struct secagg_server **out, const struct secagg_shape *s) MUST_USE;
void coded_server_free(struct secagg_server *base);
void coded_server_begin(struct secagg_server *base);
void coded_server_show(const struct secagg_server *base, uint8_t *out);

#endif
