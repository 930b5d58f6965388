/* median.h -- the middle of what was measured several times.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_LIB_MEDIAN_H
#define COLONNADE_TESTS_LIB_MEDIAN_H

#include <stddef.h>

/* Of n values, n odd, which are sorted by this. */
double median(double *v, size_t n);

#endif
