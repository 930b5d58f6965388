/* advise.h -- settings for one epoch of training with noise, for a federation of which nothing is
 * known but sizes: rows, columns of each party, classes, epsilon.
 *
 * The recipe was chosen on the training rows of three tables (docs/reproductions.md, "Private
 * settings that transfer").  It looks at no data, so what it says costs nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_PRICE_ADVISE_H
#define COLONNADE_TOOLS_PRICE_ADVISE_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct advise_asked {
    uint64_t rows;    /* to train on, 1 or more */
    uint32_t parties; /* 1 or more */
    uint32_t widest;  /* columns of the party that has most, 1 or more */
    uint32_t classes; /* 2 or more */
    double epsilon, delta;
};

struct advised {
    uint32_t embedding, batch, steps;
    double beta, noise;
    bool cosine;    /* the rate goes down to 0, so that noise averages out; else it is constant */
    double epsilon; /* the claim for one record under these, of any adversary; at most the asked */
};

/* STATUS_BUDGET: too little epsilon for any coin. */
enum status advise(struct advised *to, const struct advise_asked *asked) MUST_USE;

/* vfl price --advise: the options behind it, settings to stdout; an exit code. */
int advise_main(int argc, char **argv);

#endif
