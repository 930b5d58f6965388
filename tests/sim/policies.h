/* policies.h -- five parties and a plan, for tests of what a party makes of plans (party/policy.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_POLICIES_H
#define COLONNADE_TESTS_SIM_POLICIES_H

#include "party/policy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { PARTIES = 5 };

static const uint8_t members[] = {0, 1, 2, 3, 4};
static struct roster roster;
static struct plan plan;
static struct policy_set set;
static struct account_entry spent[ACCOUNT_MECHANISMS_MAX];
static size_t spent_n;

/* Five parties of five operators, and a run of 4 epochs of 100 rows with 20 test rows: 400 training
 * releases and 4 sweeps of 20; a record takes part 4 times. */
static inline int set_up(void **state)
{
    (void)state;
    memset(&roster, 0, sizeof roster);
    strcpy(roster.server.name, "hub");
    strcpy(roster.server.operator_name, "hub");
    for (roster.n = 0; roster.n < PARTIES; roster.n++) {
        struct roster_entry *e = &roster.party[roster.n];

        snprintf(e->name, sizeof e->name, "p%zu", roster.n + 1);
        strcpy(e->operator_name, e->name);
    }
    set = (struct policy_set){.roster = &roster, .members = members, .n = PARTIES};
    plan_defaults(&plan);
    plan.training.epochs = 4;
    plan.training.batch = 10;
    plan.training.seed_given = true;
    plan.shape.parties = PARTIES;
    plan.shape.train_rows = 100;
    plan.shape.test_rows = 20;
    plan.shape.outputs = 2;
    memset(spent, 0, sizeof spent);
    spent_n = 0;
    return 0;
}

#endif
