/* people.h -- persons with many rows (data.group), by a rule: row r of a table is of person
 * r % n, in whatever table it is.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_PEOPLE_H
#define COLONNADE_TESTS_SIM_PEOPLE_H

#include "party/persons.h"

/* Of `train` training rows and `test` others; p is zeroed, or persons_deinit has been there. */
void people_make(struct persons *p, size_t train, size_t test, uint32_t n);

#endif
