/* chance.h -- draws for the tests of this room, the same in every run.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_COMPRESS_CHANCE_H
#define COLONNADE_TESTS_COMPRESS_CHANCE_H

#include "common/crypto/rng.h"

#include <stdint.h>

static struct rng chance;

/* For cmocka_run_group_tests. */
static inline int chance_start(void **state)
{
    static const uint8_t key[RNG_KEY_BYTES] = {1};

    (void)state;
    return rng_init_key(&chance, key) == STATUS_OK ? 0 : -1;
}

static inline int chance_end(void **state)
{
    (void)state;
    rng_deinit(&chance);
    return 0;
}

#endif
