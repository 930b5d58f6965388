/* bundle_text.h -- the texts of a host's folder.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_BUNDLE_TEXT_H
#define COLONNADE_DEPLOY_PKI_BUNDLE_TEXT_H

#include "common/base/buf.h"
#include "common/crypto/cert.h"

/* Where parties find the server. */
struct bundle_address {
    const char *text;        /* host:port */
    char host[256], port[8]; /* without brackets */
    bool numeric;            /* the host is an address */
};

/* Reads HOST:PORT, [V6]:PORT; false: none of these. */
bool bundle_address_read(struct bundle_address *a, const char *text);
/* An IPv4 or IPv6 address, or a network of them (/BITS). */
bool bundle_is_network(const char *text);

/* server.yaml, with the plan's lines behind it; party.yaml. */
enum status bundle_server_yaml(struct buf *out, const struct bundle_address *a,
                               const struct buf *plan) MUST_USE;
enum status bundle_party_yaml(struct buf *out, const struct bundle_address *a) MUST_USE;
enum status bundle_readme(struct buf *out, const char *name, enum cert_role role,
                          const char *port) MUST_USE;
/* The unit, with who may be spoken with in its line IPAddressAllow. */
enum status bundle_unit(struct buf *out, const struct buf *unit, const char *allowed) MUST_USE;

#endif
