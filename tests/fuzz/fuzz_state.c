/* fuzz_state.c -- any bytes as the state of a net with each optimiser: refused, and nothing
 * changed, or a net that prints to the very same bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/state.h"
#include "tests/fuzz/feed.h"

#include <math.h>

enum { STATE_MAX = 1 << 12 };

static void check_printed(const struct nn_net *n, const uint8_t *bytes, size_t size, bool same)
{
    struct buf out;

    buf_init(&out, STATE_MAX);
    CHECK(nn_state_print(n, &out) == STATUS_OK && out.len == nn_state_bytes(n));
    CHECK((out.len == size && memcmp(out.data, bytes, size) == 0) == same);
    buf_deinit(&out);
}

/* Every weight and every moment is a number. */
static void check_finite(const struct nn_net *n)
{
    for (size_t i = 0; i < n->spec.layers; i++) {
        const struct nn_layer *l = &n->layer[i];
        const float *parts[] = {l->w, l->m1, l->m2};

        for (size_t k = 0; k < 3; k++) {
            for (size_t j = 0; parts[k] != NULL && j < nn_layer_params(l); j++)
                CHECK(isfinite(parts[k][j]));
        }
    }
}

static void try_optimizer(enum nn_optimizer o, const uint8_t *data, size_t size)
{
    const struct nn_spec spec = {2, {2, 2, 1},     {NN_ACT_RELU, NN_ACT_NONE}, 1.0F, 1,
                                 o, .layer = {{0}}};
    struct arena arena;
    struct nn_net net;
    struct buf before;
    bool good;

    CHECK(arena_init(&arena, nn_net_bytes(&spec)) == STATUS_OK);
    CHECK(nn_net_init(&net, &spec, &arena) == STATUS_OK);
    buf_init(&before, STATE_MAX);
    CHECK(nn_state_print(&net, &before) == STATUS_OK);
    good = nn_state_parse(&net, data, size) == STATUS_OK;
    if (good) {
        check_finite(&net);
        check_printed(&net, data, size, true);
    } else {
        check_printed(&net, before.data, before.len, true);
    }
    buf_deinit(&before);
    arena_deinit(&arena);
}

/* A whole state is found sooner when its length is given by the input's first byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[STATE_MAX];
    struct feed f = {data, size};
    const size_t n = 8 + 4 * (size_t)feed_byte(&f);

    feed_bytes(&f, bytes, n);
    try_optimizer(NN_SGD, bytes, n);
    try_optimizer(NN_MOMENTUM, bytes, n);
    try_optimizer(NN_ADAM, bytes, n);
    return 0;
}
