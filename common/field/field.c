/* field.c -- the two tables, over fp31_*.h and fp61_*.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/field.h"

#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/field/fp31_mat.h"
#include "common/field/fp31_vec.h"
#include "common/field/fp61_mat.h"
#include "common/field/fp61_vec.h"

/* --- 2^31 - 1 --- */

static void add_31(void *x, const void *y, size_t n)
{
    fp31_vec_add(x, y, n);
}

static void axpy_31(void *x, uint64_t s, const void *y, size_t n)
{
    CHECK(s < FP31_P);
    fp31_vec_axpy(x, (uint32_t)s, y, n);
}

static bool valid_31(const void *x, size_t n)
{
    return fp31_vec_valid(x, n);
}

static size_t uniform_31(void *out, size_t n, const uint8_t *random, size_t bytes, size_t *used)
{
    return fp31_vec_uniform(out, n, random, bytes, used);
}

static size_t packed_31(size_t n)
{
    return bits_bytes(n, FP31_BITS);
}

static void pack_31(uint8_t *out, const void *x, size_t n)
{
    bits_pack32(out, x, n, FP31_BITS);
}

static void unpack_31(void *x, const uint8_t *in, size_t n)
{
    bits_unpack32(x, in, n, FP31_BITS);
}

static void from_signed_31(void *out, const int64_t *x, size_t n)
{
    uint32_t *to = out;

    for (size_t i = 0; i < n; i++)
        to[i] = fp31_from_signed(x[i]);
}

static void to_signed_31(int64_t *out, const void *x, size_t n)
{
    const uint32_t *from = x;

    for (size_t i = 0; i < n; i++)
        out[i] = fp31_signed(from[i]);
}

static uint64_t get_31(const void *x, size_t i)
{
    return ((const uint32_t *)x)[i];
}

static void set_31(void *x, size_t i, uint64_t v)
{
    CHECK(v < FP31_P);
    ((uint32_t *)x)[i] = (uint32_t)v;
}

static void mat_mul_31(void *c, const void *a, const void *b, const struct mat_shape *shape,
                       void *scratch)
{
    fp31_mat_mul(c, a, b, shape, scratch);
}

const struct field field_31 = {
    .name = "2^31-1",
    .p = FP31_P,
    .bits = FP31_BITS,
    .bytes = sizeof(uint32_t),
    .add = add_31,
    .axpy = axpy_31,
    .valid = valid_31,
    .uniform = uniform_31,
    .packed = packed_31,
    .pack = pack_31,
    .unpack = unpack_31,
    .from_signed = from_signed_31,
    .to_signed = to_signed_31,
    .get = get_31,
    .set = set_31,
    .mat_space = fp31_mat_space,
    .mat_mul = mat_mul_31,
};

/* --- 2^61 - 1 --- */

static void add_61(void *x, const void *y, size_t n)
{
    fp61_vec_add(x, y, n);
}

static void axpy_61(void *x, uint64_t s, const void *y, size_t n)
{
    CHECK(s < FP61_P);
    fp61_vec_axpy(x, s, y, n);
}

static bool valid_61(const void *x, size_t n)
{
    return fp61_vec_valid(x, n);
}

static size_t uniform_61(void *out, size_t n, const uint8_t *random, size_t bytes, size_t *used)
{
    return fp61_vec_uniform(out, n, random, bytes, used);
}

static void pack_61(uint8_t *out, const void *x, size_t n)
{
    fp61_vec_pack(out, x, n);
}

static void unpack_61(void *x, const uint8_t *in, size_t n)
{
    fp61_vec_unpack(x, in, n);
}

static void from_signed_61(void *out, const int64_t *x, size_t n)
{
    uint64_t *to = out;

    for (size_t i = 0; i < n; i++)
        to[i] = fp61_from_signed(x[i]);
}

static void to_signed_61(int64_t *out, const void *x, size_t n)
{
    const uint64_t *from = x;

    for (size_t i = 0; i < n; i++)
        out[i] = fp61_signed(from[i]);
}

static uint64_t get_61(const void *x, size_t i)
{
    return ((const uint64_t *)x)[i];
}

static void set_61(void *x, size_t i, uint64_t v)
{
    CHECK(v < FP61_P);
    ((uint64_t *)x)[i] = v;
}

static void mat_mul_61(void *c, const void *a, const void *b, const struct mat_shape *shape,
                       void *scratch)
{
    fp61_mat_mul(c, a, b, shape, scratch);
}

const struct field field_61 = {
    .name = "2^61-1",
    .p = FP61_P,
    .bits = FP61_BITS,
    .bytes = sizeof(uint64_t),
    .add = add_61,
    .axpy = axpy_61,
    .valid = valid_61,
    .uniform = uniform_61,
    .packed = fp61_vec_bytes,
    .pack = pack_61,
    .unpack = unpack_61,
    .from_signed = from_signed_61,
    .to_signed = to_signed_61,
    .get = get_61,
    .set = set_61,
    .mat_space = fp61_mat_space,
    .mat_mul = mat_mul_61,
};
