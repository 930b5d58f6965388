/* bottom.c -- the bottom model.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/bottom.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/daemon/embedded.h"
#include "common/daemon/package.h"
#include "common/flow/agenda.h"
#include "common/nn/gemm.h"
#include "common/nn/layer.h"
#include "common/nn/outside.h"
#include "common/nn/safetensors.h"
#include "common/secagg/lane.h"
#include "common/wire/limits.h"
#include "party/prepare.h"
#include "party/train/layers.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert((int)CONFIG_DEGREE_MAX <= (int)NN_DEGREE_MAX, "a degree that the net does not have");

/* What a bottom's weights and activations may take, on a machine that has as much. */
static const size_t BYTES_MAX = (size_t)1 << 36;

/* Not images by the thousand: their activations are as large as the bottom is deep. */
static void limit_rows(struct nn_spec *spec, const struct plan *p)
{
    const uint32_t some = nn_spec_rows(spec, spec->rows_max);

    spec->rows_max = some > p->training.batch ? some : p->training.batch;
}

/* STATUS_CONFIG: these layers do not follow one another. */
static enum status spec_of(struct nn_spec *of, const struct config_party *config,
                           const struct plan *p, uint32_t features, const struct schema *schema,
                           struct error *err)
{
    struct nn_spec spec = {
        .layers = 1,
        .out_scale = 1,
        .rows_max = wire_evaluate_rows(p),
        .optimizer = (enum nn_optimizer)p->training.optimizer,
        .weight_decay = (float)p->training.weight_decay,
    };

    spec.width[0] = features;
    if (config->degree > 0) {
        /* As a float the bound must not become 0, which would be none at all. */
        spec.layer[0] =
            (struct nn_layer_spec){.kind = NN_POLYNOMIAL,
                                   .degree = config->degree,
                                   .x_max = fmaxf((float)p->protocol.fedvs.x_max, FLT_MIN)};
        spec.width[1] = p->model.embedding;
    } else {
        enum status s;

        spec.embedded = embedded_of(schema);
        s = party_layers(&spec, config, p->model.embedding, err);
        if (s != STATUS_OK)
            return s;
        if (config->output_activation == OUTPUT_ACTIVATION_TANH) {
            spec.out_scale = (float)p->protocol.clip;
            spec.act[spec.layers - 1] = NN_ACT_TANH;
        }
    }
    if (config->program.command.n > 0) { /* its steps are its own */
        spec.optimizer = NN_SGD;
        spec.weight_decay = 0;
    }
    if (config->train != TRAIN_FROZEN && config->degree == 0)
        spec.dropout = (float)config->dropout;
    limit_rows(&spec, p);
    *of = spec;
    return STATUS_OK;
}

struct nn_spec party_bottom_spec(const struct config_party *config, const struct plan *p,
                                 uint32_t features, const struct schema *schema)
{
    struct error none = {0};
    struct nn_spec spec;

    CHECK(spec_of(&spec, config, p, features, schema, &none) == STATUS_OK);
    return spec;
}

