/* three_dealers.h -- a small fedvs run, whose members differ in size, for lies about dealing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_THREE_DEALERS_H
#define COLONNADE_TESTS_SIM_THREE_DEALERS_H

#include "tests/sim/sim.h"

/* 3 parties of degrees 1, 2, 3; K = T = 1. */
static inline struct sim_options three_dealers(void)
{
    return (struct sim_options){
        .parties = 3,
        .train_rows = 4,
        .test_rows = 3,
        .motley = true,
        .watch = true,
        .party_sets = {"model.layers=[]", "model.polynomial.degree=1"},
        .sets = {"protocol.aggregation=fedvs", "training.batch=2", "protocol.patience_ms=2000"}};
}

#endif
