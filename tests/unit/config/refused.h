/* refused.h -- a plan that passes, to be changed until a rule refuses it; for the tests of the
 * rules.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_CONFIG_REFUSED_H
#define COLONNADE_TESTS_CONFIG_REFUSED_H

#include "common/config/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct plan p;

static inline void start(void)
{
    plan_defaults(&p);
    p.shape.parties = 3;
    p.shape.train_rows = 1000;
    p.shape.test_rows = 100;
    p.shape.outputs = 2;
}

static inline void pass(void)
{
    struct error err = {0};

    if (plan_check(&p, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static inline void refuse(const char *message)
{
    struct error err = {0};

    assert_int_equal(plan_check(&p, &err), STATUS_CONFIG);
    if (strncmp(err.text, message, strlen(message)) != 0)
        fail_msg("%s", err.text);
}

/* The aggregations that show the server sums only. */
static const enum plan_aggregation HIDDEN[] = {AGGREGATION_MASKED, AGGREGATION_CODED};
enum { HIDDEN_N = sizeof HIDDEN / sizeof HIDDEN[0] };

#endif
