/* score.c -- scores of a set of predictions, each from one pass over ranks or counts.
 *
 * A probability that is not a number ranks below all others and predicts no class at all: a broken
 * model scores badly, it does not stop the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/metrics/score.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/base/record.h"

#include <math.h>
#include <string.h>

enum { RADIX_BITS = 8, RADIX = 1 << RADIX_BITS, PASSES = 32 / RADIX_BITS };

static const uint32_t NO_CLASS = UINT32_MAX;

const char *const score_names[] = {"loss",      "accuracy",    "auc",      "auprc",
                                   "f1",        "r2",          "mae",      "rmse",
                                   "auc_micro", "auprc_micro", "f1_micro", NULL};

bool score_falls(enum score_metric m)
{
    return m == SCORE_LOSS || m == SCORE_MAE || m == SCORE_RMSE;
}

static void put(struct score *to, enum score_metric m, double value, bool has)
{
    to->value[m] = has ? value : 0;
    to->has[m] = has;
}

enum status score_board_init(struct score_board *b, size_t rows_max, uint32_t classes,
                             enum score_kind kind)
{
    const uint32_t targets = kind == SCORE_OF_LABELS ? classes : 1;

    CHECK(classes > 0 && rows_max <= UINT32_MAX);
    *b = (struct score_board){
        .kind = kind, .rows_max = rows_max, .classes = classes, .targets = targets};
    if (rows_max > UINT32_MAX / targets) /* what is ranked is numbered in 32 bits */
        return STATUS_MEMORY;
    b->prob = mem_alloc(rows_max, classes * sizeof *b->prob);
    b->target = mem_alloc(rows_max, targets * sizeof *b->target);
    b->order = mem_alloc(rows_max, 2 * targets * sizeof *b->order);
    if (b->prob != NULL && b->target != NULL && b->order != NULL)
        return STATUS_OK;
    score_board_deinit(b);
    return STATUS_MEMORY;
}

void score_board_deinit(struct score_board *b)
{
    mem_free(b->prob);
    mem_free(b->target);
    mem_free(b->order);
    *b = (struct score_board){0};
}

void score_board_reset(struct score_board *b)
{
    b->rows = 0;
    b->loss_sum = 0;
}

struct printed {
    uint64_t rows;
    double loss_sum;
};

static const struct record_field printed_field[] = {
    RECORD_FIELD(struct printed, rows),
    RECORD_FIELD(struct printed, loss_sum),
};
enum { PRINTED_FIELDS = sizeof printed_field / sizeof printed_field[0] };

enum status score_board_print(const struct score_board *b, struct buf *out)
{
    struct printed head = {b->rows, b->loss_sum};
    enum status s = record_print(out, printed_field, PRINTED_FIELDS, &head);

    if (s == STATUS_OK)
        s = buf_append(out, b->prob, b->rows * b->classes * sizeof *b->prob);
    return s == STATUS_OK ? buf_append(out, b->target, b->rows * b->targets * sizeof *b->target)
                          : s;
}

enum status score_board_parse(struct score_board *b, const uint8_t *bytes, size_t n, size_t *used)
{
    const size_t begin = record_bytes(printed_field, PRINTED_FIELDS);
    struct printed head;
    size_t probs, targets;

    if (n < begin || !record_parse(&head, printed_field, PRINTED_FIELDS, bytes) ||
        head.rows > b->rows_max)
        return STATUS_DATA;
    probs = head.rows * b->classes * sizeof *b->prob;
    targets = head.rows * b->targets * sizeof *b->target;
    *used = begin + probs + targets;
    if (n < *used)
        return STATUS_DATA;
    b->rows = head.rows;
    b->loss_sum = head.loss_sum;
    if (head.rows > 0) {
        memcpy(b->prob, bytes + begin, probs);
        memcpy(b->target, bytes + begin + probs, targets);
    }
    return STATUS_OK;
}

void score_board_add(struct score_board *b, const float *prob, const float *target, size_t n,
                     double mean_loss)
{
    CHECK(n <= b->rows_max - b->rows);
    if (n == 0)
        return;
    memcpy(b->prob + b->rows * b->classes, prob, n * b->classes * sizeof *prob);
    memcpy(b->target + b->rows * b->targets, target, n * b->targets * sizeof *target);
    b->rows += n;
    b->loss_sum += mean_loss * (double)n;
}

void score_board_copy(struct score_board *to, const struct score_board *from)
{
    CHECK(from->rows <= to->rows_max && from->classes == to->classes && from->kind == to->kind);
    to->rows = from->rows;
    to->loss_sum = from->loss_sum;
    if (from->rows == 0)
        return;
    memcpy(to->prob, from->prob, from->rows * from->classes * sizeof *to->prob);
    memcpy(to->target, from->target, from->rows * from->targets * sizeof *to->target);
}

/* --- ranks --- */

