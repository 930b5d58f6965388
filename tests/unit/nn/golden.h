/* golden.h -- the vectors of tests/golden/nn.json, for the length of a group of tests.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_NN_GOLDEN_H
#define COLONNADE_TESTS_NN_GOLDEN_H

#include <jansson.h>

extern json_t *golden_vectors;

/* What cmocka calls before and after the group. */
int golden_load(void **state);
int golden_unload(void **state);

#endif
