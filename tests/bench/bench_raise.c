/* bench_raise.c -- microseconds of a processor that one exponentiation of a point takes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/clock.h"
#include "common/crypto/group.h"

#include <stdio.h>

enum { TIMES = 5000 };

int main(void)
{
    uint8_t point[GROUP_BYTES], key[GROUP_BYTES];
    uint8_t random[GROUP_RANDOM_BYTES] = {1, 2, 3};
    double before;

    group_scalar(key, random);
    if (group_open() != STATUS_OK || group_hash(point, "bench", "a", 1) != STATUS_OK)
        return 1;
    before = clock_cpu_s();
    for (int i = 0; i < TIMES; i++) {
        if (!group_raise(point, key, point))
            return 1;
    }
    printf("%.1f\n", (clock_cpu_s() - before) / TIMES * 1e6);
    return 0;
}
