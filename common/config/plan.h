/* plan.h -- what the server proposes: every party receives it, prices it and may refuse it.
 *
 * A plan travels, is signed and is printed as text: one `key=value` line for each key of the plan
 * table, in table order.  The same table parses the YAML file, --set and the text of a peer, so a
 * value that is out of range in a file is out of range on the wire.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_CONFIG_PLAN_H
#define COLONNADE_CONFIG_PLAN_H

#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/config/layers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLAN_LAYERS_MAX = 8,      /* numbers of a list such as data.shape */
    PLAN_HEAD_ITEMS_MAX = 32, /* layers that a head lists */
    PLAN_RUN_NAME_MAX = 40,   /* characters of a run's name, */
    PLAN_RUN_DIGITS = 16,     /* which begins with as many of its plan's digest */
    PLAN_FROM_MAX = 128,      /* CONFIG_COLUMN_MAX */
    PLAN_TEXT_MAX = 8192,     /* bytes of a plan's text */
    PLAN_PARTIES_MAX = 256,   /* threats E7 */
    PLAN_TRIALS_MAX = 1024,   /* b */
    PLAN_ADAMW_DECAY = 1,     /* what adamw takes where weight_decay is not given */
    PLAN_WIDTH_MAX = 65536,   /* P, hidden widths, batch rows */
    PLAN_CLASSES_MAX = 4096,
    PLAN_ROWS_MAX = 100000000,      /* of a label file */
    PLAN_VALUES_MAX = 1 << 24,      /* B x P of one round: counts and bytes of it fit 32 bits */
    PLAN_KEPT_VALUES_MAX = 1 << 28, /* rows x P x parties: what a server under async keeps */
    PLAN_PRIME_MAX = 65521,         /* largest field of coded shares: the last prime below 2^16 */
    PLAN_HEAD_VALUES_MAX = 1 << 28, /* behind all items of model.head, of a batch */
    PLAN_KEYS_N = 72,               /* keys that a configuration sets, each a row of plan_keys.c */
};

enum plan_output { OUTPUT_LINEAR, OUTPUT_IDENTITY };
/* MAX: of each coordinate the largest of all parties'. */
enum plan_fusion { FUSION_SUM, FUSION_MEAN, FUSION_CONCAT, FUSION_MAX };
/* Each with its word in plans; its facts are in task.c. */
#define PLAN_TASK_LIST(X)                                                                          \
    X(AUTO, auto)                                                                                  \
    X(BINARY, binary)                                                                              \
    X(MULTICLASS, multiclass)                                                                      \
    X(REGRESSION, regression)                                                                      \
    X(MULTILABEL, multilabel)
#define PLAN_TASK(id, name) TASK_##id,
enum plan_task { PLAN_TASK_LIST(PLAN_TASK) };
enum plan_init { INIT_GLOROT, INIT_HE, INIT_TORCH };
/* Each with its word in plans and policies; its facts are in encoding.c, what it does in
 * common/secagg. */
#define PLAN_ENCODING_LIST(X)                                                                      \
    X(PBM, pbm)                                                                                    \
    X(FIXED, fixed)                                                                                \
    X(FLOAT32, float32)                                                                            \
    X(GAUSSIAN, gaussian)                                                                          \
    X(SCALAR, scalar)                                                                              \
    X(LATTICE, lattice)                                                                            \
    X(E8, e8)                                                                                      \
    X(TOPK, topk)
/* Of these, the ones that add noise; each is a law of its own to the accountant (common/privacy).
 */
#define PLAN_NOISE_LIST(X) X(PBM, pbm) X(GAUSSIAN, gaussian)
/* What these laws are known by, in the accountant, in ledgers and in summaries: b and beta of PBM;
 * of Gaussian noise the standard deviation of each party's own upload, C of its box [-C, C], and
 * the step of the grid it is drawn on. */
#define PLAN_NOISE_PARAMETERS(X)                                                                   \
    X(trials, uint32_t) X(beta, double) X(sigma, double) X(clip, double) X(step, double)
#define PLAN_ENCODING(id, name) ENCODING_##id,
enum plan_encoding { PLAN_ENCODING_LIST(PLAN_ENCODING) };
/* The same. */
#define PLAN_AGGREGATION_LIST(X) X(MASKED, masked) X(CODED, coded) X(FEDVS, fedvs) X(CLEAR, clear)
#define PLAN_AGGREGATION(id, name) AGGREGATION_##id,
enum plan_aggregation { PLAN_AGGREGATION_LIST(PLAN_AGGREGATION) };
/* How many there are of each.  Whatever has a place for every one is as long as this. */
#define PLAN_ONE_MORE(id, name) +1
enum {
    PLAN_ENCODINGS = 0 PLAN_ENCODING_LIST(PLAN_ONE_MORE),
    PLAN_AGGREGATIONS = 0 PLAN_AGGREGATION_LIST(PLAN_ONE_MORE),
    PLAN_TASKS = 0 PLAN_TASK_LIST(PLAN_ONE_MORE)
};
/* Up to here the worst corner of the accountant was computed (docs/privacy.md). */
#define PLAN_BETA_MAX 0.49
enum plan_prime { PRIME_AUTO, PRIME_31, PRIME_61 }; /* 2^31 - 1, 2^61 - 1 */
enum plan_straggler { STRAGGLER_WAIT, STRAGGLER_DROP, STRAGGLER_ASYNC };
/* What stands for a party that drop has left out: nothing (the others' sum is scaled up, and the
 * largest is one of theirs), or zeros. */
