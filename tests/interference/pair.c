/* pair.c -- what a seed draws for both runs, and what differs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/pair.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/data/order.h"
#include "common/config/task.h"
#include "party/prepare.h"
#include "tests/interference/hostile.h"
#include "tests/interference/keyed.h"
#include "tests/interference/plan.h"
#include "tests/interference/questions.h"
#include "tests/sim/people.h"
#include "tests/sim/world.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PAIR_VALUES_MAX = 64 };

/* --- parties --- */

PRINTF_LIKE(2, 3) static void party_set(struct pair *p, const char *fmt, ...)
{
    size_t n = 0;
    va_list args;

    while (p->party_set[n][0] != 0)
        n++;
    CHECK(n + 1 < PAIR_PARTY_SETS_MAX);
    va_start(args, fmt);
    vsnprintf(p->party_set[n], sizeof p->party_set[0], fmt, args);
    va_end(args);
    p->options.party_sets[n] = p->party_set[n];
}

static void draw_policy(struct pair *p, struct dice *d)
{
    static const double clips[] = {1e-30, 0.1, 1e9};

    /* A limit that is looked at, but for 5 never reached by what has noise. */
    if (dice_percent(d, 40) && (p->plan.protocol.encoding == ENCODING_PBM ||
                                p->plan.protocol.encoding == ENCODING_GAUSSIAN))
        party_set(p, "policy.max_epsilon.value=%g", dice_percent(d, 10) ? 5.0 : 1e9);
    if (p->strict) {
        party_set(p, "policy.min_parties=3");
        party_set(p, "policy.min_m_eff=2");
        party_set(p, "policy.encodings=[pbm, fixed]");
        party_set(p, "policy.aggregations=[masked, coded, fedvs]");
        return;
    }
    party_set(p, "policy.encodings=[pbm, fixed, float32, gaussian, scalar, lattice, e8, topk]");
    party_set(p, "policy.max_learning_rate=1000");
    party_set(p, "policy.contribute.max_rows=%d", dice_percent(d, 90) ? 1000 : 1);
    party_set(p, "policy.contribute.columns=1");
    if (dice_percent(d, 20))
        party_set(p, "policy.gradient_clip=%g", DICE_PICK(d, clips));
}

/* Each party has to say the plan's share: another one, or none, is refused. */
static void draw_share(struct pair *p, struct dice d)
{
    if (p->plan.data.validate > 0)
        party_set(p, "data.validate=%s", dice_percent(&d, 2) ? "0.05" : p->share);
    else if (dice_percent(&d, 1))
        party_set(p, "data.validate=0.05");
}

static void draw_bottom(struct pair_bottom *b, struct dice *d)
{
    static const enum config_train trains[] = {TRAIN_RAW, TRAIN_FROZEN, TRAIN_DP, TRAIN_DP};
    static const double noises[] = {0.5, 2, 15, 15, 200}, clips[] = {1e-3, 1, 1, 100};

    b->train = DICE_PICK(d, trains);
    b->noise = b->train == TRAIN_DP ? DICE_PICK(d, noises) : 0;
    b->clip = DICE_PICK(d, clips);
}

/* Where the rows decide which features there are (party_rows_may_decide). */
static void draw_more(struct pair *p, struct dice d, bool polynomial)
{
    const struct pair_bottom *b = &p->bottom[p->victim];
    struct config_party c = {.train = b->train, .scale = "fit"};

    c.degree = polynomial;
    c.shape.n = p->deep ? 2 : 0;
    if (party_rows_may_decide(&c) && dice_percent(&d, 50))
        p->more = (uint32_t)dice_between(&d, 1, PAIR_MORE_MAX);
}

/* A row that is evaluated alone has no say in the features: none is fitted on it. */
static void draw_evaluated(struct pair *p, struct dice d)
{
    if (p->kind == PAIR_PREDICTS || p->options.validate_rows == 0 || !dice_percent(&d, 40))
        return;
    p->evaluated = true;
    p->record = (uint32_t)dice_between(&d, 0, p->options.test_rows - 1);
    p->more = 0;
}

