/* bookkeeping.h -- a party's ledger of three records, a, b and c, and blocks that are charged to
 * it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_BOOKKEEPING_H
#define COLONNADE_TESTS_SIM_BOOKKEEPING_H

#include "party/books.h"

extern struct party_inputs books_in; /* what is open is of */
extern const uint8_t books_plan[LEDGER_DIGEST_BYTES];

/* Under this limit (0: none), with what was spent before. */
void books_opened(struct books *b, double epsilon);
/* One block of three rounds with these rows, n of them. */
enum status books_pay(struct books *b, const uint32_t *rows, size_t n);
void books_forget(void); /* the ledger: as if nothing had been spent */
/* Of training: so many releases, at most so many of one record. */
void books_expect_held(const struct books *b, uint64_t releases, uint64_t most);

#endif
