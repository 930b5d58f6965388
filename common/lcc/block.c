/* block.c -- the next part.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/lcc/block.h"

#include "common/base/mem.h"

void *block_cut(size_t *at, void *block, size_t n, size_t size)
{
    void *part = block == NULL ? NULL : (char *)block + *at;

    *at += (n * size + MEM_ALIGNMENT - 1) / MEM_ALIGNMENT * MEM_ALIGNMENT;
    return part;
}
