/* check.h -- CHECK aborts on a programmer's mistake, in release builds too.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_CHECK_H
#define COLONNADE_BASE_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0)) {                                                   \
            fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
