/* test_pairs.c -- runs on neighbours, under a server that lies: what parties let out is the same
 * (crowd.h has the command line).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/crowd.h"

enum { PAIRS = 20000 };

int main(int argc, char **argv)
{
    return crowd_main(PAIR_TRAINS, PAIRS, argc, argv);
}
