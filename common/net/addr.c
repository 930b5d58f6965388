/* addr.c -- host:port.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/addr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_LARGEST = 65535, V6_PREFIX_BYTES = 8 };

static bool is_port(const char *text)
{
    size_t n = strlen(text);

    return n > 0 && n < ADDR_PORT_MAX && strspn(text, "0123456789") == n &&
           strtol(text, NULL, 10) <= PORT_LARGEST;
}

enum status addr_split(struct addr_parts *out, const char *text, struct error *err)
{
    const char *colon = strrchr(text, ':');
    const char *host = text;
    size_t n = colon != NULL ? (size_t)(colon - text) : 0;

    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        host = text + 1;
        n -= 2;
    } else if (memchr(text, ':', n) != NULL) {
        n = 0; /* an IPv6 address without brackets: which colon is the port's? */
    }
    if (n == 0 || n >= ADDR_HOST_MAX || !is_port(colon + 1))
        return error_set(err, STATUS_CONFIG, "'%.300s': not host:port (or [IPv6]:port)", text);
    memcpy(out->host, host, n);
    out->host[n] = 0;
    snprintf(out->port, sizeof out->port, "%s", colon + 1);
    return STATUS_OK;
}

bool addr_from_number(struct sockaddr_storage *out, const struct addr_parts *parts)
{
    int port = (int)strtol(parts->port, NULL, 10);

    memset(out, 0, sizeof *out);
    return uv_ip4_addr(parts->host, port, (struct sockaddr_in *)out) == 0 ||
           uv_ip6_addr(parts->host, port, (struct sockaddr_in6 *)out) == 0;
}

void addr_format(char out[ADDR_TEXT_MAX], const struct sockaddr_storage *address)
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)address;
        uv_ip6_name(a, host, sizeof host);
        snprintf(out, ADDR_TEXT_MAX, "[%s]:%u", host, (unsigned)ntohs(a->sin6_port));
    } else {
        const struct sockaddr_in *a = (const struct sockaddr_in *)address;
        uv_ip4_name(a, host, sizeof host);
        snprintf(out, ADDR_TEXT_MAX, "%s:%u", host, (unsigned)ntohs(a->sin_port));
    }
}

/* An IPv4 client of a dual-stack socket; all of them share one /64. */
static bool is_v4_mapped(const struct sockaddr_storage *a)
{
    return IN6_IS_ADDR_V4MAPPED(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

bool addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET6) {
        const struct in6_addr *x = &((const struct sockaddr_in6 *)a)->sin6_addr;
        const struct in6_addr *y = &((const struct sockaddr_in6 *)b)->sin6_addr;
        bool whole = is_v4_mapped(a) || is_v4_mapped(b);
        return memcmp(x, y, whole ? sizeof *x : V6_PREFIX_BYTES) == 0;
    }
    return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
           ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}
