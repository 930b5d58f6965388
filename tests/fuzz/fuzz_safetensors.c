/* fuzz_safetensors.c -- any bytes as a model file: refused, or a model that is written and read
 * alike.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/nn/safetensors.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct nn_spec SPEC = {2,      {3, 4, 2},     {NN_ACT_RELU, NN_ACT_NONE}, 1.0F, 1,
                                    NN_SGD, .layer = {{0}}};

static void compare(const struct nn_net *a, const struct nn_net *b)
{
    for (size_t l = 0; l < SPEC.layers; l++) {
        const struct nn_layer *x = &a->layer[l], *y = &b->layer[l];

        CHECK(memcmp(x->w, y->w, (size_t)x->in * x->out * sizeof *x->w) == 0);
        CHECK(memcmp(x->b, y->b, x->out * sizeof *x->b) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct nn_net net, again;
    struct buf file;
    struct error err;

    CHECK(arena_init(&arena, 2 * nn_net_bytes(&SPEC)) == STATUS_OK);
    CHECK(nn_net_init(&net, &SPEC, &arena) == STATUS_OK);
    CHECK(nn_net_init(&again, &SPEC, &arena) == STATUS_OK);
    if (safetensors_parse(&net, data, size, &err) == STATUS_OK) {
        buf_init(&file, 65536);
        CHECK(safetensors_print(&net, &file) == STATUS_OK);
        CHECK(safetensors_parse(&again, file.data, file.len, &err) == STATUS_OK);
        compare(&net, &again);
        buf_deinit(&file);
    } else {
        compare(&net, &again); /* a refused file has changed nothing */
    }
    arena_deinit(&arena);
    return 0;
}
