/* bench_layers.c -- microseconds of a step of deep nets: forward, backward and SGD.
 *
 * usage: bench_layers            every case, beside the rate of a plain matrix product
 *        bench_layers CASE       a line with a number on standard input runs so many steps, and the
 *                                answer is their processor time in microseconds; the last line, at
 *                                the end of file, is the most memory there was, in bytes
 *        bench_layers CASE WEIGHTS ROWS TARGETS OUT STEPS RATE
 *                                steps of SGD from there, of half the squared distance from the
 *                                targets; the losses, and the weights into OUT
 * The second form is bench_layers.py's, the third equal_layers.py's, which ask PyTorch the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/base/process.h"
#include "common/base/subnormal.h"
#include "common/nn/gemm.h"
#include "common/nn/net.h"
#include "common/nn/safetensors.h"
#include "common/crypto/rng.h"
#include "party/train/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    STAGE_ROWS = 32,
    SERIES_ROWS = 64,
    SERIES_STEPS = 48,
    SERIES_VALUES = 76,
    SERIES_UNITS = 128
};

struct bench_case {
    const char *name;
    uint32_t rows, channels, side; /* of pictures; side 0: the series */
    enum layers_preset preset;     /* PRESET_NONE: one convolution of 3x3, or one memory */
};

static const struct bench_case CASES[] = {
    {"conv-64", STAGE_ROWS, 64, 32, PRESET_NONE},
    {"conv-128", STAGE_ROWS, 128, 16, PRESET_NONE},
    {"conv-256", STAGE_ROWS, 256, 8, PRESET_NONE},
    {"conv-512", STAGE_ROWS, 512, 4, PRESET_NONE},
    {"lstm", SERIES_ROWS, SERIES_VALUES, 0, PRESET_NONE},
    {"cnn", STAGE_ROWS, 3, 32, PRESET_CNN},
    {"resnet18", STAGE_ROWS, 3, 32, PRESET_RESNET18},
    {"resnet18-batchnorm", STAGE_ROWS, 3, 32, PRESET_RESNET18_BATCHNORM},
};
enum { CASES_N = sizeof CASES / sizeof *CASES, EMBEDDING = 16 };

static struct nn_spec spec_of(const struct bench_case *c)
{
    static struct config_party config;
    struct nn_spec s = {.layers = 1, .out_scale = 1, .rows_max = c->rows};
    struct error err = {0};

    if (c->side == 0) {
        s.width[0] = SERIES_STEPS * SERIES_VALUES;
        s.width[1] = SERIES_UNITS;
        s.layer[0] = (struct nn_layer_spec){
            .kind = NN_LSTM, .shape = {SERIES_VALUES, 1, SERIES_STEPS}, .units = SERIES_UNITS};
        return s;
    }
    s.width[0] = s.width[1] = c->channels * c->side * c->side;
    s.layer[0] = (struct nn_layer_spec){.kind = NN_CONV,
                                        .shape = {c->channels, c->side, c->side},
                                        .window = {{3, 3}, {1, 1}, {1, 1}},
                                        .groups = 1};
    if (c->preset == PRESET_NONE)
        return s;
    config_party_defaults(&config);
    config.shape = (struct plan_widths){.n = 3, .width = {c->channels, c->side, c->side}};
    layers_of_preset(&config.layers, c->preset);
    if (party_layers(&s, &config, EMBEDDING, &err) != STATUS_OK) {
        fprintf(stderr, "%s: %s\n", c->name, err.text);
        exit(1);
    }
    return s;
}

struct bench {
    struct arena arena;
    struct nn_net net;
    float *x, *dx, *dy;
};

/* The same numbers in every run. */
static void seeded(struct rng *r)
{
    const uint8_t key[RNG_KEY_BYTES] = {5};

    CHECK(rng_init_key(r, key) == STATUS_OK);
}

static float *reals(size_t n, float amplitude, struct rng *r)
{
    float *x = mem_alloc(n, sizeof *x);

    CHECK(x != NULL);
    for (size_t i = 0; i < n; i++)
        x[i] = amplitude * (float)rng_normal(r);
    return x;
}

static void bench_init(struct bench *b, const struct bench_case *c)
{
    const struct nn_spec s = spec_of(c);
    struct rng r;

    seeded(&r);
    CHECK(arena_init(&b->arena, nn_net_bytes(&s)) == STATUS_OK);
    CHECK(nn_net_init(&b->net, &s, &b->arena) == STATUS_OK);
    nn_net_randomize(&b->net, NN_INIT_TORCH, &r);
    b->x = reals((size_t)c->rows * s.width[0], 1, &r);
    /* Alone a layer gives the gradient for what came in, which in a whole net nobody asks for. */
    b->dx = c->preset == PRESET_NONE ? reals((size_t)c->rows * s.width[0], 0, &r) : NULL;
    b->dy = reals((size_t)c->rows * s.width[s.layers], 0.01F, &r);
}

static void bench_deinit(struct bench *b)
{
    mem_free(b->dy);
    mem_free(b->dx);
    mem_free(b->x);
    arena_deinit(&b->arena);
}

