/* text.c -- plain names and printable excerpts.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/text.h"

#include "common/config/key_text.h"

#include <string.h>

static bool is_printable(char c)
{
    return c >= 0x20 && c <= 0x7e;
}

bool text_is_plain(const char *bytes, size_t n, size_t max)
{
    if (n == 0 || n > max || bytes[0] == ' ' || bytes[n - 1] == ' ')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_printable(bytes[i]) || bytes[i] == '"' || bytes[i] == ',')
            return false;
    }
    return true;
}

bool text_is_name(const char *bytes, size_t n, size_t max)
{
    char text[256];

    if (n == 0 || n > max || n >= sizeof text || bytes[0] == ' ' || bytes[n - 1] == ' ' ||
        memchr(bytes, 0, n) != NULL)
        return false;
    memcpy(text, bytes, n);
    text[n] = 0;
    return key_text_is_printable(text);
}

void text_excerpt(char out[TEXT_EXCERPT_MAX], const char *bytes, size_t n)
{
    static const char more[] = "...";
    size_t shown = TEXT_EXCERPT_MAX - sizeof more;

    if (n <= shown)
        shown = n;
    for (size_t i = 0; i < shown; i++)
        out[i] = is_printable(bytes[i]) ? bytes[i] : '?';
    strcpy(out + shown, n > shown ? more : "");
}
