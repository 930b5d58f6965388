/* normal.h -- text in the one form in which spellings of the same are the same.
 *
 * Over utf8proc, which nothing else includes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DATA_NORMAL_H
#define COLONNADE_DATA_NORMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NORMAL_TEXT_MAX = 256, NORMAL_OUT_MAX = 4096 };

enum normal_form { NORMAL_NFC, NORMAL_NFKC, NORMAL_BYTES };

struct normal_rule {
    bool trim; /* white space at either end */
    bool fold; /* full case folding, whatever the form; of bytes the letters of ASCII */
    enum normal_form form;
};

/* Of n bytes: writes to out, and returns how many; SIZE_MAX: they are too many, no UTF-8 (whatever
 * the form), or have a control character in them. */
size_t normal_text(uint8_t out[NORMAL_OUT_MAX], const char *text, size_t n,
                   const struct normal_rule *rule);

#endif