/* Floats as integers of the same order; -0 and 0 tie, NaN is below everything. */
static uint32_t rank_key(float p)
{
    uint32_t bits;

    if (isnan(p))
        return 0;
    p += 0.0f;
    memcpy(&bits, &p, sizeof bits);
    return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

/* Probabilities of one thing each, which some targets say is so: of a class all rows, of a label
 * those where it is known, or all labels of all rows at once. */
struct ranked {
    const float *prob, *target;
    size_t n, step, target_step; /* so many, and from one to the next */
    float positive;
};

static struct ranked of_class(const struct score_board *b, uint32_t class)
{
    const uint32_t column = b->classes <= 2 ? b->classes - 1 : class;

    return (struct ranked){b->prob + column, b->target, b->rows, b->classes, 1, (float)class};
}

static struct ranked of_label(const struct score_board *b, uint32_t label)
{
    const uint32_t k = b->classes;

    return (struct ranked){b->prob + label, b->target + label, b->rows, k, k, 1};
}

static struct ranked of_all_labels(const struct score_board *b)
{
    return (struct ranked){b->prob, b->target, b->rows * b->classes, 1, 1, 1};
}

static uint32_t key_of(const struct ranked *c, uint32_t i)
{
    return rank_key(c->prob[i * c->step]);
}

/* b->order[0..n) = the places by rising probability: radix sort, least significant byte first,
 * between the two halves of order. */
static void sort_ranked(struct score_board *b, const struct ranked *c)
{
    uint32_t *from = b->order, *to = b->order + b->rows_max * b->targets, *swap;

    for (size_t i = 0; i < c->n; i++)
        from[i] = (uint32_t)i;
    for (int shift = 0; shift < PASSES * RADIX_BITS; shift += RADIX_BITS) {
        size_t next[RADIX + 1] = {0};

        for (size_t i = 0; i < c->n; i++)
            next[(key_of(c, (uint32_t)i) >> shift) % RADIX + 1]++;
        for (size_t i = 0; i < RADIX; i++)
            next[i + 1] += next[i];
        for (size_t i = 0; i < c->n; i++)
            to[next[(key_of(c, from[i]) >> shift) % RADIX]++] = from[i];
        swap = from;
        from = to;
        to = swap;
    }
}

struct ranks {
    double auc, auprc;
    bool positives, both; /* some are so; and some are not */
};

/* One thing against the rest, from the highest probability down, equal ones at once.  What is not
 * known counts on neither side.  AUC = (pairs won + half of the pairs tied) / (P N); AUPRC = sum
 * over groups of (tp / P) (TP / (TP + FP)). */
static struct ranks rank_of(struct score_board *b, const struct ranked c)
{
    struct ranks r = {0};
    uint64_t tp = 0, fp = 0, lost_twice = 0;
    size_t i = c.n;

    sort_ranked(b, &c);
    while (i > 0) {
        uint32_t key = key_of(&c, b->order[i - 1]);
        uint64_t tp_here = 0, fp_here = 0;

        for (; i > 0 && key_of(&c, b->order[i - 1]) == key; i--) {
            const float target = c.target[b->order[i - 1] * c.target_step];

            tp_here += target == c.positive;
            fp_here += !isnan(target) && target != c.positive;
        }
        if (tp_here + fp_here == 0)
            continue;
        lost_twice += tp_here * (2 * fp + fp_here);
        tp += tp_here;
        fp += fp_here;
        r.auprc += (double)tp_here * ((double)tp / (double)(tp + fp));
    }
    r.positives = tp > 0;
    r.both = tp > 0 && fp > 0;
    if (r.positives)
        r.auprc /= (double)tp;
    if (r.both)
        r.auc = 1 - (double)lost_twice / 2 / (double)tp / (double)fp;
    return r;
}

/* --- decisions --- */

static uint32_t predicted(const struct score_board *b, size_t row)
{
    const float *p = b->prob + row * b->classes;
    uint32_t best = 0;

    if (b->classes == 1)
        return isnan(p[0]) ? NO_CLASS : p[0] > 0.5f;
    for (uint32_t c = 0; c < b->classes; c++) {
        if (isnan(p[c]))
            return NO_CLASS;
        if (p[c] > p[best])
            best = c;
    }
    return best;
}

/* Fills order[0..rows) with the predicted classes; returns how many are right. */
static uint64_t decide(struct score_board *b)
{
    uint64_t right = 0;

    for (size_t i = 0; i < b->rows; i++) {
        uint32_t class = predicted(b, i);

        b->order[i] = class;
        right += class != NO_CLASS && b->target[i] == (float)class;
    }
    return right;
}

/* F1 of one class after decide; *occurs tells whether it was predicted or true anywhere. */
static double f1_class(const struct score_board *b, uint32_t class, bool *occurs)
{
    uint64_t both = 0, either = 0;

    for (size_t i = 0; i < b->rows; i++) {
        bool is = b->target[i] == (float)class, said = b->order[i] == class;

        both += is && said;
        either += (uint64_t)is + said;
    }
    *occurs = either > 0;
    return either == 0 ? 0 : 2 * (double)both / (double)either;
}

/* --- all of it --- */

static void score_binary(struct score_board *b, struct score *out)
{
    struct ranks r;
    bool occurs;

    put(out, SCORE_ACCURACY, (double)decide(b) / (double)b->rows, true);
    put(out, SCORE_F1, f1_class(b, 1, &occurs), true);
    r = rank_of(b, of_class(b, 1));
    put(out, SCORE_AUC, r.auc, r.both);
    put(out, SCORE_AUPRC, r.auprc, true);
}

static void score_multiclass(struct score_board *b, struct score *out)
{
    uint32_t auc_n = 0, auprc_n = 0, f1_n = 0;
    double auc = 0, auprc = 0, f1 = 0;
    bool occurs;

    put(out, SCORE_ACCURACY, (double)decide(b) / (double)b->rows, true);
    for (uint32_t c = 0; c < b->classes; c++) {
        f1 += f1_class(b, c, &occurs);
        f1_n += occurs;
    }
    /* The ranks use the same scratch, so they come after the decisions. */
    for (uint32_t c = 0; c < b->classes; c++) {
        struct ranks r = rank_of(b, of_class(b, c));

        auc += r.auc;
        auc_n += r.both;
        auprc += r.auprc;
        auprc_n += r.positives;
    }
    put(out, SCORE_AUC, auc / auc_n, auc_n > 0);
    put(out, SCORE_AUPRC, auprc / (auprc_n > 0 ? auprc_n : 1), true);
    put(out, SCORE_F1, f1 / (f1_n > 0 ? f1_n : 1), true);
}

static void score_values(const struct score_board *b, struct score *out)
{
    const double n = (double)b->rows;
    double mean = 0, squared = 0, absolute = 0, spread = 0;

    for (size_t i = 0; i < b->rows; i++)
        mean += (double)b->target[i] / n;
    for (size_t i = 0; i < b->rows; i++) {
        const double error = (double)b->prob[i] - (double)b->target[i];
        const double away = (double)b->target[i] - mean;

        squared += error * error;
        absolute += fabs(error);
        spread += away * away;
    }
    put(out, SCORE_R2, 1 - squared / spread, spread > 0);
    put(out, SCORE_MAE, absolute / n, true);
    put(out, SCORE_RMSE, sqrt(squared / n), true);
}

/* How the decisions on one label went, or on all. */
struct decided {
    uint64_t known, right, both, either; /* both: true and predicted; either: each time one is */
};

static void decide_label(struct decided *d, const struct ranked *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const float p = c->prob[i * c->step], target = c->target[i * c->target_step];
        const bool is = target == 1, said = p > 0.5f;

        if (isnan(target))
            continue;
        d->known++;
        d->right += !isnan(p) && is == said;
        d->both += is && said;
        d->either += (uint64_t)is + said;
    }
}