enum plan_absent { ABSENT_IGNORE, ABSENT_ZERO };
enum plan_code_range { CODE_RANGE_MESSAGE, CODE_RANGE_CLIP };
enum plan_gaussian_match { GAUSSIAN_PAPER, GAUSSIAN_EQUAL_RDP, GAUSSIAN_SIGMA, GAUSSIAN_EPSILON };
enum plan_gradient_form { GRADIENT_FULL, GRADIENT_FACTORED };
enum plan_gradient_type { GRADIENT_FLOAT32, GRADIENT_BFLOAT16, GRADIENT_INT8 };
/* What a local step knows of the others: the gradient of the round's start, or their embeddings of
 * it, from which it computes the gradient anew. */
enum plan_view { VIEW_STALE, VIEW_REFRESHED };
enum plan_order { ORDER_PARALLEL, ORDER_SEQUENTIAL }; /* FedBCD-p, FedBCD-s */
enum plan_schedule {
    SCHEDULE_CONSTANT,
    SCHEDULE_INVERSE_SQRT,
    SCHEDULE_INVERSE_SQRT_PARTIES,
    SCHEDULE_COSINE,
    SCHEDULE_STEP
};
/* How often a training row is released; ONCE: the head trains on what was kept of it. */
enum plan_releases { RELEASES_EVERY_EPOCH, RELEASES_ONCE };
enum plan_optimizer { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM, OPTIMIZER_ADAMW };
/* METRIC_FIRST and those behind it are enum score_metric's (common/metrics/score.h), in order. */
enum plan_metric {
    METRIC_NONE,
    METRIC_FIRST,
    METRIC_LOSS = METRIC_FIRST,
    METRIC_ACCURACY,
    METRIC_AUC,
    METRIC_AUPRC,
    METRIC_F1,
    METRIC_R2,
    METRIC_MAE,
    METRIC_RMSE,
    METRIC_AUC_MICRO,
    METRIC_AUPRC_MICRO,
    METRIC_F1_MICRO
};
enum plan_class_weights { CLASS_WEIGHTS_NONE, CLASS_WEIGHTS_BALANCED };
/* By what rows are kept back: their ids, whose they are, or their place in the order of ids. */
enum plan_validate_by { VALIDATE_ID, VALIDATE_GROUP, VALIDATE_ORDER, VALIDATE_TIME };
extern const char *const plan_validates[]; /* each with its word */
enum plan_split { SPLIT_TEST, SPLIT_TRAIN, SPLIT_VALIDATE };
extern const char *const plan_splits[]; /* each with its word */
enum plan_binary_loss { BINARY_SOFTMAX, BINARY_SIGMOID };

/* A list of layer widths; n = 0 is the empty list. */
struct plan_widths {
    size_t n;
    uint32_t width[PLAN_LAYERS_MAX];
};

