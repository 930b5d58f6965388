/* test_fp31.c -- single elements of 2^31 - 1: the laws of every field.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/field/laws_element.h"

int main(void)
{
    return laws_element(&subject_31);
}
