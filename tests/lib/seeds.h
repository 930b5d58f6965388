/* seeds.h -- the inputs that a fuzz target begins with: what a test prints, and the target accepts.
 *
 * A format that gains a field leaves old inputs refused at an early line, where they teach nothing
 * and nobody notices.  So a test of the format says what each is, and fails when the file is
 * another; started with SEEDS_WRITE=1 it writes the files instead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SEEDS_H
#define COLONNADE_TESTS_SEEDS_H

#include <stddef.h>

/* tests/fuzz/corpus/target/name holds these bytes; the test fails if not. */
void seeds_hold(const char *target, const char *name, const void *bytes, size_t n);

#endif
