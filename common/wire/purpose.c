/* purpose.c -- the table of purposes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/wire/purpose.h"

#include "common/base/check.h"

static const struct purpose table[] = {
    [PURPOSE_TRAIN] = {.name = "train", .phase = WIRE_PHASE_TRAIN, .trains = true},
    [PURPOSE_EVALUATE_TEST] = {.name = "evaluate test",
                               .phase = WIRE_PHASE_EVALUATE,
                               .scores = true,
                               .test = true},
    [PURPOSE_EVALUATE_TRAIN] = {.name = "evaluate train",
                                .phase = WIRE_PHASE_EVALUATE,
                                .scores = true},
    [PURPOSE_DEAL_KEYS] = {.name = "deal_keys",
                           .phase = WIRE_PHASE_SETUP,
                           .deals = true,
                           .keys = true},
    [PURPOSE_DEAL_DATA] = {.name = "deal_data", .phase = WIRE_PHASE_SETUP, .deals = true},
};

const struct purpose *purpose_of(enum wire_purpose p)
{
    CHECK((size_t)p < sizeof table / sizeof table[0]);
    return &table[p];
}
