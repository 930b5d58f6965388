/* laws_vec.h -- laws of every field: vectors at every length, uniform elements out of given bytes,
 * and packed ones.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_FIELD_LAWS_VEC_H
#define COLONNADE_TESTS_FIELD_LAWS_VEC_H

#include "tests/unit/field/subject.h"

int laws_vec(const struct subject *s); /* how many failed */

#endif
