/* test_predicted.c -- jobs of predictions on neighbours, under a server that lies: what parties let
 * out is the same (crowd.h has the command line).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/crowd.h"

enum { PAIRS = 4000 };

int main(int argc, char **argv)
{
    return crowd_main(PAIR_PREDICTS, PAIRS, argc, argv);
}
