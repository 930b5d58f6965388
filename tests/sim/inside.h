/* inside.h -- what a party's training has inside, for tests that have to know.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_INSIDE_H
#define COLONNADE_TESTS_SIM_INSIDE_H

#include "party/core.h"
#include "party/train/parts.h"

static inline struct party_train *inside(const struct party_session *p)
{
    return p->state;
}

#endif
