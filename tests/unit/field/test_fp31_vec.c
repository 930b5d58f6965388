/* test_fp31_vec.c -- vectors of 2^31 - 1: the laws of every field; packed by common/base/bits.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/field/laws_vec.h"

int main(void)
{
    return laws_vec(&subject_31);
}