static void draw_persons(struct pair *p, struct dice d)
{
    if (dice_percent(&d, 25))
        p->persons = (uint32_t)dice_between(&d, 1, p->options.train_rows);
}

static void draw_placed(struct pair *p, struct dice d)
{
    p->placed = dice_percent(&d, p->kind == PAIR_TRAINS ? 20 : 40);
}

/* Rows are of persons, or may lack: whose one is that is not there nobody can say.  Of predictions
 * they lack by an alignment alone. */
static void draw_lacks(struct pair *p, struct dice d)
{
    p->lacks = p->kind == PAIR_TRAINS ? p->persons == 0 && dice_percent(&d, 25)
                                      : p->placed && p->persons == 0 && dice_percent(&d, 50);
}

/* Of labelled rows a limit leaves out those whose records have nothing left. */
static void draw_limit(struct pair *p, struct dice d)
{
    if (p->kind == PAIR_TRAINS && p->lacks && dice_percent(&d, 60))
        party_set(p, "policy.max_releases.record=1000000");
}

/* Of a bottom with hidden layers, whose draws are of no record. */
static void draw_dropout(struct pair *p, struct dice d, bool polynomial)
{
    if (!polynomial && dice_percent(&d, 25))
        p->dropout = 0.4;
}

/* Of any number of columns, each a step, or a place of an image. */
static void draw_deep(struct pair *p, struct dice d)
{
    static const struct {
        bool image;
        const char *layers;
    } bottoms[] = {
        {false, "[{lstm: 2}]"},
        {false, "[{gru: {units: 2, whole: 1}}, flatten, 3]"},
        {false, "[{conv1d: {out: 2, kernel: 1}}, relu, {maxpool: 1}, flatten, 3]"},
        {true,
         "[residual, {conv2d: {out: 1, kernel: 1}}, {groupnorm: 1}, add, globalpool, flatten]"},
    };
    const size_t k = dice_between(&d, 0, sizeof bottoms / sizeof *bottoms - 1);

    p->deep = true;
    party_set(p, "data.shape=[%s%u,1]", bottoms[k].image ? "1," : "", p->options.columns);
    party_set(p, "model.layers=%s", bottoms[k].layers);
}

static void draw_parties(struct pair *p, struct dice *d)
{
    static const char *const layers[] = {"[]", "[]", "[3]", "[4, 3]"}, *const activations[] = {
                                                                           "relu", "tanh",
                                                                           "sigmoid", "none"};
    const bool polynomial =
        p->plan.protocol.aggregation == AGGREGATION_FEDVS || dice_percent(d, 12);
    struct dice deep = dice_of(p->seed, DRAW_DEEP, 0);

    if (polynomial) { /* it has no layers */
        party_set(p, "model.layers=[]");
        party_set(p, "model.polynomial.degree=%u", (unsigned)dice_between(d, 1, 3));
    } else {
        const char *units = DICE_PICK(d, layers);

        if (p->kind == PAIR_TRAINS && !p->options.embeds && dice_percent(&deep, 20))
            draw_deep(p, deep);
        else
            party_set(p, "model.layers=%s", units);
    }
    party_set(p, "model.activation=%s", DICE_PICK(d, activations));
    draw_dropout(p, dice_of(p->seed, DRAW_DROPOUT, 0), polynomial);
    draw_policy(p, d);
    draw_share(p, dice_of(p->seed, DRAW_VALIDATE, 3));
    for (uint32_t i = 0; i < p->options.parties; i++) {
        draw_bottom(&p->bottom[i], d);
        if (p->plan.training.releases == RELEASES_ONCE && dice_percent(d, 97))
            p->bottom[i].train = TRAIN_FROZEN;
    }
    p->victim = (uint32_t)dice_between(d, 0, p->options.parties - 1);
    p->columns = dice_percent(d, 30);
    p->record = (uint32_t)dice_between(d, 0, p->options.train_rows - 1);
    draw_more(p, dice_of(p->seed, DRAW_MORE, 0), polynomial);
    draw_persons(p, dice_of(p->seed, DRAW_PERSONS, 0));
    draw_evaluated(p, dice_of(p->seed, DRAW_VALIDATE, 2));
    draw_placed(p, dice_of(p->seed, DRAW_PLACED, 0));
    draw_lacks(p, dice_of(p->seed, DRAW_LACKS, 0));
    draw_limit(p, dice_of(p->seed, DRAW_LACKS, 9));
}

