/* package_layers.h -- what a package says of its net's layers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DAEMON_PACKAGE_LAYERS_H
#define COLONNADE_DAEMON_PACKAGE_LAYERS_H

#include "common/daemon/package.h"

enum { PACKAGE_KIND_CHARS = 192 };

struct package_layers {
    char widths[(NN_LAYERS_MAX + 1) * 12], activations[NN_LAYERS_MAX * 12];
    /* A line for each layer; "": all are of units, or a polynomial. */
    char kinds[NN_LAYERS_MAX * PACKAGE_KIND_CHARS];
};

void package_layers_print(struct package_layers *to, const struct nn_spec *spec);
/* The value of widths, activations, out_scale, degree, x_max or layers into p->spec.  Whether its
 * layers fit each other is not asked here, nor what else it says that is not printed so again. */
bool package_layers_read(struct package *p, const char *key, const char *text);

#endif
