/* alert.h -- a TLS alert of the peer in words, and whose fault it means.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_ALERT_H
#define COLONNADE_NET_ALERT_H

#include "common/base/status.h"

#include <stdbool.h>

/* `alert` is the number of RFC 8446, section 6.  `server`: this side is the server.  A client that
 * is told that its certificate is bad has STATUS_IDENTITY; a server is not stopped by what a client
 * thinks. */
enum status alert_explain(int alert, bool server, struct error *err);

#endif
