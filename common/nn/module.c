/* module.c -- which layers are one block, and numbers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/module.h"

#include "common/nn/layer.h"

#include <stdio.h>

/* One way is [begin, side), the other [side, end), which may have no layers; the sum is layer end.
 */
struct block {
    size_t begin, side, end;
};

static bool block_of(struct block *b, const struct nn_spec *s, size_t i)
{
    size_t end = i;

    while (end < s->layers && !layer_kind_of(s, end)->joins)
        end++;
    if (end == s->layers)
        return false;
    *b = (struct block){end - s->layer[end].beside, end, end};
    if (s->layer[b->begin].back > 0) {
        b->side = b->begin;
        b->begin -= s->layer[b->side].back;
    }
    return i >= b->begin && i < end;
}

void module_names(struct nn_net *n)
{
    unsigned top = 0, of_way = 0;

    for (size_t i = 0; i < n->spec.layers; i++) {
        struct nn_layer *l = &n->layer[i];
        struct block b;

        if (!block_of(&b, &n->spec, i)) {
            snprintf(l->torch, sizeof l->torch, "%u", top);
            top += (unsigned)layer_modules(l);
            continue;
        }
        of_way = i == b.begin || i == b.side ? 0 : of_way;
        snprintf(l->torch, sizeof l->torch, "%u.%s.%u", top, i < b.side ? "main" : "shortcut",
                 of_way);
        of_way += (unsigned)layer_modules(l);
    }
}
