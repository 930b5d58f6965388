/* program.c -- questions, answers with a time limit, and zeros when there are no more.
 *
 * One thread at a time: a side's work is one piece at a time, and what is kept is asked for between
 * two.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/program.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/rng.h"
#include "common/nn/net.h"
#include "common/program/room.h"
#include "common/program/talk.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TRIAL_ROWS = 2 };

struct program {
    struct talk talk;
    struct keeper keeper; /* -1: others start it */
    bool stands;          /* one job after another: the next process is started when one is over */
    uint32_t timeout_ms;
    uint64_t job; /* jobs so far */
    struct program_shape shape;
    struct room rows, state;
    float *x, *y, *dy, *dx; /* in `rows`; dx of a head */
    uint32_t last;          /* rows of the last forward of a step */
    bool fresh;             /* what was fetched last is what it has */
    struct nn_outside outside;
};

/* --- memory --- */

/* Rows, then embeddings, then their gradients, of a head then those of the rows: each from a
 * multiple of 64 bytes on. */
static enum status make_rows(struct program *p)
{
    const struct program_shape *s = &p->shape;
    size_t x, y, bytes;
    enum status made;

    if (__builtin_mul_overflow((size_t)s->rows_max * sizeof *p->x, s->inputs, &x) ||
        __builtin_mul_overflow((size_t)s->rows_max * sizeof *p->y, s->outputs, &y) ||
        x > SIZE_MAX / 8 || y > SIZE_MAX / 8)
        return STATUS_MEMORY;
    x = (x + MEM_ALIGNMENT - 1) & ~(size_t)(MEM_ALIGNMENT - 1);
    y = (y + MEM_ALIGNMENT - 1) & ~(size_t)(MEM_ALIGNMENT - 1);
    bytes = x + 2 * y + (p->talk.part == PROGRAM_HEAD ? x : 0);
    made = room_make(&p->rows, bytes);
    if (made != STATUS_OK)
        return made;
    p->x = (float *)(void *)p->rows.at;
    p->y = (float *)(void *)(p->rows.at + x);
    p->dy = (float *)(void *)(p->rows.at + x + y);
    if (p->talk.part == PROGRAM_HEAD)
        p->dx = (float *)(void *)(p->rows.at + x + 2 * y);
    return STATUS_OK;
}

/* --- what a net asks for --- */

static bool all_finite(const float *x, size_t n)
{
    bool finite = true;

    for (size_t i = 0; i < n; i++)
        finite &= isfinite(x[i]) != 0;
    return finite;
}

/* What was copied out of memory that others write is not read there again. */
static void seen_once(void)
{
    __asm__ volatile("" ::: "memory");
}

/* y is looked at where nobody else can change it any more. */
static bool embed(struct program *p, float *y, const float *x, uint32_t rows, bool training)
{
    const size_t values = (size_t)rows * p->shape.outputs;

    if (talk_over(&p->talk))
        return false;
    if (rows > p->shape.rows_max)
        return talk_fail(&p->talk, "cannot be asked about %u rows, more than it was told", rows);
    memcpy(p->x, x, (size_t)rows * p->shape.inputs * sizeof *x);
    memset(p->y, 0xff, values * sizeof *y); /* NaNs: a value that it leaves out is none */
    if (!talk_ask_about(&p->talk, training ? SPEECH_FORWARD : SPEECH_EVALUATE, rows))
        return false;
    memcpy(y, p->y, values * sizeof *y);
    seen_once();
    if (!all_finite(y, values))
        return talk_fail(&p->talk, "gives %s with a value that is not finite, or missing",
                         talk_part(p->talk.part)->gives);
    if (training)
        p->last = rows;
    return true;
}

static void forward(void *owner, float *y, const float *x, uint32_t rows, bool training)
{
    struct program *p = owner;

    if (!embed(p, y, x, rows, training))
        memset(y, 0, (size_t)rows * p->shape.outputs * sizeof *y);
}

static bool take_back(struct program *p, float *dx, const float *dy, uint32_t rows)
{
    const size_t values = (size_t)rows * p->shape.inputs;

    if (talk_over(&p->talk))
        return false;
    if (rows != p->last)
        return talk_fail(&p->talk, "is to go back with other rows than its last ones");
    memcpy(p->dy, dy, (size_t)rows * p->shape.outputs * sizeof *dy);
    memset(p->dx, 0xff, values * sizeof *p->dx);
    if (!talk_ask_about(&p->talk, SPEECH_BACK, rows))
        return false;
    memcpy(dx, p->dx, values * sizeof *dx);
    seen_once();
    return all_finite(dx, values) ||
           talk_fail(&p->talk, "gives a gradient with a value that is not finite, or missing");
}