struct plan {
    struct {
        uint32_t embedding; /* P */
        enum plan_fusion fusion;
        struct config_layers head; /* before the last, linear one */
        uint32_t head_activation;  /* enum plan_activation */
        double head_dropout;       /* of each hidden unit in a step of training */
        enum plan_output output;   /* identity: the fused embeddings are the outputs, no weights */
        enum plan_task task;
        enum plan_binary_loss binary_loss;
        enum plan_init init;
    } model;
    struct {
        enum plan_encoding encoding;
        enum plan_aggregation aggregation;
        struct {
            uint32_t trials; /* b */
            double beta;     /* in (0, 1/4], wide: (0, PLAN_BETA_MAX] */
            bool wide;
            double gain; /* coins are tossed for gain times an embedding, cut off at +- C */
        } pbm;
        double clip; /* C: embeddings lie in [-C, C] */
        struct {
            uint32_t bits;
        } fixed;
        struct {
            enum plan_gaussian_match match;
            double sigma, epsilon;
            uint32_t levels; /* L: the grid has the step C / L */
        } gaussian;
        uint32_t bits;                   /* b: per component, of a compressor */
        uint32_t head_bits;              /* per weight of the head under refreshed; 0: as `bits` */
        enum plan_code_range code_range; /* clip: the levels of scalar span [-C, C] */
        bool
            error_feedback; /* what compression took from a record's embedding is added next time */
        struct {
            uint32_t segments; /* K */
            uint32_t privacy;  /* T */
        } coded;
        struct {
            uint32_t segments; /* K: also how a clear run cuts its rows (common/data/segments.h) */
            uint32_t privacy;  /* T */
            enum plan_prime prime;
            uint32_t x_bits, w_bits; /* fraction bits of the powers of inputs, and of weights */
            double x_max, w_max;     /* inputs lie in [-x_max, x_max], weights in [-w_max, w_max] */
        } fedvs;
        enum plan_straggler straggler;
        enum plan_absent absent;
        uint32_t deadline_ms, patience_ms;
        struct {
            enum plan_gradient_form form;
            enum plan_gradient_type type;
        } gradient;
        uint32_t local_iterations; /* Q */
        enum plan_view local_view;
        uint32_t label_holders; /* under refreshed: the first of the roster so many; 0: all */
        enum plan_order local_order;
        double proximal; /* mu (FedBCD, equation 13) */
    } protocol;
    struct {
        double epochs;
        /* The run whose model every side begins with, as the server calls it, and what that run is
         * known by on all sides; "": a new model. */
        char from[PLAN_FROM_MAX], from_trail[65];
        enum plan_releases releases;
        uint32_t batch;
        double learning_rate;
        enum plan_schedule schedule;
        double warmup; /* epochs over which the rate grows to what the schedule says */
        struct {
            double epochs, factor; /* of schedule step */
        } step;
        enum plan_optimizer optimizer;
        enum plan_class_weights class_weights;
        bool scale_targets;  /* regression: by the mean and deviation of the training labels */
        double weight_decay; /* lambda; not given: plan_weight_decay() */
        bool weight_decay_given;
        double party_dropout; /* in a step each party is left out with this probability */
        uint64_t seed;        /* of the public schedule only */
        bool seed_given;
        double evaluate_every; /* epochs; 0: only at the end */
        bool evaluate_train;
        struct {
            enum plan_metric metric; /* METRIC_NONE: never stop early */
            enum plan_split split;
            double value;
        } stop;
        uint32_t patience; /* evaluations without a better one that end the run; 0: none do */
        enum plan_metric best_by; /* by what one is better; METRIC_NONE: plan_best_by() says */
    } training;
    struct {
        double validate; /* share of the training rows that is kept back to choose by */
        enum plan_validate_by validate_by;
    } data;
    struct {
        double delta; /* not given: that of a small table, until the rows are known */
        bool delta_given;
        double max_epsilon; /* 0: no limit on this side */
    } privacy;
    /* Filled by the server from its labels, never by a configuration. */
    struct {
        uint32_t parties, train_rows;
        uint32_t test_rows, validate_rows; /* those that are evaluated; of these, kept back */
        uint32_t outputs;
    } shape;
};

enum plan_activation { ACTIVATION_RELU, ACTIVATION_TANH, ACTIVATION_SIGMOID, ACTIVATION_NONE };

/* Does the server need each party's embedding by itself, since the fusion is of no sum: concat and
 * max? */
bool plan_keeps_apart(const struct plan *p);
/* Coins are tossed for so many times what a bottom computes, cut off at +-C; 1 without coins. */
double plan_gain(const struct plan *p);

/* Is the encoding a compressor: no noise, no common grid, decoded one upload at a time? */
bool plan_compresses(const struct plan *p);

/* The largest code of one party: b, or 2^bits - 1; 0 where embeddings are no integers. */
uint32_t plan_value_max(const struct plan *p);

/* May parties learn more of a training round than a function of the sum over all its members?  Side
 * by side, or the sum of those who happened to be there, perhaps of one, or, refreshed with a
 * compressor, everybody's upload as it came. */
bool plan_shows_each(const struct plan *p);
/* Parties that may put together what they were sent and learn nothing by it: T of coded and fedvs,
 * else 1. */
uint32_t plan_withstands(const struct plan *p);

/* What evaluations are compared by under patience: as the plan says, else as the task's row does.
 */
enum plan_metric plan_best_by(const struct plan *p);

/* What training.weight_decay is where it is not given: that of the optimizer. */
double plan_weight_decay(const struct plan *p);

/* The defaults of the table: seed not given, shape all zero. */
void plan_defaults(struct plan *p);

/* Refuses combinations without sense, each with its reason (docs/configuration.md prints the
 * matrix): STATUS_CONFIG. While shape.parties is 0 the shape counts as not yet known. */
enum status plan_check(const struct plan *p, struct error *err) MUST_USE;

/* Appends the canonical text (every key once, table order) to out.  seed, delta and weight_decay
 * must be given (CHECK): what is sent and signed leaves nothing open. */
enum status plan_print(const struct plan *p, struct buf *out) MUST_USE;

/* Reads a peer's text of n bytes: every key exactly once, in order, in range, in the canonical
 * form of its value, nothing else; then plan_check.  STATUS_PROTOCOL (or LIMIT, MEMORY). */
enum status plan_parse(struct plan *p, const char *text, size_t n, struct error *err) MUST_USE;

#endif
