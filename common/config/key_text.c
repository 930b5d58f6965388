/* key_text.c -- characters and addresses.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/key_text.h"

#include "common/config/config.h"
#include "common/config/number.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HOST_MAX = 255, PORT_MAX = 65535 };

/* Length of the UTF-8 sequence at c when it is a character a YAML reader gives back unchanged, else
 * 0. */
static size_t printable(const unsigned char *c)
{
    size_t n = c[0] < 0x80 ? 1 : c[0] >= 0xc2 && c[0] < 0xe0 ? 2 : (c[0] & 0xf0) == 0xe0 ? 3 : 4;
    uint32_t code = n == 1 ? c[0] : c[0] & (0xffu >> (n + 1));

    if (c[0] >= 0x80 && (c[0] < 0xc2 || c[0] > 0xf4))
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (c[i] & 0x3f);
    }
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000) ||
        code == 0x2028 || code == 0x2029 || code == 0xfeff || code == 0xfffe || code == 0xffff ||
        code > 0x10ffff || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000))
        return 0;
    return n;
}

const char key_text_hidden[] = "a control character, or one that ends a line or turns it round "
                               "unseen: refused, since a comment could hide keys";

static bool is_hidden(const unsigned char *c, size_t n)
{
    if (c[0] < 0x20)
        return c[0] != '\t' && c[0] != '\n' && (c[0] != '\r' || n < 2 || c[1] != '\n');
    if (c[0] == 0xc2)
        return n > 1 && c[1] >= 0x80 && c[1] < 0xa0; /* U+0080 to U+009F, among them NEL */
    if (c[0] == 0xe2 && n > 2 && c[1] == 0x80)
        return c[2] >= 0xa8 && c[2] <= 0xae; /* LS, PS, U+202A to U+202E */
    if (c[0] == 0xe2 && n > 2 && c[1] == 0x81)
        return c[2] >= 0xa6 && c[2] <= 0xa9; /* U+2066 to U+2069 */
    return c[0] == 0x7f;
}

bool key_text_is_printable(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    while (*c != 0) {
        size_t n = printable(c);

        if (n == 0 || is_hidden(c, n))
            return false;
        c += n;
    }
    return true;
}

size_t key_text_hidden_line(const char *text, size_t n)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t line = 1;

    for (size_t i = 0; i < n; i++) {
        if (is_hidden(c + i, n - i))
            return line;
        line += c[i] == '\n';
    }
    return 0;
}

bool key_text_is_address(const char *text, unsigned port_min)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon == NULL ? 0 : (size_t)(colon - text);
    bool bracketed = n >= 3 && text[0] == '[' && text[n - 1] == ']';
    const char *host = bracketed ? text + 1 : text;
    uint64_t port = 0;

    if (n == 0 || n > HOST_MAX)
        return false;
    n -= bracketed ? 2 : 0;
    if (strspn(host, bracketed ? "0123456789abcdefABCDEF:." : KEY_TEXT_HOST) < n)
        return false;
    return number_whole(&port, colon + 1) && port >= port_min && port <= PORT_MAX;
}

bool key_text_is_server(const char *text)
{
    return strncmp(text, "postgres:", 9) == 0 || strncmp(text, "odbc:", 5) == 0;
}

bool key_text_is_alignment(const char *text)
{
    const size_t n = strlen(text);

    /* The count of alignments is a file of that name beside their results (aligned.h). */
    return n >= 1 && n <= CONFIG_ALIGN_NAME_MAX && strcmp(text, "asked") != 0 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}