static void back(void *owner, float *dx, const float *dy, uint32_t rows)
{
    struct program *p = owner;

    if (!take_back(p, dx, dy, rows))
        memset(dx, 0, (size_t)rows * p->shape.inputs * sizeof *dx);
}

static bool take_step(struct program *p, const float *dy, uint32_t rows, float rate)
{
    struct speech s = {.kind = SPEECH_STEP};

    if (talk_over(&p->talk))
        return false;
    if (rows != p->last)
        return talk_fail(&p->talk, "is to take a step with other rows than its last ones");
    memcpy(p->dy, dy, (size_t)rows * p->shape.outputs * sizeof *dy);
    s.value[ROWS_N].whole = rows;
    s.value[STEP_RATE].real = (double)rate;
    p->fresh = false;
    return talk_ask(&p->talk, &s, -1, p->talk.limit_ms);
}

static void step(void *owner, const float *dy, uint32_t rows, float learning_rate)
{
    (void)take_step(owner, dy, rows, learning_rate);
}

/* The bytes of its state, in p->state; false: it has failed. */
static bool save(struct program *p, size_t *n)
{
    struct speech s = {.kind = SPEECH_SAVE};

    if (!talk_ask(&p->talk, &s, -1, p->talk.limit_ms))
        return false;
    if (s.value[STATE_BYTES].whole > p->state.bytes)
        return talk_fail(&p->talk, "saves %llu bytes, more than the %zu it said at first",
                         (unsigned long long)s.value[STATE_BYTES].whole, p->state.bytes);
    *n = (size_t)s.value[STATE_BYTES].whole;
    return true;
}

static void fetch(void *owner, float *w, size_t floats)
{
    struct program *p = owner;
    size_t n = 0;

    if (p->rows.at != NULL && !talk_over(&p->talk) && p->fresh)
        return;
    if (p->rows.at == NULL || !save(p, &n)) { /* NULL: too late, its job is over */
        outside_pack_lost(w, floats);
        return;
    }
    outside_pack(w, floats, p->state.at, n);
    p->fresh = true;
}

static void give(void *owner, const float *w, size_t floats)
{
    struct program *p = owner;
    size_t n = 0;
    bool lost = false;

    if (p->rows.at == NULL || talk_over(&p->talk))
        return;
    if (!outside_unpack(p->state.at, p->state.bytes, &n, &lost, w, floats) || n > p->state.bytes)
        (void)talk_fail(&p->talk, "is to go on from what is no state of its");
    else if (lost)
        (void)talk_fail(&p->talk, "has failed before, in what this job goes on from");
    else
        p->fresh = talk_ask_about(&p->talk, SPEECH_LOAD, n);
}

/* --- a job --- */

enum status program_draw_seed(uint64_t *seed, bool seeded, uint64_t of, uint32_t side)
{
    uint8_t key[RNG_KEY_BYTES];
    struct rng r = {0};
    enum status s;

    if (seeded) {
        rng_seed_key(key, of, side, "program", 0);
        s = rng_init_key(&r, key);
    } else {
        s = rng_init_system(&r);
    }
    if (s == STATUS_OK)
        rng_fill(&r, seed, sizeof *seed);
    rng_deinit(&r);
    return s;
}

static enum status greet(struct program *p, struct error *err)
{
    struct speech hello = {.kind = SPEECH_HELLO};
    const uint32_t limit_ms = p->talk.greeted ? p->timeout_ms : PROGRAM_START_MS;
    enum status s = STATUS_OK;

    p->talk.failed[0] = 0;
    p->talk.tried = false;
    if (p->talk.fd < 0)
        s = p->talk.starter.start(p->talk.starter.owner, &p->talk.fd, err);
    if (s != STATUS_OK)
        return error_wrap(err, "%s", talk_part(p->talk.part)->key);
    p->talk.greeted = talk_ask(&p->talk, &hello, -1, limit_ms);
    return p->talk.greeted ? STATUS_OK
                           : error_set(err, STATUS_CONFIG, "%s: it %s",
                                       talk_part(p->talk.part)->key, p->talk.failed);
}

/* One that has waited for a job may have ended meanwhile, for whatever reason. */
enum status program_start(struct program *p, struct error *err)
{
    const bool waited = p->talk.fd >= 0;
    const enum status s = greet(p, err);

    if (s == STATUS_OK || !waited)
        return s;
    log_warn("%s, where it has waited for a job: another one is started", err->text);
    *err = (struct error){0};
    return greet(p, err);
}

/* A server's checkpoint may have two of them, and other things. */
static uint64_t state_max(const struct program *p)
{
    return p->talk.part == PROGRAM_HEAD ? OUTSIDE_BYTES_MAX / 4 : OUTSIDE_BYTES_MAX;
}