enum status party_bottom_check(const struct config_party *config, const struct plan *p,
                               uint32_t features, const struct schema *schema, struct error *err)
{
    const size_t here = mem_machine_bytes(), room = here < BYTES_MAX ? here : BYTES_MAX;
    struct error why = {0};
    struct nn_spec spec;

    /* The server is sent what stands in err: how large the bottom and its noise are, and what it
     * is made of, does not.  How many features there are the rows may decide (party/prepare.c): of
     * what hangs on that nothing is sent, and this side is gone. */
    if (spec_of(&spec, config, p, features, schema, &why) != STATUS_OK) {
        log_error("%s", why.text);
        return error_set(err, STATUS_IO, "model.layers: no bottom for this party's columns");
    }
    /* Where a record may decide how many there are, whoever sets training.batch could read it off
     * this. */
    if (!party_rows_may_decide(config) && nn_net_bytes(&spec) > room) {
        log_error("model.layers: for %u rows at a time (training.batch) its layers need %zu MiB, "
                  "and %zu MiB are the most here: fewer rows, or smaller layers",
                  spec.rows_max, nn_net_bytes(&spec) >> 20, room >> 20);
        return error_set(err, STATUS_MEMORY, "model.layers: no room for this party's bottom");
    }
    if (config->train == TRAIN_DP && layer_that_mixes(&spec) != NULL) {
        log_error("model.train: dp does not know what one record does to a layer of the kind %s "
                  "(model.layers): frozen and raw do",
                  layer_that_mixes(&spec)->name);
        return error_set(err, STATUS_CONFIG, "model.train: not with the layers of this bottom");
    }
    if (config->train == TRAIN_RAW && encoding_of(p)->noisy && layer_that_mixes(&spec) != NULL) {
        log_error("model.layers: %s makes what is released of a record hang on the others of its "
                  "batch, and the noise of protocol.encoding is to hide single records: group_norm "
                  "does not, nor does model.train frozen",
                  layer_that_mixes(&spec)->name);
        return error_set(err, STATUS_CONFIG, "model.layers: not under the plan's encoding");
    }
    if (config->program.command.n > 0 &&
        p->protocol.proximal > 0) /* of which nothing is said either */
        return error_set(err, STATUS_IO,
                         "model.program: nobody here can draw its weights back, as the plan's "
                         "protocol.proximal wants it");
    if (!party_dp_possible(config, nn_spec_params(&spec))) {
        log_error("model.noise: %g, with model.clip %g and %zu weights: noise times clip has to be "
                  "at least 1e-30, and noise times the root of the number of weights at most 32768",
                  config->noise, config->clip, nn_spec_params(&spec));
        return error_set(err, STATUS_CONFIG, "model.noise: no grid for this bottom");
    }
    if (p->training.releases == RELEASES_ONCE && config->train != TRAIN_FROZEN)
        return error_set(err, STATUS_POLICY,
                         "model.train: the plan's training.releases is once, for which a bottom "
                         "has to be frozen, and this party's is not");
    if (!aggregation_of(p)->polynomial || config->degree > 0)
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG,
                     "model.polynomial.degree: the plan's aggregation is fedvs, which computes "
                     "with polynomial bottoms only, and this party's has layers");
}

enum status party_bottom_init(struct party_bottom *b, const struct config_party *config,
                              const struct plan *p, uint32_t features, const struct schema *schema,
                              struct rng *init)
{
    struct nn_spec spec = party_bottom_spec(config, p, features, schema);
    struct program *const program = b->outside.program;
    uint32_t batch = p->training.batch;
    struct down down;
    size_t words, values, turned, anchor, nothing, shown, scratch;
    enum status s;

    if (program != NULL) {
        spec.layer[0].units = (uint32_t)program_floats(program);
        spec.outside = program_outside(program);
    }
    down_of(&down, p);
    words = down_words(&down, batch);
    values = gradient_values(&down.gradient, batch);
    turned = (size_t)down.gradient.inner * down.gradient.width;
    anchor = p->protocol.proximal > 0 ? nn_spec_params(&spec) : 0;
    nothing = p->training.party_dropout > 0 ? (size_t)batch * p->model.embedding : 0;
    shown = spec.rows_max < wire_evaluate_rows(p)
                ? (size_t)wire_evaluate_rows(p) * p->model.embedding
                : 0;
    scratch = sizeof(float) * ((size_t)batch * (features + (size_t)p->model.embedding) + words +
                               values + turned + anchor + nothing + shown) +
              batch;

