/* bench_fmatmul.c -- products of matrices modulo 2^31 - 1 and 2^61 - 1 beside FLINT's, and vectors.
 *
 * Billions of multiply-adds a second, in processor time of one core; packing is part of a product.
 * All arms are measured in turn, and a ratio is the median of those taken within each turn, since
 * the machine may be shared.  FLINT is nmod_mat_mul, which chooses its own algorithm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/crypto/prg.h"
#include "common/field/fp31_mat.h"
#include "common/field/fp31_vec.h"
#include "common/field/fp61_mat.h"
#include "common/field/fp61_vec.h"
#include "tests/lib/median.h"

#include <flint/nmod_mat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 9, ARMS_MAX = 5, VECTOR = 1 << 16, TURNS = 64 };

#define TURN_MACS 5e7 /* of one measurement */

static const struct mat_shape SHAPES[] = {
    {256, 28, 64, 28, 64, 64},
    {256, 392, 128, 392, 128, 128},
    {1024, 1024, 256, 1024, 256, 256},
};

static void *zeroed(size_t n, size_t size)
{
    void *x = mem_alloc(n, size);

    CHECK(x != NULL);
    return x;
}

static uint64_t random_word(void)
{
    static uint64_t state = 88172645463325252U;

    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* --- products --- */

struct product {
    uint32_t bits;
    struct mat_shape shape;
    void *a, *b, *c, *scratch;
    nmod_mat_t flint_a, flint_b, flint_c;
};

static void put(void *x, size_t i, uint64_t value, uint32_t bits)
{
    if (bits == FP31_BITS)
        ((uint32_t *)x)[i] = (uint32_t)value;
    else
        ((uint64_t *)x)[i] = value;
}

static uint64_t get(const void *x, size_t i, uint32_t bits)
{
    return bits == FP31_BITS ? ((const uint32_t *)x)[i] : ((const uint64_t *)x)[i];
}

static void *fill(nmod_mat_t m, size_t rows, size_t columns, uint32_t bits)
{
    const uint64_t p = (UINT64_C(1) << bits) - 1;
    void *x = zeroed(rows * columns, sizeof(uint64_t));

    nmod_mat_init(m, (slong)rows, (slong)columns, p);
    for (size_t i = 0; i < rows * columns; i++) {
        const uint64_t value = random_word() % p;

        put(x, i, value, bits);
        m->entries[i] = value;
    }
    return x;
}

static void set_up(struct product *p, uint32_t bits, const struct mat_shape *s)
{
    *p = (struct product){.bits = bits, .shape = *s};
    p->a = fill(p->flint_a, s->n, s->k, bits);
    p->b = fill(p->flint_b, s->k, s->m, bits);
    p->c = fill(p->flint_c, s->n, s->m, bits);
}

static void tear_down(struct product *p)
{
    mem_free(p->a);
    mem_free(p->b);
    mem_free(p->c);
    nmod_mat_clear(p->flint_a);
    nmod_mat_clear(p->flint_b);
    nmod_mat_clear(p->flint_c);
}

/* Seconds of one product; kernel NULL: FLINT. */
static double time_of(struct product *p, const struct mat_kernel *kernel)
{
    const struct mat_shape *s = &p->shape;
    const double macs = (double)s->n * (double)s->k * (double)s->m;
    const int turns = 1 + (int)(TURN_MACS / macs);
    const double start = clock_cpu_s();

    for (int i = 0; i < turns; i++) {
        if (kernel == NULL)
            nmod_mat_mul(p->flint_c, p->flint_a, p->flint_b);
        else
            mat_mul(kernel, p->c, p->a, p->b, s, p->scratch);
    }
    return (clock_cpu_s() - start) / turns;
}

static void compare(const struct product *p, const char *name)
{
    for (size_t i = 0; i < p->shape.n * p->shape.m; i++)
        if (get(p->c, i, p->bits) != p->flint_c->entries[i]) {
            fprintf(stderr, "%s at %u bits is wrong\n", name, p->bits);
            exit(1);
        }
}

static void product(uint32_t bits, const struct mat_shape *s)
{
    const struct mat_kernel *const *kernels =
        bits == FP31_BITS ? fp31_mat_kernels : fp61_mat_kernels;
    const size_t n = bits == FP31_BITS ? fp31_mat_kernels_n : fp61_mat_kernels_n;
    const double giga = 1e-9 * (double)s->n * (double)s->k * (double)s->m;
    double flint[REPETITIONS], ours[ARMS_MAX][REPETITIONS], ratio[ARMS_MAX][REPETITIONS];
    struct product p;

    CHECK(n <= ARMS_MAX);
    set_up(&p, bits, s);
    for (int r = 0; r < REPETITIONS; r++) {
        const double peer = time_of(&p, NULL);

        flint[r] = giga / peer;
        for (size_t k = 0; k < n; k++) {
            if (!kernels[k]->runs_here())
                continue;
            p.scratch = zeroed(mat_space(kernels[k], s), 1);
            ours[k][r] = giga / time_of(&p, kernels[k]);
            ratio[k][r] = ours[k][r] / flint[r];
            mem_free(p.scratch);
            compare(&p, kernels[k]->name);
        }
    }
    printf("%u bits, %zu x %zu x %zu: FLINT %.2f", bits, s->n, s->k, s->m,
           median(flint, REPETITIONS));
    for (size_t k = 0; k < n; k++)
        if (kernels[k]->runs_here())
            printf(", %s %.2f (%.1f x)", kernels[k]->name, median(ours[k], REPETITIONS),
                   median(ratio[k], REPETITIONS));
    printf("\n");
    fflush(stdout);
    tear_down(&p);
}

/* --- vectors: gigabytes a second of what is read or made --- */

struct vectors {
    struct prg prg;
    uint64_t *x, *y;
    uint8_t *bytes;
};

static void copy(struct vectors *v)
{
    memcpy(v->x, v->y, VECTOR * sizeof *v->x);
}

static void stream(struct vectors *v)
{
    prg_fill(&v->prg, v->bytes, VECTOR * sizeof *v->x);
}

static void uniform31(struct vectors *v)
{
    size_t used;

    fp31_vec_uniform((uint32_t *)v->x, 2 * VECTOR, v->bytes, VECTOR * sizeof *v->x, &used);
}

static void uniform61(struct vectors *v)
{
    size_t used;

    fp61_vec_uniform(v->x, VECTOR, v->bytes, VECTOR * sizeof *v->x, &used);
}

static void valid31(struct vectors *v)
{
    CHECK(fp31_vec_valid((const uint32_t *)v->y, 2 * VECTOR));
}

static void valid61(struct vectors *v)
{
    CHECK(fp61_vec_valid(v->y, VECTOR));
}

static void axpy31(struct vectors *v)
{
    fp31_vec_axpy((uint32_t *)v->x, 12345678, (const uint32_t *)v->y, 2 * VECTOR);
}

static void axpy61(struct vectors *v)
{
    fp61_vec_axpy(v->x, 1234567890123456, v->y, VECTOR);
}

static void pack31(struct vectors *v)
{
    bits_pack32(v->bytes, (const uint32_t *)v->y, 2 * VECTOR, FP31_BITS);
}

static void pack61(struct vectors *v)
{
    fp61_vec_pack(v->bytes, v->y, VECTOR);
}

static void unpack61(struct vectors *v)
{
    fp61_vec_unpack(v->x, v->bytes, VECTOR);
}

static void vectors(void)
{
    static const struct {
        const char *name;
        void (*run)(struct vectors *);
    } arms[] = {
        {"memcpy", copy},          {"AES-256-CTR", stream}, {"uniform 31", uniform31},
        {"uniform 61", uniform61}, {"valid 31", valid31},   {"valid 61", valid61},
        {"axpy 31", axpy31},       {"axpy 61", axpy61},     {"pack 31", pack31},
        {"pack 61", pack61},       {"unpack 61", unpack61},
    };
    static const uint8_t key[PRG_KEY_BYTES], iv[PRG_IV_BYTES];
    struct vectors v = {.x = zeroed(VECTOR, sizeof *v.x), .y = zeroed(VECTOR, sizeof *v.y)};

    v.bytes = zeroed(VECTOR, sizeof *v.x);
    CHECK(prg_init(&v.prg, key) == STATUS_OK);
    prg_seek(&v.prg, iv);
    printf("GB/s of 512 KiB:");
    for (size_t k = 0; k < sizeof arms / sizeof arms[0]; k++) {
        double rate[REPETITIONS];

        for (int r = 0; r < REPETITIONS; r++) {
            const double start = clock_cpu_s();

            for (int i = 0; i < TURNS; i++)
                arms[k].run(&v);
            rate[r] = 1e-9 * TURNS * VECTOR * sizeof *v.x / (clock_cpu_s() - start);
        }
        printf("%s %s %.1f", k > 0 ? "," : "", arms[k].name, median(rate, REPETITIONS));
    }
    printf("\n");
    prg_deinit(&v.prg);
    mem_free(v.x);
    mem_free(v.y);
    mem_free(v.bytes);
}

int main(void)
{
    printf("10^9 multiply-adds a second, and times FLINT\n");
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++)
        product(FP31_BITS, &SHAPES[i]);
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++)
        product(FP61_BITS, &SHAPES[i]);
    vectors();
    return 0;
}
