/* csv.h -- CSV files, plain or packed, as a source.
 *
 * As RFC 4180 has it: a header line, then rows of as many cells; a cell that begins with a quote
 * ends with one and may hold delimiters, line ends and doubled quotes.  Beyond it: lines may end
 * with \n alone, a byte order mark is skipped, the delimiter may be another, blanks around cells
 * without quotes are no part of them, and empty lines may follow the last row.  Text is UTF-8.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_CSV_H
#define COLONNADE_DATA_CSV_H

#include "common/data/source.h"

#include <stdio.h>

/* Fills s, whose path is set; on failure what it has made is left to source_close. */
enum status csv_open(struct source *s, const struct source_options *o, struct error *err) MUST_USE;

/* May cells be divided by it?  A sign of ASCII punctuation that is in no number and no quote. */
bool csv_delimiter(char c);

/* Writes n bytes as a cell between commas, in quotes where it needs them: where it holds what a
 * reader might guess to divide cells, too. */
void csv_put(FILE *out, const char *text, size_t n);

#endif