/* --- data --- */

static const float extremes[] = {0,      -0.0F,   1,     -1,     100, 1e30F,   3e38F, -3e38F,
                                 1e-42F, -1e-42F, 1e10F, 1e-30F, 3,   FLT_MAX, 0.1F,  -1e19F};

enum look { LOOK_USUAL, LOOK_WHOLE, LOOK_CONSTANT, LOOK_EXTREME, LOOKS };

static float value(struct dice *d, enum look look, float constant)
{
    switch (look) {
    case LOOK_USUAL: return (float)(2 * dice_real(d) - 1);
    case LOOK_WHOLE: return (float)dice_between(d, 0, 5);
    case LOOK_CONSTANT: return constant;
    case LOOK_EXTREME: return DICE_PICK(d, extremes);
    case LOOKS: break;
    }
    return 0;
}

static void fill(struct table *t, struct dice d, size_t from, size_t rows)
{
    static const enum look looks[] = {LOOK_USUAL, LOOK_USUAL, LOOK_WHOLE, LOOK_CONSTANT,
                                      LOOK_EXTREME};
    const enum look look = DICE_PICK(&d, looks);
    const float constant = DICE_PICK(&d, extremes);

    for (size_t i = from * t->cols; i < (from + rows) * t->cols; i++)
        t->x[i] = value(&d, look, constant);
}

/* A record of one of the two runs, and where it is a person's the others of that person. */
static void fill_record(const struct pair *p, int side, struct table *t)
{
    fill(t, dice_of(p->seed, DRAW_SIDE, (uint64_t)side), p->record, 1);
    for (size_t r = p->persons == 0 ? t->rows : p->record % p->persons; r < t->rows;
         r += p->persons) {
        if (r != p->record)
            fill(t, dice_of(p->seed, DRAW_SIDE, 8 + 2 * r + (uint64_t)side), r, 1);
    }
}

/* The tables of party i in one of the two runs; that of the other kind of pairs is the same. */
static void fill_party(const struct pair *p, uint32_t i, int side, struct table *train,
                       struct table *test, struct table *predicted)
{
    fill(train, dice_of(p->seed, DRAW_DATA, i), 0, train->rows);
    fill(test, dice_of(p->seed, DRAW_DATA, 100 + i), 0, test->rows);
    fill(predicted, dice_of(p->seed, DRAW_DATA, 200 + i), 0, predicted->rows);
    if (i != p->victim)
        return;
    if (p->columns) {
        fill(train, dice_of(p->seed, DRAW_SIDE, (uint64_t)side), 0, train->rows);
        fill(test, dice_of(p->seed, DRAW_SIDE, 2 + (uint64_t)side), 0, test->rows);
        fill(predicted, dice_of(p->seed, DRAW_SIDE, 4 + (uint64_t)side), 0, predicted->rows);
    } else {
        fill_record(p, side, p->kind == PAIR_PREDICTS ? predicted : p->evaluated ? test : train);
    }
}

/* A column for a level, or a gap, that `record` alone has: noughts but for it, behind the others.
 */
static void widen(struct table *t, uint32_t more, uint32_t record)
{
    const size_t cols = t->cols + more;
    float *x = mem_alloc(t->rows * cols + 1, sizeof *x);

    CHECK(x != NULL);
    for (size_t r = 0; r < t->rows; r++) {
        memcpy(x + r * cols, t->x + r * t->cols, t->cols * sizeof *x);
        for (size_t c = t->cols; c < cols; c++)
            x[r * cols + c] = r == record;
    }
    mem_free(t->x);
    t->x = x;
    t->cols = cols;
}