    *b = (struct party_bottom){
        .outside = {program, program != NULL ? program_job(program) : 0},
        .width = p->model.embedding,
        .shown.rows_max = wire_evaluate_rows(p),
        .back.down = down,
        .frozen = config->train == TRAIN_FROZEN,
        /* fedvs takes embeddings whatever their size: its weights have the bound. */
        .clip = aggregation_of(p)->polynomial ? INFINITY : (float)p->protocol.clip,
    };
    s = arena_init(&b->arena, nn_net_bytes(&spec) + scratch + 10 * MEM_ALIGNMENT);
    if (s == STATUS_OK)
        s = nn_net_init(&b->net, &spec, &b->arena);
    if (s != STATUS_OK)
        return s;
    b->batch = arena_alloc(&b->arena, (size_t)batch * features, sizeof(float));
    b->drawn.masks.lacks = arena_alloc(&b->arena, batch, 1);
    b->back.gradient = arena_alloc(&b->arena, (size_t)batch * b->width, sizeof(float));
    b->back.received = arena_alloc(&b->arena, words, sizeof *b->back.received);
    b->back.factors = down.gradient.form == GRADIENT_FULL
                          ? b->back.gradient
                          : arena_alloc(&b->arena, values, sizeof *b->back.factors);
    b->back.turned = arena_alloc(&b->arena, turned, sizeof *b->back.turned);
    if (anchor > 0)
        b->anchor = arena_alloc(&b->arena, anchor, sizeof *b->anchor);
    if (nothing > 0)
        b->drawn.masks.nothing = arena_alloc(&b->arena, nothing, sizeof(float));
    if (shown > 0)
        b->shown.h = arena_alloc(&b->arena, shown, sizeof(float));
    CHECK((nothing == 0 || b->drawn.masks.nothing != NULL) && (shown == 0 || b->shown.h != NULL));
    CHECK(b->drawn.masks.lacks != NULL && b->back.gradient != NULL && b->back.received != NULL &&
          b->back.factors != NULL && b->back.turned != NULL && (anchor == 0 || b->anchor != NULL));
    nn_net_randomize(&b->net, (enum nn_init)p->model.init, init);
    s = party_masks_init(&b->drawn.masks, &spec);
    if (s == STATUS_OK)
        s = party_augment_init(&b->drawn.augment, config);
    return s == STATUS_OK ? party_dp_init(&b->dp, config, &spec, batch) : s;
}

void party_bottom_seed(struct party_bottom *b, uint64_t seed, uint32_t party)
{
    party_dp_seed(&b->dp, seed, party);
    party_draws_seed(&b->drawn.masks.draws, seed, party);
    party_draws_seed(&b->drawn.augment.draws, seed, party);
}

static enum status take_package(struct nn_net *net, const uint8_t *bytes, size_t n,
                                struct error *err)
{
    struct package p;
    enum status s;

    package_init(&p);
    s = package_parse(&p, bytes, n, err);
    if (s == STATUS_OK)
        s = package_weights(&p, net, err);
    package_deinit(&p);
    return s;
}

static enum status take_weights(struct party_bottom *b, const uint8_t *bytes, size_t n,
                                struct error *err)
{
    if (package_is(bytes, n)) /* of a program what records have made of it: it fails silently */
        return take_package(&b->net, bytes, n, err);
    if (b->outside.program != NULL)
        return program_take(b->outside.program, &b->net, bytes, n, err);
    return safetensors_parse(&b->net, bytes, n, err);
}

enum status party_bottom_load(struct party_bottom *b, const uint8_t *bytes, size_t n,
                              struct error *err)
{
    enum status s = take_weights(b, bytes, n, err);

    if (s == STATUS_OK) {
        nn_net_limit(&b->net);
        return s;
    }
    /* The server is sent what stands in err: what the file has or lacks does not. */
    log_error("model.load: %s", err->text);
    return error_set(err, s == STATUS_DATA ? STATUS_CONFIG : s,
                     "model.load: not the weights of this bottom");
}

