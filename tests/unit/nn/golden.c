/* golden.c -- one file of JSON.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/nn/golden.h"

json_t *golden_vectors;

int golden_load(void **state)
{
    (void)state;
    golden_vectors = json_load_file("tests/golden/nn.json", 0, NULL);
    return golden_vectors == NULL ? -1 : 0;
}

int golden_unload(void **state)
{
    (void)state;
    json_decref(golden_vectors);
    return 0;
}
