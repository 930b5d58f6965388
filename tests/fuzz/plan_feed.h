/* plan_feed.h -- a plan of choices that an input makes, each within the range of its key.
 *
 * Whether they make sense together is plan_check's question; so is what most inputs are refused by.
 * Numbers are small mostly, and now and then as large as their key may be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_FUZZ_PLAN_FEED_H
#define COLONNADE_TESTS_FUZZ_PLAN_FEED_H

#include "common/config/plan.h"
#include "tests/fuzz/feed.h"

#include <math.h>

/* least .. small of one byte; of the next four, up to `most`, when that byte is 255. */
static inline uint32_t plan_feed_size(struct feed *f, uint32_t least, uint32_t small, uint32_t most)
{
    const uint8_t b = feed_byte(f);

    if (b == 255)
        return least + (uint32_t)(feed_number(f, 4) % ((uint64_t)most - least + 1));
    return least + b % (small - least + 1);
}

/* Units as plan_feed_size has them, but for a few bytes that are words. */
static inline struct config_layer plan_feed_item(struct feed *f)
{
    static const enum layers_word words[] = {
        LAYERS_BATCHNORM, LAYERS_GROUPNORM, LAYERS_RELU,     LAYERS_TANH, LAYERS_SIGMOID,
        LAYERS_FLATTEN,   LAYERS_RESIDUAL,  LAYERS_SHORTCUT, LAYERS_ADD,  LAYERS_LSTM};
    const uint8_t b = f->left > 0 ? f->at[0] : 0;
    struct config_layer item = {.word = LAYERS_UNITS};

    if (b < 240 || (size_t)b - 240 >= sizeof words / sizeof *words) {
        item.argument[LAYERS_OUT] = plan_feed_size(f, 1, 8, PLAN_WIDTH_MAX);
        return item;
    }
    item.word = words[feed_byte(f) - 240];
    if (item.word == LAYERS_GROUPNORM || item.word == LAYERS_LSTM)
        item.argument[0] = 1;
    return item;
}

/* Bytes below 192 mean what they did before there were max and words. */
static inline void plan_feed_head(struct feed *f, struct plan *p)
{
    const uint8_t fusion = feed_byte(f), n = feed_byte(f);

    p->model.fusion = fusion < 192 ? (enum plan_fusion)(fusion % 3) : FUSION_MAX;
    p->model.head.n = n % (n < 192 ? 3U : 8U);
    for (size_t i = 0; i < p->model.head.n; i++)
        p->model.head.item[i] = plan_feed_item(f);
}

static inline void plan_feed_model(struct feed *f, struct plan *p)
{
    p->model.embedding = plan_feed_size(f, 1, 8, PLAN_WIDTH_MAX);
    plan_feed_head(f, p);
    p->model.output = (enum plan_output)feed_among(f, OUTPUT_LINEAR, OUTPUT_IDENTITY);
    p->model.task = (enum plan_task)feed_among(f, TASK_BINARY, PLAN_TASKS - 1);
    p->model.binary_loss = (enum plan_binary_loss)feed_among(f, BINARY_SOFTMAX, BINARY_SIGMOID);
}

