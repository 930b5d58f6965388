/* peers.c -- addresses that --insecure-seed is allowed with.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/peers.h"

#include <string.h>

bool peers_on_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0;
}

bool peers_trusted(const struct config_names *names, const char *address)
{
    const char *host = address + (address[0] == '['), *port = strrchr(address, ':');
    size_t host_len;

    if (peers_on_loopback(address))
        return true;
    if (port == NULL || port <= host)
        return false;
    host_len = (size_t)(port - host) - (address[0] == '[');
    for (size_t i = 0; i < names->n; i++) {
        size_t n = strlen(names->name[i]);
        bool begins = n > 0 && n <= host_len && memcmp(host, names->name[i], n) == 0;

        if (begins && (n == host_len || names->name[i][n - 1] == '.'))
            return true;
    }
    return false;
}
