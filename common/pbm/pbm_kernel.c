/* pbm_kernel.c -- the portable kernel, and the choice between kernels.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/pbm/pbm_kernel.h"

#include <endian.h>

enum { GROUP = 8 }; /* 16-bit lanes of a 128-bit register: what any x86-64 and arm64 has */

static void count_portable(uint16_t count[PBM_LANES], const uint16_t t[PBM_LANES],
                           const uint16_t *words, size_t rows)
{
    for (size_t g = 0; g < PBM_LANES; g += GROUP) {
        uint16_t sum[GROUP], bound[GROUP];

        for (size_t i = 0; i < GROUP; i++) {
            sum[i] = 0;
            bound[i] = t[g + i];
        }
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < GROUP; i++)
                sum[i] = (uint16_t)(sum[i] + (le16toh(words[r * PBM_LANES + g + i]) < bound[i]));
        for (size_t i = 0; i < GROUP; i++)
            count[g + i] = (uint16_t)(count[g + i] + sum[i]);
    }
}

static const struct pbm_kernel portable = {"portable", count_portable};

const struct pbm_kernel *pbm_kernel_at(size_t i)
{
    return i == 0 ? &portable : NULL;
}
