/* draws.c -- what a test program draws where a daemon draws from the system: the same in every run.
 *
 * Linked into unit tests and sims, this hides the library's RAND_bytes (a test may have one of its
 * own instead), so that no test passes or fails by chance.  DRAWS_SEED=N in the environment gives
 * other draws, to look for a test whose outcome hangs on them.  Keys that the library generates by
 * itself remain its own.
 *
 * One stream for all threads: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/rand.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t GAMMA = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Mixed, so that seeds that are near each other begin far apart. */
static uint64_t start(void)
{
    const char *seed = getenv("DRAWS_SEED");

    return mixed(GAMMA + (seed == NULL ? 0 : strtoull(seed, NULL, 10)));
}

int RAND_bytes(unsigned char *out, int n)
{
    static _Atomic uint64_t words;
    const uint64_t from = start();

    for (int at = 0; at < n; at += 8) {
        uint64_t word = mixed(from + GAMMA * ++words);

        memcpy(out + at, &word, n - at < 8 ? (size_t)(n - at) : 8);
    }
    return 1;
}
