/* program.c -- questions, answers with a time limit, and zeros when there are no more.
 *
 * One thread at a time: a party's work is one piece at a time, and what is kept is asked for
 * between two.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/program/program.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "party/program/room.h"
#include "party/program/speech.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FAILED_MAX = 200, END_MS = 200, TRIAL_ROWS = 2 };

struct program {
    struct keeper keeper; /* -1: others start it */
    struct program_starter starter;
    bool stands; /* one job after another: the next process is started when one is over */
    uint32_t timeout_ms;
    uint32_t limit_ms;  /* of a job: timeout_ms, or less */
    uint32_t work_ms;   /* of a job: for all answers of one piece of work */
    uint64_t spent_us;  /* of it, in this one */
    int fd;             /* -1: no process */
    bool greeted, used; /* it has said hello; it has had a job */
    bool tried;         /* in a job: on zeros; what fails now is told to nobody else */
    uint64_t asked;     /* questions so far */
    uint64_t job;       /* jobs so far */
    struct program_shape shape;
    struct room rows, state;
    float *x, *y, *dy;       /* in `rows` */
    uint32_t last;           /* rows of the last forward of a step */
    bool fresh;              /* what was fetched last is what it has */
    char failed[FAILED_MAX]; /* "": not */
    struct nn_outside outside;
};

/* --- failures --- */

static void close_socket(struct program *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    p->greeted = p->used = false;
}

static void end_process(struct program *p, char ended[KEEPER_ENDED_MAX])
{
    const uint32_t limit_ms = p->tried && p->work_ms / 2 < END_MS ? p->work_ms / 2 : END_MS;

    p->starter.kill(p->starter.owner, limit_ms, ended);
    close_socket(p);
}

static bool fail(struct program *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The first reason stands.  Returns false. */
static bool fail(struct program *p, const char *fmt, ...)
{
    va_list args;
    char ended[KEEPER_ENDED_MAX];

    if (p->failed[0] != 0)
        return false;
    va_start(args, fmt);
    vsnprintf(p->failed, sizeof p->failed, fmt, args);
    va_end(args);
    end_process(p, ended);
    if (p->tried)
        log_error("model.program: it %s (ended: %s): this party's embeddings are zeros from now to "
                  "the end of the job",
                  p->failed, ended);
    return false;
}

/* --- questions --- */

static bool send_question(struct program *p, const struct speech *s, int with)
{
    uint8_t bytes[SPEECH_BYTES];
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    speech_pack(bytes, s);
    if (with >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        control.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof with), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), &with, sizeof with);
    }
    return sendmsg(p->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof bytes;
}

