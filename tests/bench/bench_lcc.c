/* bench_lcc.c -- coded shares: encoding at a member and decoding at the server, beside naive twins.
 *
 *   naive   the definition: every product is reduced by %, element by element
 *   lazy    sums of 64 bits, one % an element: what one writes next
 *
 * Both are scalar code as the compiler makes it.  All are measured in turn, in processor time of
 * one core, and ratios are taken within each turn, since the machine may be shared.  `plain C` is
 * our own kernel without any instruction set.
 *
 * usage: bench_lcc            the table
 *        bench_lcc serve      for bench_lcc.py: one line "M K T p n" on standard input is answered
 *                             by one line "encode_us decode_us", until end of file
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/lcc/lcc.h"
#include "tests/lib/median.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REPETITIONS = 9 };

struct bench {
    struct lcc code;
    size_t n, len;
    const struct fp16_mat_kernel *plain;
    uint16_t *rows, *shares, *out, *twin; /* K+T, M, K, M rows */
    uint16_t *encode, *decode;            /* coefficients of the twins */
    const uint16_t *in[LCC_PARTIES_MAX], *held[LCC_PARTIES_MAX];
    uint32_t who[LCC_PARTIES_MAX];
    struct lcc_shares from;
};

/* --- the arms --- */

static void encode(struct bench *b)
{
    lcc_encode(&b->code, b->shares, b->rows, b->len);
}

static void decode(struct bench *b)
{
    lcc_decode(&b->code, b->out, &b->from);
}

static void encode_plain(struct bench *b)
{
    b->plain->mul(&b->code.encode, b->twin, b->len, b->in, b->len);
}

static void decode_plain(struct bench *b)
{
    b->plain->mul(&b->code.decode, b->twin, b->len, b->held, b->len);
}

static void encode_naive(struct bench *b)
{
    fp16_mat_naive(b->twin, b->len, b->encode, b->in, b->len, b->code.shape.parties,
                   b->code.threshold, &b->code.field);
}

static void decode_naive(struct bench *b)
{
    fp16_mat_naive(b->twin, b->len, b->decode, b->held, b->len, b->code.shape.segments,
                   b->code.threshold, &b->code.field);
}

static void lazy(uint16_t *out, const uint16_t *c, const uint16_t *const *in, uint32_t rows,
                 const struct bench *b)
{
    const uint32_t terms = b->code.threshold;
    const uint64_t p = b->code.field.p;

    for (uint32_t i = 0; i < rows; i++)
        for (size_t j = 0; j < b->len; j++) {
            uint64_t sum = 0;

            for (uint32_t u = 0; u < terms; u++)
                sum += (uint64_t)c[(size_t)i * terms + u] * in[u][j];
            out[i * b->len + j] = (uint16_t)(sum % p);
        }
}

static void encode_lazy(struct bench *b)
{
    lazy(b->twin, b->encode, b->in, b->code.shape.parties, b);
}

static void decode_lazy(struct bench *b)
{
    lazy(b->twin, b->decode, b->held, b->code.shape.segments, b);
}

/* --- what they work on --- */

static uint16_t *elements(size_t rows, size_t n)
{
    uint16_t *x = mem_alloc(rows * n, sizeof *x);

    CHECK(x != NULL);
    return x;
}

static void coefficients(uint16_t *c, const uint64_t *to, uint32_t to_n, const uint64_t *from,
                         const struct bench *b)
{
    static uint64_t wide[LCC_PARTIES_MAX * LCC_PARTIES_MAX];

    points_lagrange(wide, to, to_n, from, b->code.threshold, b->code.field.p);
    for (size_t i = 0; i < (size_t)to_n * b->code.threshold; i++)
        c[i] = (uint16_t)wide[i];
}

static void set_up(struct bench *b, const struct lcc_shape *s, size_t n)
{
    uint64_t beta[LCC_PARTIES_MAX], alpha[LCC_PARTIES_MAX], last[LCC_PARTIES_MAX];
    uint64_t state = 88172645463325252U;
    uint32_t d = s->segments + s->privacy;

    CHECK(lcc_init(&b->code, s, NULL) == STATUS_OK);
    b->n = n;
    b->len = (n + s->segments - 1) / s->segments;
    b->plain = &fp16_mat_kernels[fp16_mat_kernels_n - 1];
    b->rows = elements(d, b->len);
    b->shares = elements(s->parties, b->len);
    b->out = elements(s->segments, b->len);
    b->twin = elements(s->parties, b->len);
    b->encode = elements(s->parties, d);
    b->decode = elements(s->segments, d);
    for (size_t i = 0; i < d * b->len; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        b->rows[i] = (uint16_t)((state >> 33) % s->prime);
    }
    for (uint32_t j = 0; j < s->parties; j++)
        alpha[j] = points_alpha(d, j);
    for (uint32_t u = 0; u < d; u++) {
        beta[u] = points_beta(u);
        b->in[u] = b->rows + u * b->len;
        b->who[u] = s->parties - 1 - u; /* the last members came first */
        b->held[u] = b->shares + b->who[u] * b->len;
        last[u] = alpha[b->who[u]];
    }
    coefficients(b->encode, alpha, s->parties, beta, b);
    coefficients(b->decode, beta, s->segments, last, b);
    b->from = (struct lcc_shares){b->held, b->who, d, b->len};
    encode(b);
    decode(b);
    CHECK(memcmp(b->out, b->rows, s->segments * b->len * sizeof *b->out) == 0);
}

