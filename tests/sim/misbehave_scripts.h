/* misbehave_scripts.h -- the runs that misbehaviours disturb.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_SIM_MISBEHAVE_SCRIPTS_H
#define COLONNADE_TESTS_SIM_MISBEHAVE_SCRIPTS_H

#include "tests/sim/misbehave.h"

enum mis_which {
    MIS_MASKED,
    MIS_CODED,
    MIS_FEDVS,
    MIS_CLEAR,
    MIS_BEHIND, /* masked; p2 dies in the middle and is sent what it missed */
    MIS_DROP,   /* masked, without waiting */
    MIS_IGNORE, /* clear, without waiting */
    MIS_ASYNC,
    MIS_ONCE, /* masked; frozen bottoms whose every record is released once */
    MIS_SCRIPTS
};

/* Three parties, a few rows, evaluations; p3 is cut off once under `wait`, so that there are two
 * generations.  Not recorded yet. */
struct mis_script *mis_script(enum mis_which which);

#endif
