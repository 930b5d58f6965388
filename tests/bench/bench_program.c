/* bench_program.c -- what a round takes beyond its computing where a program computes the bottom.
 *
 * The program computes nothing (idle_bottom.py, numpy and the package of deploy/python): forward
 * and step of a batch are questions, wake-ups and copies alone.  The median, the fastest tenth and
 * the slowest of many rounds, in microseconds of the clock on the wall: the machine may be shared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/arena.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/nn/head.h"
#include "common/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2000, WARM = 100 };

static int rises(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void bench(struct program *program, const struct plan *plan, uint32_t rows, uint32_t inputs)
{
    static uint64_t took[ROUNDS];
    const struct program_shape shape = {
        .inputs = inputs, .outputs = plan->model.embedding, .rows_max = rows, .plan = plan};
    struct error err = {0};
    struct nn_spec spec = {.layers = 1,
                           .width = {inputs, plan->model.embedding},
                           .act = {NN_ACT_TANH},
                           .out_scale = 1,
                           .rows_max = rows,
                           .layer[0].kind = NN_OUTSIDE};
    struct arena arena;
    struct nn_net net;
    float *x;

    if (program_begin(program, &shape, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    spec.layer[0].units = (uint32_t)program_floats(program);
    spec.outside = program_outside(program);
    CHECK(arena_init(&arena, nn_net_bytes(&spec) + (size_t)rows * inputs * sizeof *x + 64) ==
          STATUS_OK);
    CHECK(nn_net_init(&net, &spec, &arena) == STATUS_OK);
    x = arena_alloc(&arena, (size_t)rows * inputs, sizeof *x);
    for (int i = 0; i < ROUNDS + WARM; i++) {
        const uint64_t start = clock_us();
        const float *y = nn_net_forward_masked(&net, x, rows);

        nn_net_backward(&net, NULL, y);
        nn_net_step(&net, 0.1F);
        if (i >= WARM)
            took[i - WARM] = clock_us() - start;
        program_round(program);
    }
    CHECK(program_failed(program) == NULL);
    qsort(took, ROUNDS, sizeof *took, rises);
    printf("%6u rows x %4u: median %4llu us, fastest tenth below %4llu, slowest %6llu\n", rows,
           inputs, (unsigned long long)took[ROUNDS / 2], (unsigned long long)took[ROUNDS / 10],
           (unsigned long long)took[ROUNDS - 1]);
    arena_deinit(&arena);
    program_end(program, program_job(program));
}

int main(void)
{
    static struct config_program command = {.memory_mib = 16384, .timeout_ms = 60000};
    static struct plan plan;
    struct program *program;
    struct error err = {0};

    CHECK(setenv("PYTHONPATH", "deploy/python", 0) == 0);
    command.command.n = 2;
    snprintf(command.command.arg[0], CONFIG_PATH_MAX, "/usr/bin/python3");
    snprintf(command.command.arg[1], CONFIG_PATH_MAX, "tests/bench/idle_bottom.py");
    plan_defaults(&plan);
    plan.model.embedding = 16;
    CHECK(program_new(&program, PROGRAM_BOTTOM, &command, false, &err) == STATUS_OK);
    bench(program, &plan, 64, 30);
    bench(program, &plan, 256, 100);
    bench(program, &plan, 256, 784);
    program_free(program);
    return 0;
}
