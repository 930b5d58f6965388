/* bench_nn.c -- microseconds of forward + backward + step beside a naive triple-loop twin.
 *
 * Absolute figures belong to the machine; the ratio to the twin of the same run is what travels.
 * Of processor time the best of many repetitions is taken: others can only make one slower.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/nn/act.h"
#include "common/nn/net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REPETITIONS = 50 };

struct work {
    const char *name;
    struct nn_spec spec;
};

static const struct work WORKS[] = {
    {"6-64-64-16 relu, tanh, B = 100, SGD",
     {3,
      {6, 64, 64, 16},
      {NN_ACT_RELU, NN_ACT_RELU, NN_ACT_TANH},
      1.0F,
      100,
      NN_SGD,
      .layer = {{0}}}},
    {"6-64-64-16 tanh, tanh, B = 100, Adam",
     {3,
      {6, 64, 64, 16},
      {NN_ACT_TANH, NN_ACT_TANH, NN_ACT_TANH},
      1.0F,
      100,
      NN_ADAM,
      .layer = {{0}}}},
    {"112-64-64-16 relu, tanh, B = 100, SGD",
     {3,
      {112, 64, 64, 16},
      {NN_ACT_RELU, NN_ACT_RELU, NN_ACT_TANH},
      1.0F,
      100,
      NN_SGD,
      .layer = {{0}}}},
    {"28-64 tanh, B = 256, SGD", {1, {28, 64}, {NN_ACT_TANH}, 1.0F, 256, NN_SGD, .layer = {{0}}}},
};

static float *reals(size_t n, float amplitude)
{
    float *x = mem_alloc(n, sizeof *x);

    CHECK(x != NULL);
    for (size_t i = 0; i < n; i++)
        x[i] = amplitude * (float)((i * 2654435761U) % 2001U) / 1000.0F - amplitude;
    return x;
}

/* --- the twin: the same sums as a textbook writes them -------------------------------------------
 */

static float naive_act(enum nn_act act, float z)
{
    switch (act) {
    case NN_ACT_RELU: return z > 0.0F ? z : 0.0F;
    case NN_ACT_TANH: return tanhf(z);
    case NN_ACT_SIGMOID: return 1.0F / (1.0F + expf(-z));
    case NN_ACT_NONE: break;
    }
    return z;
}

static float naive_slope(enum nn_act act, float y)
{
    switch (act) {
    case NN_ACT_RELU: return y > 0.0F ? 1.0F : 0.0F;
    case NN_ACT_TANH: return 1.0F - y * y;
    case NN_ACT_SIGMOID: return y * (1.0F - y);
    case NN_ACT_NONE: break;
    }
    return 1.0F;
}

static void naive_forward(struct nn_layer *l, const float *x, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t j = 0; j < l->out; j++) {
            float z = l->b[j];

            for (uint32_t i = 0; i < l->in; i++)
                z += x[r * l->in + i] * l->w[i * l->out + j];
            l->y[r * l->out + j] = naive_act(l->act, z);
        }
}

static void naive_backward(struct nn_layer *l, float *dx, const float *x, uint32_t rows)
{
    for (uint32_t k = 0; k < rows * l->out; k++)
        l->dy[k] *= naive_slope(l->act, l->y[k]);
    for (uint32_t j = 0; j < l->out; j++) {
        l->db[j] = 0.0F;
        for (uint32_t r = 0; r < rows; r++)
            l->db[j] += l->dy[r * l->out + j];
        for (uint32_t i = 0; i < l->in; i++) {
            float g = 0.0F;

            for (uint32_t r = 0; r < rows; r++)
                g += x[r * l->in + i] * l->dy[r * l->out + j];
            l->dw[i * l->out + j] = g;
        }
    }
    for (uint32_t r = 0; dx != NULL && r < rows; r++)
        for (uint32_t i = 0; i < l->in; i++) {
            float g = 0.0F;

            for (uint32_t j = 0; j < l->out; j++)
                g += l->dy[r * l->out + j] * l->w[i * l->out + j];
            dx[r * l->in + i] = g;
        }
}

static void naive_iteration(struct nn_net *n, const float *x, const float *dy)
{
    const size_t last = n->spec.layers - 1;
    const uint32_t rows = n->spec.rows_max;

    for (size_t i = 0; i <= last; i++)
        naive_forward(&n->layer[i], i > 0 ? n->layer[i - 1].y : x, rows);
    memcpy(n->layer[last].dy, dy, (size_t)rows * n->layer[last].out * sizeof *dy);
    for (size_t i = last + 1; i-- > 0;)
        naive_backward(&n->layer[i], i > 0 ? n->layer[i - 1].dy : NULL,
                       i > 0 ? n->layer[i - 1].y : x, rows);
    nn_net_step(n, 0.001F);
}

