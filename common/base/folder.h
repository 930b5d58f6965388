/* folder.h -- is a folder this user's alone, with everything above it?
 *
 * What is opened by name in a folder is as safe as the folder: whoever may write to it, or to one
 * above it, can put a link or another file where this program looks next, SQLite's own files among
 * them, and a check of each file comes too late or too early.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_FOLDER_H
#define COLONNADE_BASE_FOLDER_H

#include "common/base/status.h"

/* The path is walked as the system does it, name by name.  Every folder and every link on the way,
 * also those that a link leads through, belong to this user or to root; the folder itself is not
 * writable by group or others, those above not by everybody, unless sticky.  So root does
 * not work in another user's folder.  STATUS_CONFIG with what is wrong and the way out; what does
 * not exist yet is not wrong. */
enum status folder_check(const char *path, struct error *err) MUST_USE;

/* folder_check, makes what is missing, for this user alone, and looks at it all again: a part may
 * have come from somebody else in between. */
enum status folder_make(const char *path, struct error *err) MUST_USE;

#endif
