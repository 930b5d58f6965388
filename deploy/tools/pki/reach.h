/* reach.h -- does the server answer, and is it the one of the roster?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_REACH_H
#define COLONNADE_DEPLOY_PKI_REACH_H

#include "common/config/config.h"
#include "common/flow/roster.h"

/* A handshake with host:port as this party; what there is to say goes to findings.h. */
void reach_server(const char *address, const struct config_identity *id,
                  const struct roster_entry *server);

#endif