/* Which alignment is everybody's affair; what a side calls its rows, and how many it leaves out, is
 * its own. */
static void place_rows(struct table *t, uint8_t alignment, int own)
{
    enum { OWN_MAX = 32 };
    uint32_t twice[2];

    if (t->rows == 0)
        return;
    t->own = (struct table_own){.any = true,
                                .text = mem_alloc(t->rows, OWN_MAX),
                                .at = mem_alloc(t->rows, sizeof *t->own.at),
                                .left = (size_t)(own + 1)};
    CHECK(t->own.text != NULL && t->own.at != NULL);
    t->own.alignment[0] = alignment;
    for (size_t i = 0; i < t->rows; i++) {
        t->own.at[i] = (uint32_t)(i * OWN_MAX);
        snprintf(t->own.text + i * OWN_MAX, OWN_MAX, "%u-%d-%zu", alignment, own, i);
    }
    CHECK(order_own(t, twice) == STATUS_OK);
}

/* Zeros, where draws of `d` say so; where `one` is a row, by the other draws for that one alone. */
static void lack(struct table *t, struct dice d, struct dice other, size_t one)
{
    t->lacks = mem_alloc(t->rows + 1, 1);
    CHECK(t->lacks != NULL);
    for (size_t r = 0; r < t->rows; r++) {
        const bool drawn = dice_percent(&d, 30);

        t->lacks[r] = r == one ? dice_percent(&other, 50) : drawn;
        for (size_t c = 0; c < t->cols && t->lacks[r] != 0; c++)
            t->x[r * t->cols + c] = 0;
    }
}

/* Which have no more to spend: by another alignment, say, of which the runs may differ. */
static uint8_t *spend(size_t rows, struct dice d, struct dice other, size_t one)
{
    uint8_t *spent = mem_alloc(rows + 1, 1);

    CHECK(spent != NULL);
    for (size_t r = 0; r < rows; r++) {
        const bool drawn = dice_percent(&d, 20);

        spent[r] = r == one ? dice_percent(&other, 50) : drawn;
    }
    return spent;
}

/* Rows that party i does not have: the same in both runs, but for what differs. */
static void lack_rows(const struct pair *p, uint32_t i, int side, struct sim_party *to)
{
    const bool differs = i == p->victim;
    const uint64_t all = differs && p->columns ? 8 * (uint64_t)side + 2 : 8 * (uint64_t)i + 103;
    const struct dice one = dice_of(p->seed, DRAW_LACKS, 8 * (uint64_t)side + 1);
    const size_t none = SIZE_MAX, row = differs && !p->columns ? p->record : none;

    if (!p->lacks)
        return;
    if (p->kind == PAIR_PREDICTS) {
        lack(&to->predicted, dice_of(p->seed, DRAW_LACKS, all), one, row);
        to->spent.predicted =
            spend(to->predicted.rows, dice_of(p->seed, DRAW_LACKS, all + 2), one, row);
        return;
    }
    lack(&to->train, dice_of(p->seed, DRAW_LACKS, all), one, p->evaluated ? none : row);
    lack(&to->test, dice_of(p->seed, DRAW_LACKS, all + 1), one, p->evaluated ? row : none);
    to->spent.train = spend(to->train.rows, dice_of(p->seed, DRAW_LACKS, all + 4), one,
                            p->evaluated ? none : row);
    to->spent.test =
        spend(to->test.rows, dice_of(p->seed, DRAW_LACKS, all + 5), one, p->evaluated ? row : none);
}

/* The same in both runs.  The server has read its own and knows them for what the plan says; those
 * of a party may be others, and come from wherever they come. */