static bool take_answer(struct program *p, struct speech *s)
{
    const enum speech_kind kind = s->kind;
    uint8_t bytes[SPEECH_BYTES];
    const char *why;
    ssize_t n;

    do
        n = recv(p->fd, bytes, sizeof bytes, MSG_TRUNC | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return fail(p, "is gone in the middle of %s", speech_name(kind));
    if (!speech_unpack(s, bytes, (size_t)n, &why))
        return fail(p, "answers %s with what %s", speech_name(kind), why);
    if (s->kind != kind || s->number != p->asked || s->part == SPEECH_ASKS)
        return fail(p, "answers %s with another message", speech_name(kind));
    if (s->part == SPEECH_FAILS)
        return fail(p, "says that it cannot %s: what it has printed may say why",
                    speech_name(kind));
    return true;
}

static uint64_t now_us(const struct program *p)
{
    return p->starter.clock_us != NULL ? p->starter.clock_us(p->starter.owner) : clock_us();
}

/* Others wait for what a piece of work makes, however many questions it takes. */
static bool is_spent(const struct program *p)
{
    return p->tried && p->spent_us > (uint64_t)p->work_ms * 1000;
}

static uint32_t limit_of(const struct program *p, uint32_t limit_ms)
{
    const uint64_t left = is_spent(p) ? 0 : (uint64_t)p->work_ms - p->spent_us / 1000;

    return p->tried && left < limit_ms ? (uint32_t)left : limit_ms;
}

/* s becomes the answer.  with: a descriptor that goes along; -1: none. */
static bool ask(struct program *p, struct speech *s, int with, uint32_t limit_ms)
{
    const enum speech_kind kind = s->kind;
    const uint64_t start = now_us(p);
    bool answers;

    if (p->failed[0] != 0)
        return false;
    s->part = SPEECH_ASKS;
    s->number = ++p->asked;
    if (!send_question(p, s, with))
        return fail(p, "is gone before %s", speech_name(kind));
    answers = keeper_await(p->fd, limit_of(p, limit_ms));
    p->spent_us += now_us(p) - start;
    if (is_spent(p) || (!answers && limit_of(p, limit_ms) < limit_ms))
        return fail(p, "takes more than %u ms in one piece of work, in %s", p->work_ms,
                    speech_name(kind));
    if (!answers)
        return fail(p, "does not answer %s within %u ms", speech_name(kind), limit_ms);
    return take_answer(p, s);
}

static bool ask_about(struct program *p, enum speech_kind kind, uint64_t value)
{
    struct speech s = {.kind = kind};

    s.value[0].whole = value;
    return ask(p, &s, -1, p->limit_ms);
}

/* --- memory --- */

/* Rows, then embeddings, then gradients, each from a multiple of 64 bytes on. */
static enum status make_rows(struct program *p)
{
    const struct program_shape *s = &p->shape;
    size_t x, y, bytes;
    enum status made;

    if (__builtin_mul_overflow((size_t)s->rows_max * sizeof *p->x, s->inputs, &x) ||
        __builtin_mul_overflow((size_t)s->rows_max * sizeof *p->y, s->outputs, &y) ||
        x > SIZE_MAX / 4 || y > SIZE_MAX / 8)
        return STATUS_MEMORY;
    x = (x + MEM_ALIGNMENT - 1) & ~(size_t)(MEM_ALIGNMENT - 1);
    y = (y + MEM_ALIGNMENT - 1) & ~(size_t)(MEM_ALIGNMENT - 1);
    bytes = x + 2 * y;
    made = room_make(&p->rows, bytes);
    if (made != STATUS_OK)
        return made;
    p->x = (float *)(void *)p->rows.at;
    p->y = (float *)(void *)(p->rows.at + x);
    p->dy = (float *)(void *)(p->rows.at + x + y);
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

    if (p->failed[0] != 0)
        return false;
    if (rows > p->shape.rows_max)
        return fail(p, "cannot be asked about %u rows, more than it was told", rows);
    memcpy(p->x, x, (size_t)rows * p->shape.inputs * sizeof *x);
    memset(p->y, 0xff, values * sizeof *y); /* NaNs: a value that it leaves out is none */
    if (!ask_about(p, training ? SPEECH_FORWARD : SPEECH_EVALUATE, rows))
        return false;
    memcpy(y, p->y, values * sizeof *y);
    seen_once();
    if (!all_finite(y, values))
        return fail(p, "gives an embedding with a value that is not finite, or missing");
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

static bool take_step(struct program *p, const float *dy, uint32_t rows, float rate)
{
    struct speech s = {.kind = SPEECH_STEP};

    if (p->failed[0] != 0)
        return false;
    if (rows != p->last)
        return fail(p, "is to take a step with other rows than its last ones");
    memcpy(p->dy, dy, (size_t)rows * p->shape.outputs * sizeof *dy);
    s.value[ROWS_N].whole = rows;
    s.value[STEP_RATE].real = (double)rate;
    p->fresh = false;
    return ask(p, &s, -1, p->limit_ms);
}

static void step(void *owner, const float *dy, uint32_t rows, float learning_rate)
{
    (void)take_step(owner, dy, rows, learning_rate);
}

/* The bytes of its state, in p->state; false: it has failed. */
static bool save(struct program *p, size_t *n)
{
    struct speech s = {.kind = SPEECH_SAVE};

    if (!ask(p, &s, -1, p->limit_ms))
        return false;
    if (s.value[STATE_BYTES].whole > p->state.bytes)
        return fail(p, "saves %llu bytes, more than the %zu it said at first",
                    (unsigned long long)s.value[STATE_BYTES].whole, p->state.bytes);
    *n = (size_t)s.value[STATE_BYTES].whole;
    return true;
}

static void fetch(void *owner, float *w, size_t floats)
{
    struct program *p = owner;
    size_t n = 0;

    if (p->rows.at != NULL && p->failed[0] == 0 && p->fresh)
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

    if (p->rows.at == NULL || p->failed[0] != 0)
        return;
    if (!outside_unpack(p->state.at, p->state.bytes, &n, &lost, w, floats) || n > p->state.bytes)
        (void)fail(p, "is to go on from what is no state of its");
    else if (lost)
        (void)fail(p, "has failed before, in what this job goes on from");
    else
        p->fresh = ask_about(p, SPEECH_LOAD, n);
}

/* --- a job --- */

static enum status greet(struct program *p, struct error *err)
{
    struct speech hello = {.kind = SPEECH_HELLO};
    const uint32_t limit_ms = p->greeted ? p->timeout_ms : PROGRAM_START_MS;
    enum status s = STATUS_OK;

    p->failed[0] = 0;
    p->tried = false;
    if (p->fd < 0)
        s = p->starter.start(p->starter.owner, &p->fd, err);
    if (s != STATUS_OK)
        return s;
    p->greeted = ask(p, &hello, -1, limit_ms);
    return p->greeted ? STATUS_OK
                      : error_set(err, STATUS_CONFIG, "model.program: it %s", p->failed);
}

/* One that has waited for a job may have ended meanwhile, for whatever reason. */
enum status program_start(struct program *p, struct error *err)
{
    const bool waited = p->fd >= 0;
    const enum status s = greet(p, err);

    if (s == STATUS_OK || !waited)
        return s;
    log_warn("%s, where it has waited for a job: another one is started", err->text);
    *err = (struct error){0};
    return greet(p, err);
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
    s.value[INIT_STATE_MAX].whole = OUTSIDE_BYTES_MAX;
    if (!ask(p, &s, p->rows.fd, p->limit_ms))
        return false;
    n = s.value[STATE_BYTES].whole;
    if (n > OUTSIDE_BYTES_MAX)
        return fail(p, "has a state of %llu bytes, and %d are the most", (unsigned long long)n,
                    OUTSIDE_BYTES_MAX);
    *bytes = (size_t)n;
    return true;
}

static bool give_room(struct program *p, size_t bytes)
{
    struct speech s = {.kind = SPEECH_ROOM};

    if (room_make(&p->state, bytes > 0 ? bytes : 1) != STATUS_OK)
        return fail(p, "cannot be given memory for its state");
    s.value[STATE_BYTES].whole = p->state.bytes;
    return ask(p, &s, p->state.fd, p->limit_ms);
}

/* Each thing that it will be asked for, on zeros; and back to what it was. */
static bool try_it(struct program *p, float *w, size_t floats)
{
    const uint32_t rows = p->shape.rows_max < TRIAL_ROWS ? p->shape.rows_max : TRIAL_ROWS;
    const size_t values = (size_t)rows * p->shape.outputs;
    float *zeros = mem_alloc((size_t)rows * p->shape.inputs + 2 * values, sizeof *zeros);
    float *y = zeros + (size_t)rows * p->shape.inputs;
    bool well;

    if (zeros == NULL)
        return fail(p, "cannot be tried: no memory");
    fetch(p, w, floats);
    well = embed(p, y, zeros, rows, true) && take_step(p, y + values, rows, 0) &&
           embed(p, y, zeros, rows, false);
    fetch(p, w + floats, floats);
    give(p, w, floats);
    mem_free(zeros);
    return well && p->failed[0] == 0;
}

static bool begin(struct program *p)
{
    size_t bytes = 0;
    float *w;

    if (!init(p, &bytes) || !give_room(p, bytes))
        return false;
    w = mem_alloc(program_floats(p), 2 * sizeof *w);
    if (w == NULL)
        return fail(p, "cannot be tried: no memory");
    p->tried = try_it(p, w, program_floats(p));
    p->spent_us = 0;
    p->fresh = false; /* of what was fetched nothing is left */
    mem_free(w);
    return p->tried;
}

static void end_job(struct program *p)
{
    struct speech s = {.kind = SPEECH_END, .part = SPEECH_ASKS, .number = p->asked + 1};
    char ended[KEEPER_ENDED_MAX];

    room_free(&p->rows);
    room_free(&p->state);
    p->shape.plan = NULL;
    if (!p->used)
        return;
    if (p->fd >= 0 && send_question(p, &s, -1))
        keeper_await(p->fd, END_MS); /* it closes its end */
    end_process(p, ended);
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

    p->limit_ms = least(p->timeout_ms, patience / 2);
    p->work_ms = round / 2;
    p->spent_us = 0;
}

enum status program_begin(struct program *p, const struct program_shape *shape, struct error *err)
{
    enum status s;

    if (p->used)
        end_job(p);
    s = program_start(p, err);
    if (s != STATUS_OK)
        return err->status = STATUS_IO; /* which nobody else is told */
    p->used = true;
    p->job++;
    p->tried = p->fresh = false;
    p->failed[0] = 0;
    p->shape = *shape;
    set_limits(p, shape->plan);
    if (make_rows(p) != STATUS_OK)
        return error_set(err, STATUS_MEMORY, "model.program: no memory for its rows");
    if (begin(p))
        return STATUS_OK;
    return error_set(err, STATUS_IO, "model.program: it %s", p->failed);
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
    if (p->stands && p->fd < 0 && p->starter.start(p->starter.owner, &p->fd, &none) != STATUS_OK)
        log_error("%s", none.text);
}

void program_round(struct program *p)
{
    if (p != NULL)
        p->spent_us = 0;
}

void program_on_trial(struct program *p, bool on)
{
    p->tried = !on;
}

const char *program_failed(const struct program *p)
{
    return p != NULL && p->failed[0] != 0 ? p->failed : NULL;
}

void program_pardon(struct program *p)
{
    if (p != NULL)
        p->failed[0] = 0;
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

enum status program_new_with(struct program **p, const struct program_starter *starter,
                             uint32_t timeout_ms, struct error *err)
{
    struct program *one = mem_alloc(1, sizeof *one);

    if (one == NULL)
        return error_set(err, STATUS_MEMORY, "model.program: %s", status_words(STATUS_MEMORY));
    one->keeper.fd = one->fd = one->rows.fd = one->state.fd = -1;
    one->starter = *starter;
    one->timeout_ms = timeout_ms;
    one->outside = (struct nn_outside){one, forward, step, fetch, give};
    *p = one;
    return STATUS_OK;
}

enum status program_new(struct program **p, const struct config_party *c, struct error *err)
{
    struct program_starter by_keeper = {NULL, start_by_keeper, kill_by_keeper, NULL};
    enum status s;

    *p = NULL;
    if (c->program.n == 0)
        return STATUS_OK;
    s = program_new_with(p, &by_keeper, c->program_timeout_ms, err);
    if (s != STATUS_OK)
        return s;
    (*p)->starter.owner = &(*p)->keeper;
    (*p)->stands = c->stand;
    return keeper_fork(&(*p)->keeper, c, err);
}

void program_free(struct program *p)
{
    if (p == NULL)
        return;
    end_job(p);
    close_socket(p);
    keeper_close(&p->keeper);
    mem_free(p);
}
