/* number.h -- the one way a number is read and written in files, on command lines and in plans.
 *
 * Reading is stricter than strtod: no blanks, signs on whole numbers, leading zeros, hex,
 * infinities or NaN, so that a text a human reads as a number is the number the program uses.
 * Writing gives the shortest text that reads back to the same double.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_NUMBER_H
#define COLONNADE_CONFIG_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_TEXT_MAX = 32 };

/* 0, or digits without a leading zero, below 2^64. */
bool number_whole(uint64_t *out, const char *text);
/* [-]digits[.digits][e[+-]digits], finite; -0 gives 0. */
bool number_real(double *out, const char *text);
/* The shortest text that number_real reads as v (which is finite). */
void number_print(char out[NUMBER_TEXT_MAX], double v);

#endif