void party_bottom_deinit(struct party_bottom *b)
{
    if (b->cut.beyond > 0)
        log_info("%.2f %% of the embedding values of training batches were beyond protocol.clip "
                 "and cut off",
                 100.0 * (double)b->cut.beyond / (double)b->cut.values);
    if (b->cut.inputs_beyond > 0)
        log_info("%.2f %% of the input values of training batches were beyond protocol.fedvs.x_max "
                 "and cut off",
                 100.0 * (double)b->cut.inputs_beyond / (double)b->cut.inputs);
    if (b->cut.lost > 0)
        log_warn("%llu passes of single records were not finite, and counted as nothing: "
                 "data.scale may help, or smaller steps",
                 (unsigned long long)b->cut.lost);
    if (b->outside.job > 0)
        program_end(b->outside.program, b->outside.job);
    party_dp_deinit(&b->dp);
    party_masks_deinit(&b->drawn.masks);
    party_augment_deinit(&b->drawn.augment);
    arena_deinit(&b->arena);
    *b = (struct party_bottom){0};
}

static uint64_t count_beyond(const float *h, size_t n, float clip)
{
    uint64_t beyond = 0;

    for (size_t i = 0; i < n; i++)
        beyond += !(fabsf(h[i]) <= clip);
    return beyond;
}

/* Rows that are not there are made zeros, by the same steps whichever they are. */
static void silence(float *v, const uint8_t *lacks, uint32_t rows, uint32_t width)
{
    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t there = (uint32_t)lacks[r] - 1;

        for (uint32_t i = 0; i < width; i++) {
            uint32_t bits;

            memcpy(&bits, &v[(size_t)r * width + i], sizeof bits);
            bits &= there;
            memcpy(&v[(size_t)r * width + i], &bits, sizeof bits);
        }
    }
}

/* Embeddings of a forward pass, in the net's own room: whoever goes back through them brings no
 * gradient of such rows. */
static const float *without(const float *h, const uint8_t *lacks, uint32_t rows, uint32_t width)
{
    if (lacks != NULL)
        silence((float *)(uintptr_t)h, lacks, rows, width);
    return h;
}

/* Of a step; a bottom that makes none goes by what it has, whatever rows there are beside. */
static const float *forward(struct party_bottom *b)
{
    return b->frozen ? nn_net_forward(&b->net, b->batch, b->batch_rows)
                     : nn_net_forward_masked(&b->net, b->batch, b->batch_rows);
}

const float *party_bottom_train(struct party_bottom *b, const struct table *t, const uint32_t *rows,
                                uint32_t n, uint64_t step)
{
    const float *h;

    table_gather(b->batch, t, rows, n);
    party_augment_batch(&b->drawn.augment, b->batch, n, step);
    b->batch_rows = n;
    b->drawn.masks.some_lack = t->lacks != NULL;
    for (uint32_t i = 0; i < n && b->drawn.masks.some_lack; i++)
        b->drawn.masks.lacks[i] = t->lacks[rows[i]];
    if (b->drawn.masks.some_lack) /* one that is left out has features, which others may meet */
        silence(b->batch, b->drawn.masks.lacks, n, (uint32_t)t->cols);
    party_masks_draw(&b->drawn.masks, &b->net, step, n);
    h = forward(b);
    b->cut.lost += nn_net_lost_forward(&b->net);
    if (b->net.spec.act[b->net.spec.layers - 1] == NN_ACT_NONE) {
        b->cut.values += (uint64_t)n * b->width;
        b->cut.beyond += count_beyond(h, (size_t)n * b->width, b->clip);
    }
    if (b->net.spec.layer[0].kind == NN_POLYNOMIAL) {
        b->cut.inputs += (uint64_t)n * t->cols;
        b->cut.inputs_beyond += count_beyond(b->batch, n * t->cols, b->net.spec.layer[0].x_max);
    }
    return without(h, b->drawn.masks.some_lack ? b->drawn.masks.lacks : NULL, n, b->width);
}

const float *party_bottom_leave_out(struct party_bottom *b, uint32_t n)
{
    b->batch_rows = n;
    b->drawn.masks.some_lack = false;
    memset(b->drawn.masks.nothing, 0, (size_t)n * b->width * sizeof *b->drawn.masks.nothing);
    return b->drawn.masks.nothing;
}

