/* subject.c -- 2^31 - 1 and 2^61 - 1.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/field/subject.h"

#include "common/field/fp31_mat.h"
#include "common/field/fp31_vec.h"
#include "common/field/fp61_mat.h"
#include "common/field/fp61_vec.h"
#include "tests/golden/field.h"

#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* --- 2^31 - 1 --- */

static uint64_t add_31(uint64_t a, uint64_t b)
{
    return fp31_add((uint32_t)a, (uint32_t)b);
}

static uint64_t sub_31(uint64_t a, uint64_t b)
{
    return fp31_sub((uint32_t)a, (uint32_t)b);
}

static uint64_t mul_31(uint64_t a, uint64_t b)
{
    return fp31_mul((uint32_t)a, (uint32_t)b);
}

static uint64_t from_signed_31(int64_t x)
{
    return fp31_from_signed(x);
}

static int64_t to_signed_31(uint64_t a)
{
    return fp31_signed((uint32_t)a);
}

static void vec_sub_31(void *x, const void *y, size_t n)
{
    fp31_vec_sub(x, y, n);
}

static void mat_naive_31(void *c, const void *a, const void *b, const struct mat_shape *s)
{
    fp31_mat_naive(c, a, b, s);
}

static const void *product_31(uint32_t shape)
{
    return golden_fp31_products[shape];
}

/* The ends of the range and the middle, where a balanced one changes its sign. */
static const uint64_t special_31[] = {
    0, 1, FP31_P - 1, FP31_HALF, FP31_HALF + 1, FP31_HALF - 1, FP31_P - 2, 1 << 15, 12345678,
};

const struct subject subject_31 = {
    .field = &field_31,
    .add = add_31,
    .sub = sub_31,
    .mul = mul_31,
    .from_signed = from_signed_31,
    .to_signed = to_signed_31,
    .vec_sub = vec_sub_31,
    .mat_naive = mat_naive_31,
    .kernels = fp31_mat_kernels,
    .kernels_n = &fp31_mat_kernels_n,
    .special = special_31,
    .special_n = sizeof special_31 / sizeof special_31[0],
    .ops = golden_fp31_ops,
    .ops_n = sizeof golden_fp31_ops / sizeof golden_fp31_ops[0],
    .integers = golden_fp31_integers,
    .elements = golden_fp31_elements,
    .integers_n = sizeof golden_fp31_integers / sizeof golden_fp31_integers[0],
    .product = product_31,
    .packed = golden_fp31_packed,
    .packed_bytes = sizeof golden_fp31_packed,
};

/* --- 2^61 - 1 --- */

static void vec_sub_61(void *x, const void *y, size_t n)
{
    fp61_vec_sub(x, y, n);
}

static void mat_naive_61(void *c, const void *a, const void *b, const struct mat_shape *s)
{
    fp61_mat_naive(c, a, b, s);
}

static const void *product_61(uint32_t shape)
{
    return golden_fp61_products[shape];
}

/* Besides: where one that is cut in two has its largest parts. */
static const uint64_t special_61[] = {
    0,
    1,
    FP61_P - 1,
    FP61_HALF,
    FP61_HALF + 1,
    1 << 30,
    (1 << 30) - 1,
    FP61_P - (1 << 30),
    UINT64_C(0x7fffffff),
    UINT64_C(0x80000000),
    (UINT64_C(1) << 60) - (1 << 30),
    FP61_P - (UINT64_C(1) << 60) + (1 << 30),
    FP61_P - UINT64_C(0x80000000),
    UINT64_C(0x1fffffff7fffffff),
    UINT64_C(0x1ffffffeffffffff),
};

const struct subject subject_61 = {
    .field = &field_61,
    .add = fp61_add,
    .sub = fp61_sub,
    .mul = fp61_mul,
    .from_signed = fp61_from_signed,
    .to_signed = fp61_signed,
    .vec_sub = vec_sub_61,
    .mat_naive = mat_naive_61,
    .kernels = fp61_mat_kernels,
    .kernels_n = &fp61_mat_kernels_n,
    .special = special_61,
    .special_n = sizeof special_61 / sizeof special_61[0],
    .ops = golden_fp61_ops,
    .ops_n = sizeof golden_fp61_ops / sizeof golden_fp61_ops[0],
    .integers = golden_fp61_integers,
    .elements = golden_fp61_elements,
    .integers_n = sizeof golden_fp61_integers / sizeof golden_fp61_integers[0],
    .product = product_61,
    .packed = golden_fp61_packed,
    .packed_bytes = sizeof golden_fp61_packed,
};

/* --- what several laws need --- */

static const struct subject *running;

static int set_state(void **state)
{
    *state = (void *)(uintptr_t)running;
    return 0;
}

int subject_run(const struct subject *s, const struct CMUnitTest *laws, size_t n)
{
    running = s;
    return _cmocka_run_group_tests(s->field->name, laws, n, set_state, NULL);
}

uint64_t subject_half(const struct subject *s)
{
    return s->field->p / 2;
}

void subject_fill(const struct subject *s, void *x, size_t n, uint64_t seed)
{
    const uint64_t p = s->field->p;

    for (size_t i = 0; i < n; i++) {
        const uint64_t r = golden_field_mixed(seed, i);

        s->field->set(x, i, r % 5 == 0 ? p - 1 : r % 7 == 0 ? 0 : r % p);
    }
}

void subject_put(const struct subject *s, void *x, size_t i, uint64_t v)
{
    if (s->field->bytes == sizeof(uint32_t))
        ((uint32_t *)x)[i] = (uint32_t)v;
    else
        ((uint64_t *)x)[i] = v;
}

bool subject_is_canary(const struct subject *s, const void *x, size_t i)
{
    uint64_t canary;

    memset(&canary, SUBJECT_CANARY, sizeof canary);
    return memcmp((const uint8_t *)x + i * s->field->bytes, &canary, s->field->bytes) == 0;
}

void *subject_at(const struct subject *s, void *x, size_t i)
{
    return (uint8_t *)x + i * s->field->bytes;
}
