/* test_keyed.c -- alignments by several keys, and training by their files, of neighbours: what
 * others see hangs on how many rows each key finds, and not on which these are (crowd.h has the
 * command line).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/crowd.h"

enum { PAIRS = 1000 };

int main(int argc, char **argv)
{
    return crowd_main(PAIR_ALIGNS, PAIRS, argc, argv);
}
