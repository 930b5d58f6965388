/* draws.h -- what a test program draws where a daemon draws from the system: the same in every run.
 *
 * Linked into unit tests and sims in the place of RAND_bytes (the linker's --wrap), so that no test
 * passes or fails by chance.  DRAWS_SEED=N in the environment gives other draws, to look for a test
 * whose outcome hangs on them.  Keys that OpenSSL generates by itself remain its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_DRAWS_H
#define COLONNADE_TESTS_DRAWS_H

/* n bytes of the program's one stream; 1, as RAND_bytes says success.  Any thread. */
int __wrap_RAND_bytes(unsigned char *out, int n);

#endif
