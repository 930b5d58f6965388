/* contributed.h -- `vfl-party -n --predict`: what contributions of all the rows would cost.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_PARTY_CONTRIBUTED_H
#define COLONNADE_PARTY_CONTRIBUTED_H

#include "party/price.h"

/* Behind price_print_predictions, as comment lines: of all sets of parties, or as many as a server
 * asks for by itself, and then with this party's columns as well. */
enum status contributed_print(const struct price *p, const struct party_inputs *in,
                              struct buf *out) MUST_USE;

#endif
