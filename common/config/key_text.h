/* key_text.h -- texts that come in from outside: which characters, which addresses.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_KEY_TEXT_H
#define COLONNADE_CONFIG_KEY_TEXT_H

#include <stdbool.h>

/* What the names of hosts and parties are made of. */
#define KEY_TEXT_HOST "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"

/* UTF-8 without control characters, line breaks and whatever else a YAML reader would not give back
 * unchanged. */
bool key_text_is_printable(const char *text);
/* host:port or [v6]:port with port_min <= port <= 65535. */
bool key_text_is_address(const char *text, unsigned port_min);

#endif
