/* fuzz_decimal.c -- any text as a cell of a table: no number, or the float that strtof makes of the
 * same characters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/decimal.h"
#include "tests/fuzz/feed.h"

#include <stdlib.h>

enum { TEXT_MAX = 400 };

/* The grammar of decimal.h, written down once more: the length of what it reads, 0 for nothing. */
static size_t length_of(const char *text)
{
    size_t n = text[0] == '-' || text[0] == '+', digits = strspn(text + n, "0123456789"), e;

    n += digits;
    if (text[n] == '.') {
        const size_t behind = strspn(text + n + 1, "0123456789");

        n += 1 + behind;
        digits += behind;
    }
    if (digits == 0)
        return 0;
    if (text[n] != 'e' && text[n] != 'E')
        return n;
    e = n + 1 + (text[n + 1] == '-' || text[n + 1] == '+');
    digits = strspn(text + e, "0123456789");
    return digits > 0 ? e + digits : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    char text[TEXT_MAX];
    const char *end;
    float value = 0, expected, read = 0;
    bool whole;

    if (!feed_text(&f, text, sizeof text))
        return 0;
    end = decimal_scan(text, &value);
    whole = decimal_read(text, strlen(text), &read);
    CHECK(whole == (end == text + strlen(text)));
    CHECK(!whole || memcmp(&read, &value, sizeof read) == 0);
    if (end == NULL) {
        CHECK(length_of(text) == 0);
        return 0;
    }
    CHECK(end > text && (size_t)(end - text) == length_of(text));
    text[end - text] = 0;
    expected = strtof(text, NULL); /* nobody has set a locale */
    CHECK(memcmp(&expected, &value, sizeof value) == 0);
    return 0;
}
