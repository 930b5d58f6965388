/* speaker.c -- a program that answers, until it does not.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/program/speaker.h"

#include "common/base/check.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a process has of its job. */
struct job {
    uint32_t inputs, outputs, last;
    float *x, *y, *dy, *dx, *w, *kept; /* kept: the rows of the last forward */
    uint8_t *state;
    size_t bytes; /* of w */
};

bool speaker_can(enum speaker_deed deed, enum speech_kind at)
{
    const bool embeds = at == SPEECH_FORWARD || at == SPEECH_EVALUATE || at == SPEECH_BACK;

    if (deed == SPEAKER_SAYS_NAN || deed == SPEAKER_SAYS_INFINITY || deed == SPEAKER_LEAVES_OUT)
        return embeds;
    if (deed == SPEAKER_SIZE)
        return at == SPEECH_INIT || at == SPEECH_SAVE;
    return deed != SPEAKER_LARGE || at == SPEECH_SAVE;
}

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static void *map(int fd, size_t n)
{
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return at == MAP_FAILED ? NULL : at;
}

static void begin(struct job *j, const struct speech *s, int fd)
{
    const size_t rows = (size_t)s->value[INIT_ROWS].whole;
    const bool head = s->value[INIT_HEAD].whole == 1;
    size_t x, y;

    j->inputs = (uint32_t)s->value[INIT_INPUTS].whole;
    j->outputs = (uint32_t)s->value[INIT_OUTPUTS].whole;
    x = aligned(4 * rows * j->inputs);
    y = aligned(4 * rows * j->outputs);
    j->x = map(fd, x + 2 * y + (head ? x : 0));
    if (j->x == NULL || ftruncate(fd, 0) == 0) /* the party has seen to it that nobody can */
        _exit(9);
    j->y = j->x + x / 4;
    j->dy = j->y + y / 4;
    j->dx = head ? j->dy + y / 4 : NULL;
    j->bytes = 4 * (size_t)j->inputs * j->outputs;
    j->w = malloc(j->bytes);
    j->kept = malloc(x);
    for (size_t i = 0; i < (size_t)j->inputs * j->outputs; i++)
        j->w[i] = 0.25F * (float)((i * 7 + s->value[INIT_SEED].whole % 5) % 5) - 0.5F;
}

static void embed(struct job *j, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t o = 0; o < j->outputs; o++) {
            float sum = 0;

            for (uint32_t i = 0; i < j->inputs; i++)
                sum += j->x[r * j->inputs + i] * j->w[i * j->outputs + o];
            j->y[r * j->outputs + o] = sum;
        }
}

static void go_back(struct job *j, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < j->inputs; i++) {
            float sum = 0;

            for (uint32_t o = 0; o < j->outputs; o++)
                sum += j->dy[r * j->outputs + o] * j->w[i * j->outputs + o];
            j->dx[r * j->inputs + i] = sum;
        }
}

static void take_step(struct job *j, uint32_t rows, double rate)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < j->inputs; i++)
            for (uint32_t o = 0; o < j->outputs; o++)
                j->w[i * j->outputs + o] -=
                    (float)rate * j->kept[r * j->inputs + i] * j->dy[r * j->outputs + o];
}

/* s becomes the answer. */
static void answer(struct job *j, struct speech *s, int fd)
{
    const uint32_t rows = (uint32_t)s->value[ROWS_N].whole;
    const double rate = s->value[STEP_RATE].real;
    uint64_t said = 0;

    switch (s->kind) {
    case SPEECH_HELLO: break;
    case SPEECH_INIT:
        begin(j, s, fd);
        said = j->bytes;
        break;
    case SPEECH_ROOM: j->state = map(fd, (size_t)s->value[STATE_BYTES].whole); break;
    case SPEECH_FORWARD:
        memcpy(j->kept, j->x, 4 * (size_t)rows * j->inputs);
        embed(j, rows);
        break;
    case SPEECH_EVALUATE: embed(j, rows); break;
    case SPEECH_STEP: take_step(j, rows, rate); break;
    case SPEECH_SAVE:
        memcpy(j->state, j->w, j->bytes);
        said = j->bytes;
        break;
    case SPEECH_LOAD: memcpy(j->w, j->state, j->bytes); break;
    case SPEECH_BACK: go_back(j, rows); break;
    case SPEECH_END: _exit(0);
    case SPEECH_KINDS: break;
    }
    s->part = SPEECH_ANSWERS;
    s->value[0].whole = said;
}

