/* oracle.h -- what must hold in every simulation, whatever happens (threats.md, 5.1).
 *
 *   I1  no key of a mask or of a sealed share serves two contents
 *   I2  one upload of a party for a round of a session at most
 *   I4  what a party's ledger holds for a record, by the size of the set it was charged for, is
 *       never less than what left the party, nor its number less than the rounds it sent in; and
 *       what others said of their ledgers is durable before it sends
 *   I5  a sum that the server decodes is the true sum of its members' codes (sim_options.watch)
 *
 * It sees what processes say, not what they think, and outlives all of them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_ORACLE_H
#define COLONNADE_TESTS_SIM_ORACLE_H

#include "tests/sim/sim.h"

struct oracle;

struct oracle *oracle_new(const struct sim *s);
void oracle_free(struct oracle *o); /* NULL is fine */

void oracle_sent(struct sim *s, uint32_t party, const struct wire_msg *m);
void oracle_charged(struct sim *s, uint32_t party, const struct action_charge *c);
void oracle_protected(struct sim *s, uint32_t party); /* after a party's work */
void oracle_combined(struct sim *s);                  /* after the server's work */
void oracle_appended(struct sim *s, const struct journal_record *r);

#endif