static double steps_us(struct bench *b, long n)
{
    const double start = clock_cpu_s();

    for (long i = 0; i < n; i++) {
        nn_net_forward(&b->net, b->x, b->net.spec.rows_max);
        nn_net_backward(&b->net, b->dx, b->dy);
        nn_net_step(&b->net, 0.001F);
    }
    return 1e6 * (clock_cpu_s() - start);
}

/* As many products in a step's most common shape: what the processor can do at all. */
static double product_gflops(void)
{
    enum { M = 1024, N = 256, K = 2304, TIMES = 8 };
    struct rng r;
    float *a, *b, *c;
    double start, took;

    seeded(&r);
    a = reals((size_t)M * K, 1, &r);
    b = reals((size_t)K * N, 1, &r);
    c = reals((size_t)M * N, 1, &r);
    gemm_nn(c, a, b, M, N, K);
    start = clock_cpu_s();
    for (int i = 0; i < TIMES; i++)
        gemm_nn(c, a, b, M, N, K);
    took = clock_cpu_s() - start;
    mem_free(c);
    mem_free(b);
    mem_free(a);
    return 2e-9 * M * N * K * TIMES / took;
}

static void all(void)
{
    printf("%-10s %8.1f GFLOP/s\n", "product", product_gflops());
    for (size_t i = 0; i < CASES_N; i++) {
        struct bench b;
        double best = 1e300;

        bench_init(&b, &CASES[i]);
        for (int k = 0; k < 5; k++) {
            const double us = steps_us(&b, 2) / 2;

            best = us < best ? us : best;
        }
        printf("%-10s %8.1f GFLOP/s %10.0f us a step\n", CASES[i].name,
               nn_net_flops(&b.net.spec, CASES[i].rows) / best / 1e3, best);
        bench_deinit(&b);
    }
}

static int answer(const struct bench_case *c)
{
    struct bench b;
    struct rusage used;
    char line[32];

    bench_init(&b, c);
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("%.1f\n", steps_us(&b, strtol(line, NULL, 10)));
        fflush(stdout);
    }
    bench_deinit(&b);
    getrusage(RUSAGE_SELF, &used);
    printf("%ld\n", used.ru_maxrss * 1024);
    return 0;
}

static void read_all(struct buf *b, const char *path)
{
    struct error err = {0};

    buf_init(b, SIZE_MAX);
    if (file_read(path, b, &err) != STATUS_OK) {
        fprintf(stderr, "bench_layers: %s\n", err.text);
        exit(1);
    }
}

/* One step; the loss before it. */
static double step_towards(struct nn_net *net, const float *x, const float *target, float *dy,
                           float rate)
{
    const uint32_t rows = net->spec.rows_max;
    const float *y = nn_net_forward_masked(net, x, rows);
    double loss = 0;

    for (size_t i = 0; i < (size_t)rows * net->spec.width[net->spec.layers]; i++) {
        dy[i] = y[i] - target[i];
        loss += 0.5 * (double)dy[i] * (double)dy[i];
    }
    nn_net_backward(net, NULL, dy);
    nn_net_step(net, rate);
    return loss;
}

static int train(const struct bench_case *c, char **path)
{
    struct buf weights, x, target, out;
    struct error err = {0};
    struct bench b;

    bench_init(&b, c);
    read_all(&weights, path[0]);
    read_all(&x, path[1]);
    read_all(&target, path[2]);
    CHECK(x.len == sizeof(float) * c->rows * b.net.spec.width[0] &&
          target.len == sizeof(float) * c->rows * b.net.spec.width[b.net.spec.layers]);
    if (safetensors_parse(&b.net, weights.data, weights.len, &err) != STATUS_OK) {
        fprintf(stderr, "bench_layers: %s: %s\n", path[0], err.text);
        return 1;
    }
    for (long i = strtol(path[4], NULL, 10); i > 0; i--)
        printf("%.9g\n",
               step_towards(&b.net, (const float *)(const void *)x.data,
                            (const float *)(const void *)target.data, b.dy, strtof(path[5], NULL)));
    buf_init(&out, SIZE_MAX);
    CHECK(safetensors_print(&b.net, &out) == STATUS_OK);
    CHECK(file_write_atomic(path[3], out.data, out.len, 0644, &err) == STATUS_OK);
    buf_deinit(&out);
    buf_deinit(&target);
    buf_deinit(&x);
    buf_deinit(&weights);
    bench_deinit(&b);
    return 0;
}

int main(int argc, char **argv)
{
    if (nn_blas_environment())
        process_exec_again(argv); /* OpenBLAS reads its environment when it is loaded */
    subnormal_flush();
    if (argc < 2) {
        all();
        return 0;
    }
    for (size_t i = 0; i < CASES_N; i++)
        if (strcmp(argv[1], CASES[i].name) == 0)
            return argc == 8 ? train(&CASES[i], argv + 2) : answer(&CASES[i]);
    fprintf(stderr, "bench_layers: no case %s\n", argv[1]);
    return 2;
}