const float *party_bottom_evaluate(struct party_bottom *b, const struct table *t, uint32_t first,
                                   uint32_t n)
{
    const float *h;

    CHECK(n <= b->shown.rows_max && (size_t)first + n <= t->rows);
    if (b->shown.h != NULL) {
        b->cut.lost += nn_net_forward_all(&b->net, b->shown.h, t->x + (size_t)first * t->cols, n);
        h = b->shown.h;
    } else {
        h = nn_net_forward(&b->net, t->x + (size_t)first * t->cols, n);
        b->cut.lost += nn_net_lost_forward(&b->net);
    }
    return without(h, t->lacks == NULL ? NULL : t->lacks + first, n, b->width);
}

/* D (rows x k), W (P x k) to D W', by the products that a head's backward makes of them. */
bool party_bottom_expand(struct party_bottom *b)
{
    const struct gradient_form *form = &b->back.down.gradient;
    const uint32_t k = form->inner;

    if (!gradient_unpack(form, b->back.factors, b->back.received, b->batch_rows))
        return false;
    if (form->form == GRADIENT_FULL)
        return true;
    gemm_transpose(b->back.turned, b->back.factors + (size_t)b->batch_rows * k, b->width, k);
    gemm_nn(b->back.gradient, b->back.factors, b->back.turned, b->batch_rows, b->width, k);
    return lane_finite(b->back.gradient,
                       (size_t)b->batch_rows * b->width); /* finite factors may not do */
}

uint32_t party_bottom_clip(struct party_bottom *b, double most)
{
    uint32_t clipped = 0;

    for (uint32_t r = 0; r < b->batch_rows && most > 0; r++) {
        float *g = b->back.gradient + (size_t)r * b->width;
        double norm = 0;
        for (uint32_t i = 0; i < b->width; i++)
            norm += (double)g[i] * g[i];
        norm = sqrt(norm);
        if (norm <= most)
            continue;
        for (uint32_t i = 0; i < b->width; i++)
            g[i] = (float)(g[i] * (most / norm));
        clipped++;
    }
    return clipped;
}

const float *party_bottom_again(struct party_bottom *b)
{
    return without(forward(b), b->drawn.masks.some_lack ? b->drawn.masks.lacks : NULL,
                   b->batch_rows, b->width);
}

bool party_bottom_iterates(struct party_bottom *b, const struct plan *p, uint32_t q)
{
    if (q >= p->protocol.local_iterations)
        return false;
    b->halt.interrupted = q > 0 && b->halt.stop != NULL && atomic_load(b->halt.stop);
    return !b->halt.interrupted;
}

void party_bottom_step(struct party_bottom *b, const struct plan *p, uint64_t step, uint32_t q)
{
    if (b->frozen)
        return;
    if (q == 0 && b->anchor != NULL)
        nn_net_copy_params(&b->net, b->anchor);
    if (b->drawn.masks.some_lack) /* nothing comes back to a row that is not there */
        silence(b->back.gradient, b->drawn.masks.lacks, b->batch_rows, b->width);
    if (b->dp.factor != NULL)
        party_dp_backward(&b->dp, &b->net, b->back.gradient,
                          step * p->protocol.local_iterations + q);
    else
        nn_net_backward(&b->net, NULL, b->back.gradient);
    b->cut.lost += nn_net_lost_backward(&b->net);
    if (b->anchor != NULL)
        nn_net_pull(&b->net, b->anchor, (float)p->protocol.proximal);
    nn_net_step(&b->net, agenda_rate(p, step, q));
}

uint32_t party_bottom_apply(struct party_bottom *b, const struct plan *p, uint64_t step,
                            double clip)
{
    uint32_t clipped = party_bottom_clip(b, clip);

    for (uint32_t q = 0; party_bottom_iterates(b, p, q); q++) {
        if (q > 0 || b->net.x != b->batch)
            forward(b);
        party_bottom_step(b, p, step, q);
    }
    return clipped;
}
