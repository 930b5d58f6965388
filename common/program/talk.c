/* talk.c -- one question at a time, an answer in time, and the end of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/talk.h"

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { END_MS = 200 };

/* In messages: which key it is of, what it gives, what is zeros without it. */
static const struct talk_part parts[] = {
    [PROGRAM_BOTTOM] = {"model.program", "an embedding", "this party's embeddings"},
    [PROGRAM_HEAD] = {"model.head_program", "an output", "the head's outputs"},
};

const struct talk_part *talk_part(enum program_part part)
{
    return &parts[part];
}

bool talk_over(const struct talk *k)
{
    return k->failed[0] != 0;
}

/* --- failures --- */

void talk_close(struct talk *k)
{
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    k->greeted = k->used = false;
}

static void end_process(struct talk *k, char ended[KEEPER_ENDED_MAX])
{
    const uint32_t limit_ms = k->tried && k->work_ms / 2 < END_MS ? k->work_ms / 2 : END_MS;

    k->starter.kill(k->starter.owner, limit_ms, ended);
    talk_close(k);
}

bool talk_fail(struct talk *k, const char *fmt, ...)
{
    va_list args;
    char ended[KEEPER_ENDED_MAX];

    if (talk_over(k))
        return false;
    va_start(args, fmt);
    vsnprintf(k->failed, sizeof k->failed, fmt, args);
    va_end(args);
    end_process(k, ended);
    if (k->tried)
        log_error("%s: it %s (ended: %s): %s are zeros from now to the end of the job",
                  parts[k->part].key, k->failed, ended, parts[k->part].zeros);
    return false;
}

/* --- questions --- */

static bool send_question(struct talk *k, const struct speech *s, int with)
{
    uint8_t bytes[SPEECH_BYTES];

    speech_pack(bytes, s);
    return keeper_send(k->fd, bytes, sizeof bytes, with, MSG_DONTWAIT);
}

static bool take_answer(struct talk *k, struct speech *s)
{
    const enum speech_kind kind = s->kind;
    uint8_t bytes[SPEECH_BYTES];
    const char *why;
    ssize_t n;

    do
        n = recv(k->fd, bytes, sizeof bytes, MSG_TRUNC | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return talk_fail(k, "is gone in the middle of %s", speech_name(kind));
    if (!speech_unpack(s, bytes, (size_t)n, &why))
        return talk_fail(k, "answers %s with what %s", speech_name(kind), why);
    if (s->kind != kind || s->number != k->asked || s->part == SPEECH_ASKS)
        return talk_fail(k, "answers %s with another message", speech_name(kind));
    if (s->part == SPEECH_FAILS)
        return talk_fail(k, "says that it cannot %s: what it has printed may say why",
                         speech_name(kind));
    return true;
}

static uint64_t now_us(const struct talk *k)
{
    return k->starter.clock_us != NULL ? k->starter.clock_us(k->starter.owner) : clock_us();
}

/* Others wait for what a piece of work makes, however many questions it takes. */
static bool is_spent(const struct talk *k)
{
    return k->tried && k->spent_us > (uint64_t)k->work_ms * 1000;
}

static uint32_t limit_of(const struct talk *k, uint32_t limit_ms)
{
    const uint64_t left = is_spent(k) ? 0 : (uint64_t)k->work_ms - k->spent_us / 1000;

    return k->tried && left < limit_ms ? (uint32_t)left : limit_ms;
}

/* s becomes the answer.  with: a descriptor that goes along; -1: none. */
bool talk_ask(struct talk *k, struct speech *s, int with, uint32_t limit_ms)
{
    const enum speech_kind kind = s->kind;
    const uint64_t start = now_us(k);
    bool answers;

    if (talk_over(k))
        return false;
    s->part = SPEECH_ASKS;
    s->number = ++k->asked;
    if (!send_question(k, s, with))
        return talk_fail(k, "is gone before %s", speech_name(kind));
    answers = keeper_await(k->fd, limit_of(k, limit_ms));
    k->spent_us += now_us(k) - start;
    if (is_spent(k) || (!answers && limit_of(k, limit_ms) < limit_ms))
        return talk_fail(k, "takes more than %u ms in one piece of work, in %s", k->work_ms,
                         speech_name(kind));
    if (!answers)
        return talk_fail(k, "does not answer %s within %u ms", speech_name(kind), limit_ms);
    return take_answer(k, s);
}

bool talk_ask_about(struct talk *k, enum speech_kind kind, uint64_t value)
{
    struct speech s = {.kind = kind};

    s.value[0].whole = value;
    return talk_ask(k, &s, -1, k->limit_ms);
}

void talk_end(struct talk *k)
{
    const struct speech s = {.kind = SPEECH_END, .part = SPEECH_ASKS, .number = k->asked + 1};
    char ended[KEEPER_ENDED_MAX];

    if (k->fd >= 0 && send_question(k, &s, -1))
        keeper_await(k->fd, END_MS); /* it closes its end */
    end_process(k, ended);
}
