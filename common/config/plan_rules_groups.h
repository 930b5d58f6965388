/* plan_rules_groups.h -- the parts of the table of rules, one for each thing that rules are about.
 * Predicates stand in the same file above the rows that name them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_RULES_GROUPS_H
#define COLONNADE_CONFIG_PLAN_RULES_GROUPS_H

#include "common/config/plan_rules.h"

struct plan_rules {
    const struct plan_rule *rule;
    size_t n;
};

#define PLAN_RULES(rows)                                                                           \
    {                                                                                              \
        (rows), sizeof(rows) / sizeof(rows)[0]                                                     \
    }

extern const struct plan_rules plan_rules_sums;     /* what the server is given */
extern const struct plan_rules plan_rules_products; /* fedvs */
extern const struct plan_rules plan_rules_arrivals; /* async */
extern const struct plan_rules plan_rules_local;    /* local steps */
extern const struct plan_rules plan_rules_once;     /* one release of a record */
extern const struct plan_rules plan_rules_dropout;  /* steps without some parties or units */
extern const struct plan_rules plan_rules_feedback; /* what compression took */
extern const struct plan_rules plan_rules_identity; /* no head */
extern const struct plan_rules plan_rules_head;     /* its layers */
extern const struct plan_rules plan_rules_sizes;    /* of sets, rounds and heads */
extern const struct plan_rules encoding_rules;      /* each encoding's own (encoding.c) */
extern const struct plan_rules plan_noise_rules;    /* gaussian (plan_noise.c) */
extern const struct plan_rules plan_rules_rate;     /* the size of a step */
extern const struct plan_rules plan_rules_task;     /* the task, and when to stop */
extern const struct plan_rules plan_rules_best; /* the best evaluation, and the model begun with */

#endif
