/* cert_name.h -- which names a party, the server or an operator may have.
 *
 * One rule for certificates, rosters and the command line.  Such a name is a word in every place it
 * gets to: a shell, a file's name, YAML, a log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CRYPTO_CERT_NAME_H
#define COLONNADE_CRYPTO_CERT_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { CERT_NAME_MAX = 63 };
#define CERT_NAME_RULE                                                                             \
    "1 to 63 letters, digits, '.', '_' and '-' expected, neither '.' nor '-' in front"

/* Whether these n bytes are a name: ASCII letters and digits, '.', '_', '-', not beginning with '.'
 * or '-', at most CERT_NAME_MAX.  A NUL among them is no letter. */
bool cert_name_is(const char *text, size_t n);

#endif
