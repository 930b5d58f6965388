/* cert_name.c -- which names there may be.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/cert_name.h"

/* Not isalnum(): what a letter is does not depend on a locale. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool cert_name_is(const char *text, size_t n)
{
    if (n == 0 || n > CERT_NAME_MAX || !is_letter(text[0]))
        return false;
    for (size_t i = 1; i < n; i++) {
        if (!is_letter(text[i]) && text[i] != '.' && text[i] != '-')
            return false;
    }
    return true;
}
