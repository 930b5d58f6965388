/* pair.h -- two runs on neighbours: what a seed draws for both, and what differs.
 *
 * Both runs have the same plan, configurations, ids, row counts, noise, and the same script of a
 * hostile server (hostile.h).  They differ in the values of one record at one party, the victim, or
 * in all of the victim's columns; where the rows decide which features there are, in their number.
 *
 * A plan is drawn key by key from the table of keys (common/config/plan_keys.c), so that a new key
 * is drawn as soon as it is in the table: a value is kept when plan_check admits it, else the key
 * stays as it was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_INTERFERENCE_PAIR_H
#define COLONNADE_TESTS_INTERFERENCE_PAIR_H

#include "common/config/plan_keys.h"
#include "tests/interference/dice.h"
#include "tests/sim/sim.h"
#include "tests/sim/standing.h"

enum {
    PAIR_PARTIES_MAX = 5,
    PAIR_SET_MAX = 128,
    PAIR_PARTY_SETS_MAX = 16,
    PAIR_RULES_MAX = 3,
    PAIR_QUESTIONS_MAX = 3
};

/* What is drawn, each from a stream of its own. */
enum {
    DRAW_SHAPE,
    DRAW_PLAN,
    DRAW_PARTIES,
    DRAW_TROUBLE,
    DRAW_DATA,
    DRAW_SIDE,
    DRAW_LABELS,
    DRAW_MORE,
    DRAW_PERSONS,
    DRAW_QUESTIONS,
    DRAW_VALIDATE,
    DRAW_DROPOUT,
    DRAW_STEPS,
    DRAW_LACKS,
    DRAW_PLACED,
    DRAW_EMBEDS,
    DRAW_DEEP,
    DRAW_KEYED
};

/* A run of training, jobs of predictions by the model of one (questions.h), or an alignment and a
 * run of training by it (keyed.h). */
enum pair_kind { PAIR_TRAINS, PAIR_PREDICTS, PAIR_ALIGNS };

/* More features than p->options.columns, as a level or a missing value of one record may make. */
enum { PAIR_MORE_MAX = 3 };

/* What of one party the others do not decide. */
struct pair_bottom {
    enum config_train train;
    double clip, noise;
};

struct pair {
    uint64_t seed;
    enum pair_kind kind;
    struct plan plan; /* with its shape */
    char set[PLAN_KEYS_N][PAIR_SET_MAX];
    char party_set[PAIR_PARTY_SETS_MAX][PAIR_SET_MAX];
    struct sim_options options; /* points into the two above */
    bool strict;                /* the policy is the default one, or nearly */
    bool several;               /* options.classes are labels, of which a row has any number */
    const char *share;          /* data.validate, where options.validate_rows is above 0 */
    struct pair_bottom bottom[PAIR_PARTIES_MAX];
    double dropout; /* of all bottoms that train */
    bool deep;      /* a row has a shape (data.shape), and layers that take it */
    uint32_t victim;
    bool columns;     /* all of the victim's values differ; else those of `record` */
    uint32_t record;  /* of the training rows, or of those that are predicted */
    bool evaluated;   /* or of the test rows, of which data.validate has kept back the first */
    uint32_t persons; /* 0: each row is its own; else row r of a table is of person r % persons, and
                         it is one person's rows of that table that differ */
    bool placed;   /* rows are of alignments: the victim calls its own otherwise in both runs, and
                      leaves out others */
    bool lacks;    /* parties do not have some rows; what differs at the victim is also whether
                      they are there */
    uint32_t more; /* features that the victim has in run B alone, of which its rows decide */
    struct standing_question question[PAIR_QUESTIONS_MAX];
    size_t questions_n;
    /* Messages that are cut, delayed, repeated, altered, or that kill who says them. */
    struct sim_rule rule[PAIR_RULES_MAX];
    size_t rules_n;
    int stopped; /* SIM_SERVER or a party is told to stop at stop_us; SIM_ANY: nobody */
    uint64_t stop_us;
};

void pair_draw(struct pair *p, uint64_t seed, enum pair_kind kind);
/* Configurations and data of one of the two runs, 0 or 1, before it begins. */
void pair_arrange(const struct pair *p, struct sim *s, int side);
/* The plan as --set lines, the victim, the data, the rules. */
void pair_print(const struct pair *p, FILE *to);

#endif
