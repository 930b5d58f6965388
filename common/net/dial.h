/* dial.h -- resolve a name, try its addresses in turn, start the handshake.  Private to common/net.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_DIAL_H
#define COLONNADE_NET_DIAL_H

#include "common/net/conn.h"

const char *dial_address(const struct dial *d); /* as it was given to net_dial */
void dial_cancel(struct dial *d);               /* NULL is fine for both */
void dial_free(struct dial *d);

#endif