/* The last value that this answer has in memory; NULL: it has none. */
static float *last_value(const struct job *j, enum speech_kind kind, uint32_t rows)
{
    if (kind == SPEECH_BACK)
        return &j->dx[(size_t)rows * j->inputs - 1];
    return kind == SPEECH_FORWARD || kind == SPEECH_EVALUATE ? &j->y[(size_t)rows * j->outputs - 1]
                                                             : NULL;
}

/* What is wrong with that value, or with the message. */
static size_t spoil(float *last, struct speech *s, uint8_t *bytes, enum speaker_deed deed)
{
    if (deed == SPEAKER_CRASHES)
        raise(SIGKILL);
    while (deed == SPEAKER_HANGS)
        pause();
    if (last != NULL && deed == SPEAKER_SAYS_NAN)
        *last = NAN;
    if (last != NULL && deed == SPEAKER_SAYS_INFINITY)
        *last = -INFINITY;
    if (last != NULL && deed == SPEAKER_LEAVES_OUT)
        memset(last, 0xff, sizeof *last);
    s->part = deed == SPEAKER_CANNOT ? SPEECH_FAILS
              : deed == SPEAKER_ASKS ? SPEECH_ASKS
                                     : SPEECH_ANSWERS;
    s->number += deed == SPEAKER_NUMBER;
    if (deed == SPEAKER_OTHER_KIND)
        s->kind = s->kind == SPEECH_LOAD ? SPEECH_STEP : SPEECH_LOAD;
    if (deed == SPEAKER_SIZE)
        s->value[0].whole = 1ull << 63;
    if (deed == SPEAKER_LARGE)
        s->value[0].whole += 1;
    speech_pack(bytes, s);
    bytes[0] = (uint8_t)(bytes[0] ^ (deed == SPEAKER_MAGIC));
    bytes[4] = (uint8_t)(bytes[4] + (deed == SPEAKER_VERSION));
    bytes[7] = (uint8_t)(bytes[7] + (deed == SPEAKER_KIND));
    bytes[16] = (uint8_t)(bytes[16] + 2 * (deed == SPEAKER_PART));
    bytes[SPEECH_BYTES - 1] = deed == SPEAKER_MORE;
    return deed == SPEAKER_SHORT  ? SPEECH_BYTES - 1
           : deed == SPEAKER_LONG ? SPEECH_BYTES + 1
                                  : SPEECH_BYTES;
}

static bool hear(int from, struct speech *s, int *fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    uint8_t bytes[SPEECH_BYTES];
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    const ssize_t n = recvmsg(from, &m, 0);
    const char *why;

    *fd = -1;
    if (n > 0 && m.msg_controllen >= CMSG_LEN(sizeof *fd))
        memcpy(fd, CMSG_DATA(&control.head), sizeof *fd);
    return n > 0 && speech_unpack(s, bytes, (size_t)n, &why);
}

static void speak(int to, const struct speaker *script)
{
    uint8_t bytes[SPEECH_BYTES + 1] = {0};
    struct job j = {0};
    struct speech s;
    uint32_t seen = 0;
    int fd;

    while (hear(to, &s, &fd)) {
        const bool now = s.kind == script->at && ++seen == script->nth;
        const uint32_t rows = (uint32_t)s.value[ROWS_N].whole;
        const enum speech_kind kind = s.kind;
        size_t n;

        if (!now || script->deed != SPEAKER_CRASHES)
            answer(&j, &s, fd);
        n = spoil(last_value(&j, kind, rows), &s, bytes, now ? script->deed : SPEAKER_WELL);
        if (send(to, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
            _exit(1);
    }
    _exit(0);
}

static enum status start(void *owner, int *fd, struct error *err)
{
    struct speaker *s = owner;
    int pair[2];

    (void)err;
    CHECK(s->pid == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    fflush(NULL);
    s->pid = fork();
    CHECK(s->pid >= 0);
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        close(pair[0]);
        speak(pair[1], s);
    }
    close(pair[1]);
    s->started++;
    *fd = pair[0];
    return STATUS_OK;
}

static void end(void *owner, uint32_t limit_ms, char ended[KEEPER_ENDED_MAX])
{
    struct speaker *s = owner;

    (void)limit_ms;
    snprintf(ended, KEEPER_ENDED_MAX, "killed");
    if (s->pid == 0)
        return;
    kill(s->pid, SIGKILL);
    CHECK(waitpid(s->pid, NULL, 0) == s->pid);
    s->pid = 0;
}

static uint64_t clock_us(void *owner)
{
    struct speaker *s = owner;

    s->now_us += s->slow_us; /* it is looked at before and behind each question */
    return s->now_us;
}

struct program_starter speaker_starter(struct speaker *s)
{
    return (struct program_starter){s, start, end, clock_us};
}