static void tear_down(struct bench *b)
{
    mem_free(b->rows);
    mem_free(b->shares);
    mem_free(b->out);
    mem_free(b->twin);
    mem_free(b->encode);
    mem_free(b->decode);
    lcc_deinit(&b->code);
}

/* --- time --- */

static double time_of(void (*work)(struct bench *), struct bench *b, size_t turns)
{
    const double start = clock_cpu_s();

    for (size_t k = 0; k < turns; k++)
        work(b);
    return 1e6 * (clock_cpu_s() - start) / (double)turns;
}

static size_t turns_of(const struct bench *b)
{
    const size_t work = b->n * b->code.shape.parties;

    return work < 20000000 ? 20000000 / work : 1;
}

static void compare_one(const char *what, struct bench *b, void (*const arm[4])(struct bench *))
{
    double us[REPETITIONS], ratio[3][REPETITIONS];
    const size_t turns = turns_of(b);

    for (int k = 0; k < REPETITIONS; k++) {
        us[k] = time_of(arm[0], b, turns);
        for (int a = 1; a < 4; a++)
            ratio[a - 1][k] = time_of(arm[a], b, turns / 8 + 1) / us[k];
    }
    printf("   %s %8.1f us: naive %5.1f x, lazy %5.1f x, plain C %4.1f x", what,
           median(us, REPETITIONS), median(ratio[0], REPETITIONS), median(ratio[1], REPETITIONS),
           median(ratio[2], REPETITIONS));
}

static void compare(const struct lcc_shape *s, size_t n)
{
    static void (*const encoding[])(struct bench *) = {encode, encode_naive, encode_lazy,
                                                       encode_plain};
    static void (*const decoding[])(struct bench *) = {decode, decode_naive, decode_lazy,
                                                       decode_plain};
    struct bench b;

    set_up(&b, s, n);
    printf("(%2u,%2u,%2u) p = %5" PRIu64 ", %7zu elements:", s->parties, s->segments, s->privacy,
           s->prime, n);
    compare_one("encode", &b, encoding);
    compare_one("decode", &b, decoding);
    printf("\n");
    fflush(stdout);
    tear_down(&b);
}

static const struct {
    uint32_t parties, segments, privacy;
} SHAPES[] = {{5, 3, 1}, {10, 4, 2}, {10, 3, 5}, {28, 15, 5}, {50, 20, 10}};

static void table(void)
{
    static const size_t sizes[] = {1000000, 16000};
    enum { TRIALS = 64 };

    printf("Lagrange coding on one core, kernel %s: (M,K,T), medians of %d\n",
           fp16_mat_kernels[0].runs_here()   ? fp16_mat_kernels[0].name
           : fp16_mat_kernels[1].runs_here() ? fp16_mat_kernels[1].name
                                             : fp16_mat_kernels[2].name,
           REPETITIONS);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof SHAPES / sizeof SHAPES[0]; k++)
            for (int large = 0; large < 2; large++) {
                const uint32_t m = SHAPES[k].parties;
                const uint32_t p = large ? FP16_PRIME_MAX : fp16_prime_above(TRIALS * m);

                compare(&(struct lcc_shape){p, m, SHAPES[k].segments, SHAPES[k].privacy}, sizes[i]);
            }
}

static void serve(void)
{
    struct lcc_shape s;
    size_t n;

    while (scanf("%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %zu", &s.parties, &s.segments,
                 &s.privacy, &s.prime, &n) == 5) {
        struct bench b;

        set_up(&b, &s, n);
        time_of(encode, &b, 1);
        printf("%.3f ", time_of(encode, &b, turns_of(&b)));
        printf("%.3f\n", time_of(decode, &b, turns_of(&b)));
        fflush(stdout);
        tear_down(&b);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        serve();
    else
        table();
    return 0;
}
