/* process.h -- this process as a whole.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_PROCESS_H
#define COLONNADE_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Root that works in somebody's folder does so as its owner: what is there is the owner's, and what
 * is written stays so.  False: it cannot.  Nothing for others, or where root is the owner. */
bool process_become_owner(const char *folder);

/* Room for so many more open files: the limit is raised as far as this process may.  How many of
 * them there may be, so that half of what it had stays for everything else. */
uint32_t process_files(uint32_t more);

/* Replaces this process by a fresh start of the same program, under its own name, with the
 * environment as it is now.  Returns only when that fails. */
void process_exec_again(char **argv);

#endif
