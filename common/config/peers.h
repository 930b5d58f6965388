/* peers.h -- which addresses --insecure-seed is allowed with: loopback and those that
 * `insecure_peers` names.  Not a firewall: who may take part is the roster's business.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PEERS_H
#define COLONNADE_CONFIG_PEERS_H

#include "common/config/config.h"

/* address: "ip:port" or "[v6]:port", as net_conn_address gives it. */
bool peers_on_loopback(const char *address);

/* On loopback, or its host is one of `names` (IPv6 without brackets), or begins with one that ends
 * in a dot: "192.0.2." names all of 192.0.2.0/24. */
bool peers_trusted(const struct config_names *names, const char *address);

#endif
