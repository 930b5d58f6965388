/* subject.h -- a prime field as the laws of this folder see it: elements are uint64_t, vectors and
 * matrices void * to what struct field says.
 *
 * The laws (laws_element.h, laws_vec.h, laws_mat.h) are written once; test_fp31*.c and
 * test_fp61*.c run them, beside what only one field has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_FIELD_SUBJECT_H
#define COLONNADE_TESTS_FIELD_SUBJECT_H

#include "common/field/field.h"

enum {
    SUBJECT_OPS = 6,      /* numbers of one line of `ops` */
    SUBJECT_PACKED = 21,  /* elements in `packed` */
    SUBJECT_CANARY = 0xa5 /* each byte of an element that nobody writes; it is no element */
};

struct subject {
    const struct field *field; /* its functions are those of the vectors and of the matrices */
    uint64_t (*add)(uint64_t a, uint64_t b);
    uint64_t (*sub)(uint64_t a, uint64_t b);
    uint64_t (*mul)(uint64_t a, uint64_t b);
    uint64_t (*from_signed)(int64_t x);
    int64_t (*to_signed)(uint64_t a);
    void (*vec_sub)(void *x, const void *y, size_t n);
    void (*mat_naive)(void *c, const void *a, const void *b, const struct mat_shape *s);
    const struct mat_kernel *const *kernels;
    const size_t *kernels_n;
    /* Elements with which a kernel might go wrong. */
    const uint64_t *special;
    size_t special_n;
    /* tests/golden/field.h; elements as in memory. */
    const void *ops; /* a, b, a + b, a - b, a b, 1 / a */
    size_t ops_n;
    const int64_t *integers;
    const void *elements; /* what they become */
    size_t integers_n;
    const void *(*product)(uint32_t shape);
    const uint8_t *packed; /* of mixed(99, i) */
    size_t packed_bytes;
};

extern const struct subject subject_31, subject_61;

/* Runs n laws, whose *state is s; returns how many failed. */
struct CMUnitTest;
int subject_run(const struct subject *s, const struct CMUnitTest *laws, size_t n);

/* --- what several laws need --- */

uint64_t subject_half(const struct subject *s); /* (p - 1) / 2 */
/* n elements, the ends of the range among them. */
void subject_fill(const struct subject *s, void *x, size_t n, uint64_t seed);
/* Any value of the element's memory, also one that is no element. */
void subject_put(const struct subject *s, void *x, size_t i, uint64_t v);
bool subject_is_canary(const struct subject *s, const void *x, size_t i);
/* Element i. */
void *subject_at(const struct subject *s, void *x, size_t i);

#endif
