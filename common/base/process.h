/* process.h -- this process as a whole.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_PROCESS_H
#define COLONNADE_BASE_PROCESS_H

/* Replaces this process by a fresh start of the same program, under its own name, with the
 * environment as it is now.  Returns only when that fails. */
void process_exec_again(char **argv);

#endif