static void fill_labels(const struct pair *p, struct sim *s)
{
    struct dice d = dice_of(p->seed, DRAW_LABELS, 1);
    const bool strange = dice_percent(&d, 20);

    for (size_t i = 0; i < s->train.rows + s->test.rows; i++) {
        const size_t k = task_targets(&s->plan);
        float *y =
            i < s->train.rows ? &s->train_target[i * k] : &s->test_target[(i - s->train.rows) * k];

        *y = p->options.classes == 1
                 ? (float)(4 * dice_real(&d) - 2)
                 : (float)dice_between(&d, 0, p->several ? 1 : p->options.classes - 1);
        for (size_t j = 1; j < k; j++)
            y[j] = dice_percent(&d, 20) ? NAN : (float)dice_between(&d, 0, 1);
        if (i < s->train.rows)
            s->train.x[i] = strange ? DICE_PICK(&d, extremes) : *y;
    }
    s->labels.x = s->train.x;
}

/* What was drawn for the first column, as numbers of levels from 0 to 7, here and there none. */
static void number_first(struct table *t)
{
    for (size_t r = 0; r < t->rows; r++) {
        float *x = &t->x[r * t->cols];

        *x = isfinite(*x) ? floorf(fmodf(fabsf(*x) * 5, 9)) : 0;
    }
}

void pair_arrange(const struct pair *p, struct sim *s, int side)
{
    fill_labels(p, s);
    if (p->placed) {
        place_rows(&s->train, 1, 2);
        place_rows(&s->test, 2, 2);
    }
    for (uint32_t i = 0; i < p->options.parties; i++) {
        struct sim_party *to = &s->party[i];

        to->config.train = p->bottom[i].train;
        to->config.dropout = p->dropout;
        to->config.clip = p->bottom[i].clip;
        to->config.noise = p->bottom[i].noise;
        fill_party(p, i, side, &to->train, &to->test, &to->predicted);
        if (p->options.embeds) {
            number_first(&to->train);
            number_first(&to->test);
        }
        if (p->columns && i == p->victim)
            to->salt += 100 * (uint32_t)side; /* what was trained on other columns */
        if (p->placed) {
            place_rows(&to->train, 1, i == p->victim ? side : 2);
            place_rows(&to->test, 2, i == p->victim ? side : 2);
            place_rows(&to->predicted, QUESTIONS_ALIGNMENT, i == p->victim ? side : 2);
        }
        if (p->persons > 0)
            sim_group(s, i, p->persons);
        if (i == p->victim && p->more > 0)
            snprintf(to->config.scale, sizeof to->config.scale, "fit");
        if (i == p->victim && p->more > 0 && side == 1) {
            widen(&to->train, p->more, p->record);
            widen(&to->test, p->more, p->options.train_rows);
        }
        lack_rows(p, i, side, to);
    }
    for (size_t i = 0; i < p->rules_n; i++)
        sim_rule(s, p->rule[i]);
    if (p->stopped != SIM_ANY)
        sim_stop_at(s, p->stopped, p->stop_us);
}

/* --- trouble --- */

static void draw_trouble(struct pair *p, struct dice *d)
{
    static const enum sim_act acts[] = {SIM_ALTER, SIM_ALTER,     SIM_ALTER,   SIM_REPEAT,
                                        SIM_KILL,  SIM_KILL,      SIM_KILL,    SIM_CUT_BEFORE,
                                        SIM_DELAY, SIM_CUT_AFTER, SIM_SWALLOW, SIM_HOLE};
    static const enum wire_kind down[] = {WIRE_OFFER,     WIRE_HELLOS,    WIRE_CONFIRMS,
                                          WIRE_BROADCAST, WIRE_BROADCAST, WIRE_BROADCAST,
                                          WIRE_BROADCAST, WIRE_BROADCAST, WIRE_RELAY,
                                          WIRE_REPLAY},
                                up[] = {WIRE_JOIN,   WIRE_HELLO,  WIRE_CONFIRM,
                                        WIRE_UPLOAD, WIRE_UPLOAD, WIRE_UPLOAD,
                                        WIRE_SHARE,  WIRE_BEHIND, WIRE_KEPT};

    for (size_t n = dice_percent(d, 55) ? 0 : dice_between(d, 1, PAIR_RULES_MAX); n > 0; n--) {
        const enum sim_act act = DICE_PICK(d, acts);
        const bool says = act != SIM_ALTER && act != SIM_REPEAT && dice_percent(d, 60);
        struct sim_rule *r = &p->rule[p->rules_n++];

        *r = (struct sim_rule){
            .act = act,
            .from = says || act == SIM_KILL ? (int)p->victim : SIM_SERVER,
            .party = dice_percent(d, 60) ? (int)p->victim : SIM_ANY,
            .nth = (uint32_t)dice_between(d, 1, 6),
            .us = act == SIM_DELAY ? dice_between(d, 100, 60000) : 0,
        };
        r->kind = r->from == SIM_SERVER ? DICE_PICK(d, down) : DICE_PICK(d, up);
        if (act == SIM_ALTER)
            r->alter = hostile_alter;
        if (act == SIM_KILL)
            r->how.down_us = dice_percent(d, 50) ? 0 : dice_between(d, 1, 50000);
        r->how.last_words = dice_percent(d, 50);
    }
    if (!dice_percent(d, 4))
        return;
    p->stopped = dice_percent(d, 50) ? SIM_SERVER : (int)p->victim;
    p->stop_us = dice_between(d, 1000, 60000);
}

