/* decimal.h -- plain decimal numbers to float, exactly as strtof in the C locale rounds them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_DECIMAL_H
#define COLONNADE_DATA_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* Reads [+-] digits [. digits] [e [+-] digits] at the start of `text` (one digit at least before
 * the e) and returns where it ends; NULL when there is none.  No spaces, hexadecimal, nan or inf.
 * *out is infinite when the number is larger than any float. */
const char *decimal_scan(const char *text, float *out);

enum { DECIMAL_SHORT = 16, DECIMAL_READABLE = DECIMAL_SHORT + 1 };

/* Is the whole text, n bytes and a final 0, such a number?  Where n <= DECIMAL_SHORT,
 * DECIMAL_READABLE bytes have to be readable, whatever stands behind the text. */
bool decimal_read(const char *text, size_t n, float *out);

#endif
