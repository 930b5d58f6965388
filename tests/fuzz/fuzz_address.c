/* fuzz_address.c -- any text as host:port: refused, or two parts that make the same text again; a
 * number among hosts is printed and read as the same address.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/addr.h"
#include "tests/fuzz/feed.h"

enum { TEXT_MAX = 400 };

static void check_number(const struct addr_parts *parts)
{
    struct sockaddr_storage a, b;
    struct addr_parts again;
    char text[ADDR_TEXT_MAX];

    if (!addr_from_number(&a, parts))
        return;
    CHECK(addr_same_host(&a, &a));
    addr_format(text, &a);
    CHECK(addr_split(&again, text, NULL) == STATUS_OK);
    CHECK(addr_from_number(&b, &again));
    CHECK(addr_same_host(&a, &b) && addr_same_host(&b, &a));
    if (strchr(parts->host, '%') == NULL) /* a zone is not printed */
        CHECK(memcmp(&a, &b, sizeof a) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    char text[TEXT_MAX], plain[TEXT_MAX], bracketed[TEXT_MAX];
    struct addr_parts parts;
    struct error err = {0};

    if (!feed_text(&f, text, sizeof text))
        return 0;
    if (addr_split(&parts, text, &err) != STATUS_OK) {
        CHECK(err.status == STATUS_CONFIG && err.text[0] != 0);
        return 0;
    }
    CHECK(strspn(parts.port, "0123456789") == strlen(parts.port) && parts.host[0] != 0);
    snprintf(plain, sizeof plain, "%s:%s", parts.host, parts.port);
    snprintf(bracketed, sizeof bracketed, "[%s]:%s", parts.host, parts.port);
    CHECK(strcmp(text, plain) == 0 || strcmp(text, bracketed) == 0);
    check_number(&parts);
    return 0;
}
