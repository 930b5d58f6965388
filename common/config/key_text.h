/* key_text.h -- texts that come in from outside: which characters, which addresses.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_KEY_TEXT_H
#define COLONNADE_CONFIG_KEY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* What the names of hosts and parties are made of. */
#define KEY_TEXT_HOST "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"

/* UTF-8 without control characters, line breaks, what turns the direction of writing round, and
 * whatever else a YAML reader would not give back unchanged: what key_text_hidden_line lets pass.
 */
bool key_text_is_printable(const char *text);
/* A file that people and YAML readers see the same lines of.  Refused: control characters but tab,
 * LF and CR LF; NEL, LS, PS and a lone CR, which end a line (and a comment) for YAML and not in an
 * editor; what turns the direction of writing round.  0, or the line (from 1) of the first of
 * these. What is no UTF-8 is left to the reader that follows. */
size_t key_text_hidden_line(const char *text, size_t n);
extern const char key_text_hidden[]; /* what to say about that line */
/* Does it name a table of a database server, and no file: postgres:SERVICE or odbc:DSN, and perhaps
 * /TABLE or /SCHEMA/TABLE?  (A file of such a name is ./postgres:...) */
bool key_text_is_server(const char *text);
/* The name of an alignment: 1 to CONFIG_ALIGN_NAME_MAX of a-z, 0-9 and '-', and not that of the
 * file that counts them. */
bool key_text_is_alignment(const char *text);
/* host:port or [v6]:port with port_min <= port <= 65535. */
bool key_text_is_address(const char *text, unsigned port_min);

#endif
