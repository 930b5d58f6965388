/* parallel.h -- one long piece of work on all processors: cut in ranges, one thread for each.
 *
 * For work that runs on a thread of the pool already, and for seconds: threads are made and ended
 * in each call.  What each range does must not depend on how many there are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_PARALLEL_H
#define COLONNADE_BASE_PARALLEL_H

#include <stddef.h>

enum { PARALLEL_THREADS_MAX = 64 };

/* Processors that this process may use, at most PARALLEL_THREADS_MAX. */
unsigned parallel_processors(void);

/* run(owner, from, to) over ranges that together are 0..n, none shorter than `least` unless it is
 * the only one, by at most `threads` threads, this one among them.  Returns when all have. */
void parallel_for(size_t n, size_t least, unsigned threads,
                  void (*run)(void *owner, size_t from, size_t to), void *owner);

#endif
