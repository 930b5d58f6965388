/* test_fp61_mat.c -- matrices over 2^61 - 1: the laws of every field.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/field/laws_mat.h"

int main(void)
{
    return laws_mat(&subject_61);
}