/* What it is told of the job, and how large its state may become. */
static bool init(struct program *p, size_t *bytes)
{
    const struct program_shape *of = &p->shape;
    struct speech s = {.kind = SPEECH_INIT};
    uint64_t n;

    s.value[INIT_INPUTS].whole = of->inputs;
    s.value[INIT_OUTPUTS].whole = of->outputs;
    s.value[INIT_ROWS].whole = of->rows_max;
    s.value[INIT_SHAPE].whole = of->shape.channels;
    s.value[INIT_SHAPE + 1].whole = of->shape.height;
    s.value[INIT_SHAPE + 2].whole = of->shape.width;
    s.value[INIT_SEED].whole = of->seed;
    s.value[INIT_CLIP].real = of->plan->protocol.clip;
    s.value[INIT_OPTIMIZER].whole = (uint64_t)of->plan->training.optimizer;
    s.value[INIT_DECAY].real = of->plan->training.weight_decay;
    s.value[INIT_ITERATIONS].whole = of->plan->protocol.local_iterations;
    s.value[INIT_STATE_MAX].whole = state_max(p);
    s.value[INIT_HEAD].whole = p->talk.part == PROGRAM_HEAD;
    if (!talk_ask(&p->talk, &s, p->rows.fd, p->talk.limit_ms))
        return false;
    n = s.value[STATE_BYTES].whole;
    if (n > state_max(p))
        return talk_fail(&p->talk, "has a state of %llu bytes, and %llu are the most",
                         (unsigned long long)n, (unsigned long long)state_max(p));
    *bytes = (size_t)n;
    return true;
}

static bool give_room(struct program *p, size_t bytes)
{
    struct speech s = {.kind = SPEECH_ROOM};

    if (room_make(&p->state, bytes > 0 ? bytes : 1) != STATUS_OK)
        return talk_fail(&p->talk, "cannot be given memory for its state");
    s.value[STATE_BYTES].whole = p->state.bytes;
    return talk_ask(&p->talk, &s, p->state.fd, p->talk.limit_ms);
}

/* Each thing that it will be asked for, on zeros; and back to what it was. */
static bool try_it(struct program *p, float *w, size_t floats)
{
    const uint32_t rows = p->shape.rows_max < TRIAL_ROWS ? p->shape.rows_max : TRIAL_ROWS;
    const size_t values = (size_t)rows * p->shape.outputs, came = (size_t)rows * p->shape.inputs;
    float *zeros = mem_alloc(2 * (came + values), sizeof *zeros);
    float *y = zeros + came, *dy = y + values, *dx = dy + values;
    bool well;

    if (zeros == NULL)
        return talk_fail(&p->talk, "cannot be tried: no memory");
    fetch(p, w, floats);
    well = embed(p, y, zeros, rows, true) &&
           (p->talk.part == PROGRAM_BOTTOM || take_back(p, dx, dy, rows)) &&
           take_step(p, dy, rows, 0) && embed(p, y, zeros, rows, false);
    fetch(p, w + floats, floats);
    give(p, w, floats);
    mem_free(zeros);
    return well && !talk_over(&p->talk);
}

static bool begin(struct program *p)
{
    size_t bytes = 0;
    float *w;

    if (!init(p, &bytes) || !give_room(p, bytes))
        return false;
    w = mem_alloc(program_floats(p), 2 * sizeof *w);
    if (w == NULL)
        return talk_fail(&p->talk, "cannot be tried: no memory");
    p->talk.tried = try_it(p, w, program_floats(p));
    p->talk.spent_us = 0;
    p->fresh = false; /* of what was fetched nothing is left */
    mem_free(w);
    return p->talk.tried;
}

