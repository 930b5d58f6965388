/* judged.h -- a party's ledger that counts its records and judges, for options.judged.
 *
 * As party/books.c has the real one do, but in memory and without ids: row r of every table is
 * record r, as ids are in these worlds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_JUDGED_H
#define COLONNADE_TESTS_SIM_JUDGED_H

#include "tests/sim/world.h"

struct judged;

struct judged *judged_new(void);
void judged_free(struct judged *b); /* NULL is fine */
/* What was charged so far, by mechanism. */
size_t judged_entries(const struct judged *b, struct account_entry out[ACCOUNT_MECHANISMS_MAX]);
/* STATUS_BUDGET: with it some limit of the party's policy is passed, and nothing of it counts. */
enum status judged_charge(struct judged *b, const struct sim_party *p,
                          const struct action_charge *c, struct error *err) MUST_USE;

#endif