/* Some of the test rows are training rows that are kept back: one, all, or any number between. */
static void draw_validate(struct pair *p, struct dice d)
{
    static const char *const shares[] = {"0.5", "0.1", "0.9", "1e-300", "0.33333333333333331"};

    p->share = DICE_PICK(&d, shares);
    if (dice_percent(&d, 35))
        p->options.validate_rows = (uint32_t)dice_between(&d, 1, p->options.test_rows);
}

void pair_draw(struct pair *p, uint64_t seed, enum pair_kind kind)
{
    struct dice shape = dice_of(seed, DRAW_SHAPE, 0), plan = dice_of(seed, DRAW_PLAN, 0),
                parties = dice_of(seed, DRAW_PARTIES, 0), trouble = dice_of(seed, DRAW_TROUBLE, 0),
                labels = dice_of(seed, DRAW_LABELS, 0), embeds;
    static const uint32_t classes[] = {1, 1, 2, 2, 2, 2, 3, 5}; /* 1: regression */
    size_t n = 0;

    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->kind = kind;
    p->stopped = SIM_ANY;
    p->strict = dice_percent(&shape, 35);
    p->options = (struct sim_options){
        .parties = (uint32_t)dice_between(&shape, p->strict ? 3 : 2, PAIR_PARTIES_MAX - 1),
        .train_rows = (uint32_t)dice_between(&shape, 2, 7),
        .test_rows = (uint32_t)dice_between(&shape, 1, 3),
        .columns = (uint32_t)dice_between(&shape, 1, 3),
        .quiet = true,
        .unpacker = 1 << 15,
        .checkpoint_rounds = dice_percent(&shape, 30) ? 0 : (uint32_t)dice_between(&shape, 1, 3),
    };
    p->options.classes = DICE_PICK(&labels, classes);
    p->several = p->options.classes > 1 && dice_percent(&labels, 20);
    draw_validate(p, dice_of(seed, DRAW_VALIDATE, 0));
    pair_draw_plan(p, &plan);
    embeds = dice_of(seed, DRAW_EMBEDS, 0);
    p->options.embeds = kind == PAIR_TRAINS && dice_percent(&embeds, 15);
    draw_parties(p, &parties);
    draw_trouble(p, &trouble);
    if (kind == PAIR_PREDICTS)
        questions_draw(p);
    if (kind == PAIR_ALIGNS)
        keyed_draw(p);
    for (size_t i = 0; i < PLAN_KEYS_N; i++) {
        if (p->set[i][0] != 0)
            p->options.sets[n++] = p->set[i];
    }
    CHECK(n < SIM_SETS_MAX);
}

/* --- in words --- */

