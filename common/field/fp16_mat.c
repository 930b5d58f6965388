/* fp16_mat.c -- the matrix made ready, the choice of the kernel, and the kernel in plain C.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/field/fp16_mat.h"

#include "common/base/check.h"
#include "common/base/clones.h"
#include "common/field/fp16_mat_avx2.h"
#include "common/field/fp16_mat_avx512.h"

#include <string.h>

/* Columns at a time: a block of 256 rows stays in the first cache level. */
enum { BLOCK = 64 };

/* --- the matrix --- */

static int32_t balanced(uint32_t x, const struct fp16 *f)
{
    return (int32_t)x - (x > f->half ? (int32_t)f->p : 0);
}

static int32_t pair(int32_t even, int32_t odd)
{
    return (int32_t)(((uint32_t)even & 0xffff) | (uint32_t)odd << 16);
}

size_t fp16_mat_space(uint32_t rows, uint32_t terms)
{
    const size_t pairs = ((size_t)terms + 1) / 2;

    return rows * (2 * pairs + 1);
}

/* c = 256 c1 + c0 with -128 <= c0 < 128; for |c| <= 32760 also |c1| <= 128. */
static int32_t lower_byte(int32_t c)
{
    return ((c + 128) & 255) - 128;
}

static void init_row(struct fp16_mat *m, uint32_t i, const uint16_t *c)
{
    uint32_t sum = 0;

    for (uint32_t k = 0; k < m->pairs; k++) {
        const bool last = 2 * k + 1 == m->terms;
        const int32_t even = balanced(c[2 * k], &m->f);
        const int32_t odd = last ? 0 : balanced(c[2 * k + 1], &m->f);
        const size_t at = (size_t)i * m->pairs + k;

        sum = (sum + c[2 * k] + (last ? 0 : c[2 * k + 1])) % m->f.p;
        if (m->wide) {
            m->low[at] = pair(lower_byte(even), lower_byte(odd));
            m->high[at] = pair((even - lower_byte(even)) / 256, (odd - lower_byte(odd)) / 256);
        } else {
            m->low[at] = pair(even, odd);
        }
    }
    m->bias[i] = balanced(sum * m->f.half % m->f.p, &m->f);
}

void fp16_mat_init(struct fp16_mat *m, int32_t *space, const uint16_t *c, uint32_t rows,
                   uint32_t terms, const struct fp16 *f)
{
    const uint64_t most = (uint64_t)f->half * f->half * terms + f->half;

    CHECK(rows >= 1 && terms >= 1 && terms <= FP16_MAT_TERMS_MAX);
    *m = (struct fp16_mat){.f = *f, .rows = rows, .terms = terms, .pairs = (terms + 1) / 2};
    m->wide = f->p >= 1U << 15 || most > INT32_MAX;
    m->low = space;
    m->high = space + (size_t)rows * m->pairs;
    m->bias = space + 2 * (size_t)rows * m->pairs;
    for (uint32_t i = 0; i < rows; i++)
        init_row(m, i, c + (size_t)i * terms);
}

/* --- in plain C --- */

/* To the middle of -p..p, in a loop over a block. */
#define ROUND 12582912.0F /* 1.5 * 2^23: adding it to a float of less than 2^22 rounds that */

WIDE_CLONES static void centre(int16_t out[restrict BLOCK], const uint16_t in[restrict BLOCK],
                               uint32_t half)
{
    for (uint32_t j = 0; j < BLOCK; j++)
        out[j] = (int16_t)(in[j] - half);
}

WIDE_CLONES static void add_pair(int32_t sum[restrict BLOCK], const int16_t even[restrict BLOCK],
                                 const int16_t odd[restrict BLOCK], int32_t c)
{
    const int16_t c_even = (int16_t)c, c_odd = (int16_t)(c >> 16);

    for (uint32_t j = 0; j < BLOCK; j++)
        sum[j] += c_even * even[j] + c_odd * odd[j];
}

/* -p < result < p. */
WIDE_CLONES static void reduce(int32_t sum[BLOCK], int32_t p)
{
    const float inverse = 1.0F / (float)p;

    for (uint32_t j = 0; j < BLOCK; j++) {
        const float q = ((float)sum[j] * inverse + ROUND) - ROUND;

        sum[j] -= (int32_t)q * p;
    }
}

static void add_row(int32_t sum[BLOCK], int16_t (*x)[BLOCK], const int32_t *c, uint32_t pairs)
{
    for (uint32_t k = 0; k < pairs; k++)
        add_pair(sum, x[2 * k], x[2 * k + 1], c[k]);
}

static void row_of_block(const struct fp16_mat *m, uint16_t out[BLOCK], int16_t (*x)[BLOCK],
                         uint32_t i)
{
    const int32_t p = (int32_t)m->f.p;
    const size_t at = (size_t)i * m->pairs;
    int32_t sum[BLOCK], high[BLOCK] = {0};

    for (uint32_t j = 0; j < BLOCK; j++)
        sum[j] = m->bias[i];
    add_row(sum, x, m->low + at, m->pairs);
    if (m->wide) {
        add_row(high, x, m->high + at, m->pairs);
        reduce(high, p);
        for (uint32_t j = 0; j < BLOCK; j++)
            sum[j] += 256 * high[j];
    }
    reduce(sum, p);
    for (uint32_t j = 0; j < BLOCK; j++)
        out[j] = (uint16_t)(sum[j] + (p & sum[j] >> 31));
}

static void mul_portable(const struct fp16_mat *m, uint16_t *out, size_t stride,
                         const uint16_t *const *in, size_t n)
{
    int16_t x[FP16_MAT_TERMS_MAX + 1][BLOCK];
    uint16_t block[BLOCK] = {0};

    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < BLOCK ? n - at : BLOCK;
        for (uint32_t u = 0; u < m->terms; u++) {
            memcpy(block, in[u] + at, some * sizeof *block);
            centre(x[u], block, m->f.half);
        }
        memset(x[m->terms], 0, sizeof x[0]); /* beside a last one that has no neighbour */
        for (uint32_t i = 0; i < m->rows; i++) {
            row_of_block(m, block, x, i);
            memcpy(out + i * stride + at, block, some * sizeof *block);
        }
    }
    explicit_bzero(x, sizeof x);
    explicit_bzero(block, sizeof block);
}

/* --- the choice --- */

static bool anywhere(void)
{
    return true;
}

const struct fp16_mat_kernel fp16_mat_kernels[] = {
    {"avx512", fp16_mat_avx512_runs_here, fp16_mat_avx512_mul},
    {"avx2", fp16_mat_avx2_runs_here, fp16_mat_avx2_mul},
    {"portable", anywhere, mul_portable},
};
const size_t fp16_mat_kernels_n = sizeof fp16_mat_kernels / sizeof fp16_mat_kernels[0];

void fp16_mat_mul(const struct fp16_mat *m, uint16_t *out, size_t stride, const uint16_t *const *in,
                  size_t n)
{
    const struct fp16_mat_kernel *k = fp16_mat_kernels;

    CHECK(stride >= n);
    while (!k->runs_here())
        k++;
    k->mul(m, out, stride, in, n);
}

void fp16_mat_naive(uint16_t *out, size_t stride, const uint16_t *c, const uint16_t *const *in,
                    size_t n, uint32_t rows, uint32_t terms, const struct fp16 *f)
{
    for (uint32_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < n; j++) {
            uint32_t sum = 0;

            for (uint32_t u = 0; u < terms; u++)
                sum = (sum + (uint32_t)c[(size_t)i * terms + u] * in[u][j]) % f->p;
            out[i * stride + j] = (uint16_t)sum;
        }
    }
}
