/* plan_keys.h -- the rows of the plan: a part of the server's file, and the lines of a plan's text.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_KEYS_H
#define COLONNADE_CONFIG_PLAN_KEYS_H

#include "common/config/key.h"
#include "common/config/plan.h"

/* Rows of struct plan that a configuration sets. */
extern const struct key plan_keys[PLAN_KEYS_N];

/* Those rows, then shape.*, which only a plan's text has. */
extern const struct key_table plan_keys_text;

#endif