/* --- ours ---------------------------------------------------------------------------------------
 */

static void iteration(struct nn_net *n, const float *x, const float *dy)
{
    nn_net_forward(n, x, n->spec.rows_max);
    nn_net_backward(n, NULL, dy);
    nn_net_step(n, 0.001F);
}

static uint64_t now_us(void)
{
    return (uint64_t)(1e6 * clock_cpu_s());
}

/* The clock counts microseconds, so each timing spans many iterations. */
static double best_us(void (*run)(struct nn_net *, const float *, const float *), struct nn_net *n,
                      const float *x, const float *dy, int iterations)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < REPETITIONS; i++) {
        const uint64_t start = now_us();
        uint64_t took;

        for (int k = 0; k < iterations; k++)
            run(n, x, dy);
        took = now_us() - start;
        best = took < best ? took : best;
    }
    return (double)best / iterations;
}

static void measure(const struct work *w)
{
    const uint32_t rows = w->spec.rows_max, out = w->spec.width[w->spec.layers];
    float *x = reals((size_t)rows * w->spec.width[0], 1.0F);
    float *dy = reals((size_t)rows * out, 0.01F);
    struct arena a = {NULL, 0, 0};
    struct nn_net n;
    double ours, naive;

    CHECK(arena_init(&a, nn_net_bytes(&w->spec)) == STATUS_OK);
    CHECK(nn_net_init(&n, &w->spec, &a) == STATUS_OK);
    for (size_t i = 0; i < w->spec.layers; i++)
        for (size_t k = 0; k < (size_t)n.layer[i].in * n.layer[i].out; k++)
            n.layer[i].w[k] = 0.2F * (float)((k * 40503U) % 1999U) / 1000.0F - 0.2F;
    ours = best_us(iteration, &n, x, dy, 100);
    naive = best_us(naive_iteration, &n, x, dy, 2);
    printf("%-38s %8.1f us  %6.1f GFLOP/s  naive %9.1f us  ratio %6.1f\n", w->name, ours,
           nn_net_flops(&w->spec, rows) / ours / 1e3, naive, naive / ours);
    arena_deinit(&a);
    mem_free(dy);
    mem_free(x);
}

static void libm_tanh(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = tanhf(x[i]);
}

/* Nanoseconds an element of our tanh (bias added) beside libm's; both with the copy of the input.
 */
static void measure_tanh(void)
{
    enum { N = 6400, ITERATIONS = 100 };
    float *x = reals(N, 4.0F), *y = mem_alloc(N, sizeof *y), *b = mem_alloc(N, sizeof *b);
    uint64_t ours = UINT64_MAX, libm = UINT64_MAX;

    CHECK(y != NULL && b != NULL);
    for (int i = 0; i < REPETITIONS; i++) {
        uint64_t start = now_us(), middle, end;

        for (int k = 0; k < ITERATIONS; k++) {
            memcpy(y, x, N * sizeof *y);
            act_forward(y, b, NN_ACT_TANH, 1.0F, N / 64, 64);
        }
        middle = now_us();
        for (int k = 0; k < ITERATIONS; k++) {
            memcpy(y, x, N * sizeof *y);
            libm_tanh(y, y, N);
        }
        end = now_us();
        ours = middle - start < ours ? middle - start : ours;
        libm = end - middle < libm ? end - middle : libm;
    }
    printf("%-38s %8.2f ns  libm's tanhf %6.2f ns  ratio %6.1f\n", "tanh, an element",
           1e3 * (double)ours / N / ITERATIONS, 1e3 * (double)libm / N / ITERATIONS,
           (double)libm / (double)ours);
    mem_free(b);
    mem_free(y);
    mem_free(x);
}

int main(int argc, char **argv)
{
    if (argc == 1 && nn_blas_environment()) {
        /* The second argument ends the recursion whatever the environment says. */
        char again[] = "again";
        char *args[] = {argv[0], again, NULL};

        execv("/proc/self/exe", args);
        perror("execv");
        return 1;
    }
    for (size_t i = 0; i < sizeof WORKS / sizeof WORKS[0]; i++)
        measure(&WORKS[i]);
    measure_tanh();
    return 0;
}
