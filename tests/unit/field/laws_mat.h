/* laws_mat.h -- laws of every field: every kernel of the product against the twin, where overflow,
 * blocks and tails would show.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_FIELD_LAWS_MAT_H
#define COLONNADE_TESTS_FIELD_LAWS_MAT_H

#include "tests/unit/field/subject.h"

int laws_mat(const struct subject *s); /* how many failed */

#endif
