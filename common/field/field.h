/* field.h -- one of the prime fields of long vectors, chosen at run time: 2^31 - 1 or 2^61 - 1.
 *
 * A vector is an array of canonical elements, uint32_t[] or uint64_t[] by `bytes`, handed over as
 * void *.  Each function is that of fp31_vec.h, fp31_mat.h, fp61_vec.h or fp61_mat.h and keeps its
 * contract: exact, and branch-free on values that may be secret.  Scalars are uint64_t below p.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_FIELD_FIELD_H
#define COLONNADE_FIELD_FIELD_H

#include "common/field/mat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIELD_BYTES_MAX = 8 }; /* of an element in memory */

struct field {
    const char *name; /* "2^31-1" */
    uint64_t p;
    uint32_t bits;  /* of p, and of a packed element: 31 or 61 */
    uint32_t bytes; /* of an element in memory: 4 or 8 */

    void (*add)(void *x, const void *y, size_t n);              /* x[i] += y[i]; no overlap */
    void (*axpy)(void *x, uint64_t s, const void *y, size_t n); /* x[i] += s y[i]; no overlap */

    /* All n values below p?  What a peer sent goes through here before anything else. */
    bool (*valid)(const void *x, size_t n);
    /* Uniform elements out of uniform bytes, by rejection: returns how many it made, *used how many
     * bytes they took, `bytes` little-endian ones each.  The caller brings fresh bytes until n are
     * made, and wipes them. */
    size_t (*uniform)(void *out, size_t n, const uint8_t *random, size_t bytes, size_t *used);

    /* n elements of `bits` bits without gaps, in the order of common/base/bits.h: packed(n) bytes.
     * What was unpacked has `bits` bits and may be p: it goes through valid(). */
    size_t (*packed)(size_t n);
    void (*pack)(uint8_t *out, const void *x, size_t n);
    void (*unpack)(void *x, const uint8_t *in, size_t n);

    /* x mod p of any x, and back: x <= (p-1)/2 is itself, any other element is x - p. */
    void (*from_signed)(void *out, const int64_t *x, size_t n);
    void (*to_signed)(int64_t *out, const void *x, size_t n);

    uint64_t (*get)(const void *x, size_t i);
    void (*set)(void *x, size_t i, uint64_t v); /* v < p (CHECK) */

    /* C = A B (mat.h): bytes of scratch for this shape, at any alignment; the product.  Afterwards
     * the scratch holds parts of A and B, which the caller wipes when they are secret. */
    size_t (*mat_space)(const struct mat_shape *shape);
    void (*mat_mul)(void *c, const void *a, const void *b, const struct mat_shape *shape,
                    void *scratch);
};

extern const struct field field_31; /* p = 2^31 - 1 */
extern const struct field field_61; /* p = 2^61 - 1 */

#endif
