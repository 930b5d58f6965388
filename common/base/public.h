/* public.h -- says of a value made from secrets that it may be known.
 *
 * Secrets decide no branch and no address, and tests/valgrind proves it by calling them undefined.
 * Where one bit of them is meant to decide -- whether a share is of the field, whether a random
 * word is rejected -- it goes through here.  In a build without SECRETS_WATCHED this does nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_PUBLIC_H
#define COLONNADE_BASE_PUBLIC_H

#include <stdbool.h>

#ifdef SECRETS_WATCHED
#include <valgrind/memcheck.h>
#endif

static inline bool public_bit(bool known)
{
#ifdef SECRETS_WATCHED
    VALGRIND_MAKE_MEM_DEFINED(&known, sizeof known);
#endif
    return known;
}

#endif
