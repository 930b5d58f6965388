/* laws_element.h -- laws of every field: single elements against whole numbers, and their signed
 * reading.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_FIELD_LAWS_ELEMENT_H
#define COLONNADE_TESTS_FIELD_LAWS_ELEMENT_H

#include "tests/unit/field/subject.h"

int laws_element(const struct subject *s); /* how many failed */

#endif
