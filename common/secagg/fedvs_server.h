/* fedvs_server.h -- the server's side of fedvs.h: decode from the first R uploads, check with the
 * others (uploads.h), and refuse what no honest sum can be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_SECAGG_FEDVS_SERVER_H
#define COLONNADE_SECAGG_FEDVS_SERVER_H

#include "common/secagg/ops.h"

/* The contracts of struct secagg_ops. */
enum status fedvs_server_new(struct secagg_server **out, const struct secagg_shape *s) MUST_USE;
void fedvs_server_free(struct secagg_server *base);
void fedvs_server_begin(struct secagg_server *base);

#endif
