/* head_draw.h -- lists of layers at random, for the test of the configuration.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_CONFIG_HEAD_DRAW_H
#define COLONNADE_TESTS_CONFIG_HEAD_DRAW_H

#include "common/config/key.h"
#include "common/config/plan_head.h"

#include <string.h>

/* Of a bottom, one of a name; of a head, whatever it may list. */
static inline void head_draw(const struct key *k, struct config_layers *l,
                             uint32_t (*draw)(uint32_t below))
{
    static const struct config_layer may[] = {
        {LAYERS_UNITS, {65536}}, {LAYERS_UNITS, {2}},     {LAYERS_UNITS, {12}},
        {LAYERS_GROUPNORM, {1}}, {LAYERS_BATCHNORM, {0}}, {LAYERS_RELU, {0}},
        {LAYERS_TANH, {0}},      {LAYERS_SIGMOID, {0}},   {LAYERS_FLATTEN, {0}},
    };

    if (strcmp(k->path, "model.head") != 0) {
        layers_of_preset(l, 1 + draw(PRESETS - 1));
        return;
    }
    *l = (struct config_layers){.n = draw((uint32_t)k->hi + 1)};
    for (size_t i = 0; i < l->n; i++)
        l->item[i] = may[draw(sizeof may / sizeof *may)];
}

/* To a list that goes with the rest of the plan; one group of channels goes with any width. */
static inline void head_make_sense(struct plan *p)
{
    struct config_layers *head = &p->model.head;
    char why[256];

    if (plan_head_fault(p, why, sizeof why) || (plan_head_mixes(p) && p->training.batch < 2) ||
        plan_head_values(p) > PLAN_HEAD_VALUES_MAX / p->training.batch)
        *head = (struct config_layers){.n = 0};
    for (size_t i = 0; i < head->n; i++)
        if (head->item[i].word == LAYERS_BATCHNORM && p->protocol.local_view == VIEW_REFRESHED)
            head->item[i] = (struct config_layer){.word = LAYERS_RELU};
    if (p->protocol.straggler != STRAGGLER_DROP)
        p->protocol.absent = ABSENT_IGNORE;
    if (p->model.fusion == FUSION_MAX || (head->n > 0 && head->item[0].word != LAYERS_UNITS))
        p->protocol.gradient.form = GRADIENT_FULL;
}

#endif
