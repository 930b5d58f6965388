/* addr.h -- "host:port" and "[v6]:port", to and from socket addresses.  Private to common/net.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_NET_ADDR_H
#define COLONNADE_NET_ADDR_H

#include "common/base/status.h"

#include <stdbool.h>
#include <uv.h>

enum { ADDR_HOST_MAX = 256, ADDR_PORT_MAX = 6, ADDR_TEXT_MAX = 64 };

struct addr_parts {
    char host[ADDR_HOST_MAX]; /* without brackets */
    char port[ADDR_PORT_MAX];
};

/* STATUS_CONFIG when `text` is not of that form. */
enum status addr_split(struct addr_parts *out, const char *text, struct error *err) MUST_USE;
/* Whether the host is a number, so that nobody need be asked; then *out is the address. */
bool addr_from_number(struct sockaddr_storage *out, const struct addr_parts *parts);
void addr_format(char out[ADDR_TEXT_MAX], const struct sockaddr_storage *address);
/* Whether both come from one host (IPv6: from one /64, which is what one customer is given). */
bool addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

#endif
