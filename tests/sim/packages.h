/* packages.h -- models of a plan for jobs of predictions, with weights by a formula.
 *
 * Weight i of a model is sin(i + 7 salt), counted as nn_net_copy_params does; salts differ from
 * party to party, and the head's is the number of parties.  Columns are numbers without names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_PACKAGES_H
#define COLONNADE_TESTS_SIM_PACKAGES_H

#include "common/config/config.h"
#include "common/daemon/package.h"

/* What is in *to is replaced; it is the caller's to deinit. */
void packages_bottom(struct package *to, const struct plan *p, const struct nn_spec *spec,
                     uint32_t salt);
void packages_head(struct package *to, const struct plan *p, uint32_t salt);

#endif
