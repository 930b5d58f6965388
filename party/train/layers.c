/* layers.c -- a bottom's list, as its configuration has it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/layers.h"

#include "common/daemon/embedded.h"
#include "common/nn/listed.h"
#include "common/nn/window.h"

enum status party_layers(struct nn_spec *spec, const struct config_party *config, uint32_t outputs,
                         struct error *err)
{
    const struct listed of = {
        .key = "model.layers",
        .layers = &config->layers,
        .activation = config->activation,
        .shape = config->shape,
        .program = config->program.command.n > 0,
    };

    return listed_layers(spec, &of, outputs, err);
}

enum status party_layers_check(const struct config_party *config, uint32_t features,
                               const struct schema *s, struct error *err)
{
    const struct nn_shape shape = listed_shape(&config->shape);
    struct nn_spec spec = {.out_scale = 1, .rows_max = 1};

    if (config->degree > 0)
        return STATUS_OK;
    spec.embedded = embedded_of(s);
    spec.width[0] = features > 0 ? features : config->shape.n > 0 ? shape_values(&shape) : 1;
    return party_layers(&spec, config, 1, err);
}
