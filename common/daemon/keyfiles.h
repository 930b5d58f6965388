/* keyfiles.h -- the key and certificate files of this side, as a run would load them.
 *
 * A check without a run (-n) asks the same of them as the run itself: threats F7, D3, D4.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_KEYFILES_H
#define COLONNADE_DAEMON_KEYFILES_H

#include "common/base/status.h"
#include "common/config/config.h"
#include "common/net/net.h"

#include <stdbool.h>

/* Borrows the paths of c. */
struct net_identity keyfiles_identity(const struct config_identity *c);

/* Loads certificate, key, CA and CRL for a server or a party, and the state key unless its path is
 * "", and forgets them.  STATUS_IDENTITY, STATUS_CONFIG: what the run would refuse. */
enum status keyfiles_check(const struct config_identity *c, bool server, const char *state_key,
                           struct error *err) MUST_USE;

#endif