static inline void plan_feed_protocol(struct feed *f, struct plan *p)
{
    static const double clips[] = {1, 1e-6, 1e6, 0.5};

    p->protocol.encoding = (enum plan_encoding)feed_among(f, ENCODING_PBM, ENCODING_TOPK);
    p->protocol.aggregation =
        (enum plan_aggregation)feed_among(f, AGGREGATION_MASKED, AGGREGATION_CLEAR);
    p->protocol.pbm.trials = plan_feed_size(f, 1, 64, PLAN_TRIALS_MAX);
    p->protocol.pbm.beta = 0.25 / feed_among(f, 1, 16);
    p->protocol.clip = clips[feed_among(f, 0, 3)];
    p->protocol.fixed.bits = feed_among(f, 2, 24);
    p->protocol.bits = feed_among(f, 1, 8);
    p->protocol.head_bits = feed_among(f, 0, 8);
    p->protocol.code_range =
        (enum plan_code_range)feed_among(f, CODE_RANGE_MESSAGE, CODE_RANGE_CLIP);
    p->protocol.error_feedback = feed_byte(f) % 2 > 0;
    p->protocol.coded.segments = feed_among(f, 1, 4);
    p->protocol.coded.privacy = feed_among(f, 1, 4);
    p->protocol.fedvs.segments = feed_among(f, 1, 4);
    p->protocol.fedvs.privacy = feed_among(f, 1, 4);
    p->protocol.fedvs.x_bits = feed_among(f, 1, 20);
    p->protocol.fedvs.w_bits = feed_among(f, 1, 30);
    p->protocol.straggler = (enum plan_straggler)feed_among(f, STRAGGLER_WAIT, STRAGGLER_ASYNC);
    p->protocol.gradient.form =
        (enum plan_gradient_form)feed_among(f, GRADIENT_FULL, GRADIENT_FACTORED);
    p->protocol.gradient.type =
        (enum plan_gradient_type)feed_among(f, GRADIENT_FLOAT32, GRADIENT_INT8);
    p->protocol.local_iterations = plan_feed_size(f, 1, 8, 10000);
    p->protocol.local_view = (enum plan_view)feed_among(f, VIEW_STALE, VIEW_REFRESHED);
    p->protocol.label_holders = feed_among(f, 0, 4);
    p->protocol.local_order = (enum plan_order)feed_among(f, ORDER_PARALLEL, ORDER_SEQUENTIAL);
}

static inline void plan_feed_training(struct feed *f, struct plan *p)
{
    p->training.epochs = (double)plan_feed_size(f, 1, 96, 100000 * 16) / 16;
    p->training.releases = (enum plan_releases)feed_among(f, RELEASES_EVERY_EPOCH, RELEASES_ONCE);
    p->training.batch = plan_feed_size(f, 1, 32, PLAN_WIDTH_MAX);
    p->training.schedule = (enum plan_schedule)feed_among(f, SCHEDULE_CONSTANT, SCHEDULE_STEP);
    p->training.optimizer = (enum plan_optimizer)feed_among(f, OPTIMIZER_SGD, OPTIMIZER_ADAMW);
    p->training.seed = feed_number(f, 8);
    p->training.seed_given = true;
    p->training.weight_decay_given = true;
    p->privacy.delta_given = true;
    p->training.evaluate_every = (double)plan_feed_size(f, 0, 32, 100000 * 16) / 16;
    p->training.evaluate_train = feed_byte(f) % 2 > 0;
}

/* From the smallest double there is up to the largest that the keys take. */
static inline double plan_feed_size_of_noise(struct feed *f, double most)
{
    const uint8_t size = feed_byte(f);
    const int exponent = size < 160 ? size / 2 - 50 : -60 - 11 * (size - 160);
    const double v = ldexp(1 + feed_byte(f) / 256.0, exponent);

    return v < most ? v : most;
}

/* Of gaussian plans only: the bytes of others mean what they did. */
static inline void plan_feed_noise(struct feed *f, struct plan *p)
{
    if (p->protocol.encoding != ENCODING_GAUSSIAN)
        return;
    p->protocol.gaussian.match =
        (enum plan_gaussian_match)feed_among(f, GAUSSIAN_PAPER, GAUSSIAN_EPSILON);
    p->protocol.gaussian.levels = 16 + 8 * feed_among(f, 0, 255);
    if (p->protocol.gaussian.match == GAUSSIAN_SIGMA)
        p->protocol.gaussian.sigma = plan_feed_size_of_noise(f, 1e9);
    if (p->protocol.gaussian.match == GAUSSIAN_EPSILON)
        p->protocol.gaussian.epsilon = plan_feed_size_of_noise(f, 1e6);
}

/* Everything but the shape. */
static inline void plan_feed(struct feed *f, struct plan *p)
{
    plan_defaults(p);
    plan_feed_model(f, p);
    plan_feed_protocol(f, p);
    plan_feed_training(f, p);
}

#endif