static void end_job(struct program *p)
{
    room_free(&p->rows);
    room_free(&p->state);
    p->shape.plan = NULL;
    if (p->talk.used)
        talk_end(&p->talk);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* With zeros it may be as slow as the patience of others lets it be, for what it does once; later
 * no slower than a round lets it be, and of that half is for the rest of the work. */
static void set_limits(struct program *p, const struct plan *plan)
{
    const uint32_t patience = plan->protocol.patience_ms,
                   round = plan->protocol.straggler == STRAGGLER_WAIT
                               ? patience
                               : least(patience, plan->protocol.deadline_ms);

    p->talk.limit_ms = least(p->timeout_ms, patience / 2);
    p->talk.work_ms = round / 2;
    p->talk.spent_us = 0;
}

enum status program_begin(struct program *p, const struct program_shape *shape, struct error *err)
{
    enum status s;

    end_job(p); /* of one that could not begin, too */
    s = program_start(p, err);
    if (s != STATUS_OK)
        return err->status = STATUS_IO; /* which nobody else is told */
    p->talk.used = true;
    p->job++;
    p->talk.tried = p->fresh = false;
    p->talk.failed[0] = 0;
    p->shape = *shape;
    set_limits(p, shape->plan);
    if (make_rows(p) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "%s: no memory for its rows",
                         talk_part(p->talk.part)->key);
    if (begin(p))
        return STATUS_OK;
    return error_set(err, STATUS_IO, "%s: it %s", talk_part(p->talk.part)->key, p->talk.failed);
}

const struct nn_outside *program_outside(const struct program *p)
{
    return &p->outside;
}

size_t program_floats(const struct program *p)
{
    return outside_floats(p->state.bytes);
}

uint64_t program_job(const struct program *p)
{
    return p->job;
}

void program_end(struct program *p, uint64_t job)
{
    struct error none = {0};

    if (job != p->job)
        return;
    end_job(p);
    if (p->stands && p->talk.fd < 0 &&
        p->talk.starter.start(p->talk.starter.owner, &p->talk.fd, &none) != STATUS_OK)
        log_error("%s: %s", talk_part(p->talk.part)->key, none.text);
}

void program_round(struct program *p)
{
    if (p != NULL)
        p->talk.spent_us = 0;
}

enum status program_take(struct program *p, struct nn_net *net, const uint8_t *bytes, size_t n,
                         struct error *err)
{
    struct nn_layer *l = &net->layer[0];

    if (n > OUTSIDE_BYTES_MAX || outside_floats(n) > nn_layer_params(l))
        return error_set(err, STATUS_IO, "%zu bytes, more than a state of the program has", n);
    outside_pack(l->w, nn_layer_params(l), bytes, n);
    p->talk.tried = false; /* what fails now is told, as with zeros */
    nn_net_give(net);
    p->talk.tried = true;
    return !talk_over(&p->talk) ? STATUS_OK
                                : error_set(err, STATUS_IO, "the program %s", p->talk.failed);
}

const char *program_failed(const struct program *p)
{
    return p != NULL && talk_over(&p->talk) ? p->talk.failed : NULL;
}

enum status program_tell(const struct program *p, struct error *err)
{
    if (program_failed(p) == NULL)
        return STATUS_OK;
    return error_set(err, STATUS_IO, "%s: it %s; %s were zeros from then on",
                     talk_part(p->talk.part)->key, p->talk.failed, talk_part(p->talk.part)->zeros);
}

void program_pardon(struct program *p)
{
    if (p != NULL)
        p->talk.failed[0] = 0;
}

/* --- life --- */

static enum status start_by_keeper(void *owner, int *fd, struct error *err)
{
    return keeper_start(owner, fd, err);
}

static void kill_by_keeper(void *owner, uint32_t limit_ms, char ended[KEEPER_ENDED_MAX])
{
    keeper_kill(owner, limit_ms, ended);
}

enum status program_new_with(struct program **p, enum program_part part,
                             const struct program_starter *starter, uint32_t timeout_ms,
                             struct error *err)
{
    struct program *one = mem_alloc(1, sizeof *one);

    if (one == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", talk_part(part)->key,
                         status_words(STATUS_MEMORY));
    one->keeper.fd = one->talk.fd = one->rows.fd = one->state.fd = -1;
    one->talk.starter = *starter;
    one->timeout_ms = timeout_ms;
    one->talk.part = part;
    one->outside = (struct nn_outside){.owner = one,
                                       .forward = forward,
                                       .back = part == PROGRAM_HEAD ? back : NULL,
                                       .step = step,
                                       .fetch = fetch,
                                       .give = give};
    *p = one;
    return STATUS_OK;
}

enum status program_new(struct program **p, enum program_part part, const struct config_program *c,
                        bool stands, struct error *err)
{
    struct program_starter by_keeper = {NULL, start_by_keeper, kill_by_keeper, NULL};
    enum status s;

    *p = NULL;
    if (c->command.n == 0)
        return STATUS_OK;
    s = program_new_with(p, part, &by_keeper, c->timeout_ms, err);
    if (s != STATUS_OK)
        return s;
    (*p)->talk.starter.owner = &(*p)->keeper;
    (*p)->stands = stands;
    s = keeper_fork(&(*p)->keeper, c, err);
    return s == STATUS_OK ? s : error_wrap(err, "%s", talk_part(part)->key);
}

void program_free(struct program *p)
{
    if (p == NULL)
        return;
    end_job(p);
    talk_close(&p->talk);
    keeper_close(&p->keeper);
    mem_free(p);
}
