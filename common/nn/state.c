/* state.c -- a net to bytes and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/state.h"

#include "common/base/le.h"

#include <math.h>
#include <string.h>

size_t nn_state_bytes(const struct nn_net *n)
{
    size_t floats = 0;

    for (size_t i = 0; i < nn_spec_blocks(&n->spec); i++) {
        const struct nn_layer *l = &n->layer[i];
        floats += nn_layer_params(l) * (1u + (l->m1 != NULL) + (l->m2 != NULL));
    }
    return sizeof n->steps + floats * sizeof(float);
}

enum status nn_state_print(const struct nn_net *n, struct buf *out)
{
    uint8_t steps[sizeof n->steps];
    enum status s;

    nn_net_fetch(n);
    le_put(steps, n->steps, sizeof steps);
    s = buf_append(out, steps, sizeof steps);

    for (size_t i = 0; i < nn_spec_blocks(&n->spec) && s == STATUS_OK; i++) {
        const struct nn_layer *l = &n->layer[i];
        const float *parts[] = {l->w, l->m1, l->m2};
        for (size_t k = 0; k < 3 && s == STATUS_OK; k++) {
            if (parts[k] != NULL)
                s = buf_append(out, parts[k], nn_layer_params(l) * sizeof(float));
        }
    }
    return s;
}

static int all_finite(const uint8_t *bytes, size_t floats)
{
    for (size_t i = 0; i < floats; i++) {
        float v;
        memcpy(&v, bytes + i * sizeof v, sizeof v);
        if (!isfinite(v))
            return 0;
    }
    return 1;
}

enum status nn_state_parse(struct nn_net *n, const uint8_t *bytes, size_t len)
{
    const uint8_t *at = bytes + sizeof n->steps;

    if (len != nn_state_bytes(n) || !all_finite(at, (len - sizeof n->steps) / sizeof(float)))
        return STATUS_DATA;
    n->steps = le_take(&bytes, sizeof n->steps);
    for (size_t i = 0; i < nn_spec_blocks(&n->spec); i++) {
        struct nn_layer *l = &n->layer[i];
        float *parts[] = {l->w, l->m1, l->m2};
        for (size_t k = 0; k < 3; k++) {
            if (parts[k] == NULL)
                continue;
            memcpy(parts[k], at, nn_layer_params(l) * sizeof(float));
            at += nn_layer_params(l) * sizeof(float);
        }
    }
    nn_net_give(n);
    return STATUS_OK;
}