static double f1_of(const struct decided *d)
{
    return d->either == 0 ? 0 : 2 * (double)d->both / (double)d->either;
}

static void score_labels_macro(struct score_board *b, struct score *out)
{
    uint32_t auc_n = 0, auprc_n = 0, f1_n = 0;
    double auc = 0, auprc = 0, f1 = 0;

    for (uint32_t j = 0; j < b->classes; j++) {
        const struct ranked c = of_label(b, j);
        const struct ranks r = rank_of(b, c);
        struct decided d = {0};

        decide_label(&d, &c);
        f1 += f1_of(&d);
        f1_n += d.either > 0;
        auc += r.auc;
        auc_n += r.both;
        auprc += r.auprc;
        auprc_n += r.positives;
    }
    put(out, SCORE_AUC, auc / (auc_n > 0 ? auc_n : 1), auc_n > 0);
    put(out, SCORE_AUPRC, auprc / (auprc_n > 0 ? auprc_n : 1), true);
    put(out, SCORE_F1, f1 / (f1_n > 0 ? f1_n : 1), true);
}

static void score_labels(struct score_board *b, struct score *out)
{
    const struct ranked all = of_all_labels(b);
    const struct ranks r = rank_of(b, all);
    struct decided d = {0};

    decide_label(&d, &all);
    score_labels_macro(b, out);
    put(out, SCORE_ACCURACY, (double)d.right / (double)d.known, d.known > 0);
    put(out, SCORE_AUC_MICRO, r.auc, r.both);
    put(out, SCORE_AUPRC_MICRO, r.auprc, true);
    put(out, SCORE_F1_MICRO, f1_of(&d), true);
}

void score_board_read(struct score_board *b, struct score *out)
{
    *out = (struct score){0};
    if (b->rows == 0)
        return;
    put(out, SCORE_LOSS, b->loss_sum / (double)b->rows, true);
    switch (b->kind) {
    case SCORE_OF_VALUES: score_values(b, out); return;
    case SCORE_OF_LABELS: score_labels(b, out); return;
    case SCORE_OF_CLASSES: break;
    }
    if (b->classes <= 2)
        score_binary(b, out);
    else
        score_multiclass(b, out);
}
