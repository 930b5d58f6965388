/* block.h -- one block of memory, cut into parts: asked twice, first how much, then where.
 *
 * The caller cuts all parts from NULL, which leaves in *at how many bytes they take; allocates
 * these; and cuts the same parts again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_LCC_BLOCK_H
#define COLONNADE_LCC_BLOCK_H

#include <stddef.h>

/* The next n elements of `size` bytes from byte *at on, and *at after them; each part is aligned
 * like the block (MEM_ALIGNMENT).  n * size and all parts together do not wrap (the caller's). */
void *block_cut(size_t *at, void *block, size_t n, size_t size);

#endif
