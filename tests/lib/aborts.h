/* aborts.h -- does a call end in abort()?  Asked in a child process, because CHECK cannot be
 * caught.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_ABORTS_H
#define COLONNADE_TESTS_ABORTS_H

#include <stdbool.h>

/* true: call(arg) raised SIGABRT; false: it returned.  Any other end fails the test program. */
bool aborts(void (*call)(void *arg), void *arg);

#endif
