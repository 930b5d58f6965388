/* forget.h -- vfl forget: a person's id out of all lists that a state folder keeps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_MODELS_FORGET_H
#define COLONNADE_TOOLS_MODELS_FORGET_H

#include "common/base/status.h"

/* Prints what is gone, and what cannot go, alignments that list the id by name.  STATUS_CONFIG: the
 * daemon whose folder it is works. */
enum status forget_id(const char *state, const char *id, struct error *err) MUST_USE;

#endif