static void print_sides(const struct pair *p, FILE *to)
{
    float x[PAIR_VALUES_MAX], y[PAIR_VALUES_MAX];
    float z[PAIR_VALUES_MAX];
    const size_t cols = p->options.columns;
    struct table train = {.rows = p->options.train_rows, .cols = cols, .x = x},
                 test = {.rows = p->options.test_rows, .cols = cols, .x = y},
                 predicted = {.rows = p->options.predicted, .cols = cols, .x = z};
    const struct table *shown = p->kind == PAIR_PREDICTS ? &predicted
                                : p->evaluated           ? &test
                                                         : &train;
    const bool all = p->columns || p->persons > 0;
    const size_t from = all ? 0 : p->record, rows = all ? shown->rows : 1;

    CHECK(train.rows * cols <= PAIR_VALUES_MAX && test.rows * cols <= PAIR_VALUES_MAX &&
          predicted.rows * cols <= PAIR_VALUES_MAX);
    for (int side = 0; side < 2; side++) {
        fill_party(p, p->victim, side, &train, &test, &predicted);
        fprintf(to, "  run %c:", 'A' + side);
        for (size_t i = from * cols; i < (from + rows) * cols; i++)
            fprintf(to, "%s %g", i > from * cols && i % cols == 0 ? ";" : "", (double)shown->x[i]);
        fprintf(to, "\n");
    }
}

void pair_print(const struct pair *p, FILE *to)
{
    static const char *const trains[] = {"raw", "frozen", "dp"}, *const acts[] = {
                                                                     "cut before", "cut after",
                                                                     "delay",      "repeat",
                                                                     "alter",      "swallow",
                                                                     "hole from",  "kill at"};

    fprintf(to,
            "pair %llu: %u parties, %u + %u rows (%u kept back), %u columns, %u %s, "
            "checkpoint_rounds %u\n",
            (unsigned long long)p->seed, p->options.parties, p->options.train_rows,
            p->options.test_rows, p->options.validate_rows, p->options.columns, p->options.classes,
            p->several ? "labels" : "classes", p->options.checkpoint_rounds);
    for (size_t i = 0; p->options.sets[i] != NULL; i++)
        fprintf(to, "  --set %s\n", p->options.sets[i]);
    for (size_t i = 0; p->options.party_sets[i] != NULL; i++)
        fprintf(to, "  --party '*:%s'\n", p->options.party_sets[i]);
    for (uint32_t i = 0; i < p->options.parties; i++)
        fprintf(to, "  --party %u:model.train=%s, clip %g, noise %g\n", i + 1,
                trains[p->bottom[i].train], p->bottom[i].clip, p->bottom[i].noise);
    fprintf(to, "  --party '*:model.dropout=%g'\n", p->dropout);
    for (size_t i = 0; i < p->rules_n; i++) {
        const struct sim_rule *r = &p->rule[i];
        fprintf(to, "  %s %s %u of %s%s\n", acts[r->act], wire_kind_name(r->kind), r->nth,
                r->from == SIM_SERVER ? "the server" : "the victim",
                r->from == SIM_SERVER && r->party == SIM_ANY ? ", to anybody" : "");
    }
    if (p->stopped != SIM_ANY)
        fprintf(to, "  %s is told to stop at %.1f ms\n",
                p->stopped == SIM_SERVER ? "the server" : "the victim", (double)p->stop_us / 1000);
    fprintf(to, "  the victim is p%u; what differs: %s", p->victim + 1,
            p->columns ? "all its columns\n" : "");
    if (!p->columns)
        fprintf(to, "its values of record %u%s\n", p->record,
                p->evaluated ? " of those that are evaluated" : "");
    if (p->placed)
        fprintf(to, "  rows are of an alignment, and the victim's have other names\n");
    if (p->options.embeds)
        fprintf(to, "  each party's first column is embedded\n");
    if (p->persons > 0)
        fprintf(to, "  rows are of %u persons, and one's are what differs\n", p->persons);
    questions_print(p, to);
    if (p->kind == PAIR_ALIGNS)
        keyed_print(p, to);
    if (p->more > 0)
        fprintf(to, "  and %u features more in run B\n", p->more);
    print_sides(p, to);
}
