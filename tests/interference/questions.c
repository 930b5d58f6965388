/* questions.c -- what questions.h says.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/interference/questions.h"

#include "common/daemon/placed.h"
#include "tests/sim/world.h"

#include <stdio.h>

/* Each job, and how often somebody whom the server has made unwelcome comes again. */
static const uint64_t JOB_US = 600000000, RECONNECT_US = 1000000;

/* Rows that come one after another, a few at a time: those of an open job. */
static struct rows_to_come {
    uint32_t next, end, lot;
    char text[64];
} to_come;

static uint32_t take_rows(void *owner, uint32_t most, struct wire_bytes *ids)
{
    struct rows_to_come *r = owner;
    const uint32_t left = r->end - r->next;
    size_t used = 0;

    r->lot = left < most ? left : most;
    for (uint32_t i = 0; i < r->lot; i++)
        used += (size_t)snprintf(r->text + used, sizeof r->text - used, "%u\n", r->next + i);
    *ids = (struct wire_bytes){(const uint8_t *)r->text, used};
    return r->lot;
}

/* Who comes next asks for the rows of a round that came to nothing in one half of the places. */
static bool ask_again(void *owner)
{
    const struct rows_to_come *r = owner;

    return r->next % 2 == 0;
}

static void take_scores(void *owner, const float *scores, const bool *missing)
{
    struct rows_to_come *r = owner;

    (void)scores, (void)missing;
    r->next += r->lot;
    r->lot = 0;
}

static bool has_all(void *owner)
{
    const struct rows_to_come *r = owner;

    return r->next == r->end;
}

static struct standing_question draw(const struct pair *p, struct dice *d)
{
    const uint32_t rows = p->options.predicted;
    struct standing_question q = {.first = (uint32_t)dice_between(d, 0, rows - 1),
                                  .anew = dice_percent(d, 60),
                                  .twice = dice_percent(d, 15)};
    const bool unknown = dice_percent(d, 10), absent = dice_percent(d, 12),
               denied = dice_percent(d, 20);

    q.rows = (uint32_t)dice_between(d, 1, rows - q.first);
    if (unknown)
        q.rows = rows + 1 - q.first;
    if (dice_percent(d, 70))
        q.batch = (uint32_t)dice_between(d, 1, 3);
    if (absent)
        q.absent = dice_between(d, 1, (1u << p->options.parties) - 1);
    if (dice_percent(d, 25)) {
        q.contributes = q.anew = true;
        q.mixes = dice_percent(d, 60) ? (uint32_t)dice_between(d, 1, p->options.parties) : 0;
    }
    if (!denied)
        return q;
    q.min_parties = 1; /* who would not, refuses */
    q.wait_ms = (uint32_t)dice_between(d, 1, 2000);
    q.denied = dice_between(d, 0, (1u << p->options.parties) - 1);
    return q;
}

/* A server that stands is started again; in a pair of training it never dies. */
static void draw_death(struct pair *p, struct dice *d)
{
    static const enum wire_kind down[] = {WIRE_OFFER, WIRE_HELLOS, WIRE_CONFIRMS, WIRE_BROADCAST,
                                          WIRE_BROADCAST};

    if (p->rules_n == PAIR_RULES_MAX || !dice_percent(d, 12))
        return;
    p->rule[p->rules_n++] =
        (struct sim_rule){.act = SIM_KILL,
                          .from = SIM_SERVER,
                          .party = SIM_ANY,
                          .kind = DICE_PICK(d, down),
                          .nth = (uint32_t)dice_between(d, 1, 6),
                          .how.down_us = dice_percent(d, 50) ? 0 : dice_between(d, 1, 50000)};
}

void questions_draw(struct pair *p)
{
    struct dice d = dice_of(p->seed, DRAW_QUESTIONS, 0);

    p->options.stands = true;
    p->options.reconnect_us = RECONNECT_US;
    p->options.predicted = (uint32_t)dice_between(&d, 2, 7);
    p->record = (uint32_t)dice_between(&d, 0, p->options.predicted - 1);
    p->more = 0; /* the columns are the package's */
    p->questions_n = dice_between(&d, 1, PAIR_QUESTIONS_MAX);
    for (size_t i = 0; i < p->questions_n; i++)
        p->question[i] = draw(p, &d);
    for (size_t i = 0; i < p->questions_n; i++) {
        struct dice own = dice_of(p->seed, DRAW_QUESTIONS, 1 + i);

        p->question[i].opens = dice_percent(&own, 30) && !p->question[i].contributes;
    }
    draw_death(p, &d);
}

static void start_who_was_stopped(struct sim *s)
{
    if (sim_server_end(s)->over)
        standing_start(s, SIM_SERVER);
    for (uint32_t i = 0; i < s->options.parties; i++) {
        if (sim_party_end(s, i)->over)
            standing_start(s, (int)i);
    }
}

void questions_play(const struct pair *p, struct sim *s)
{
    static const struct server_feed feed = {&to_come, take_rows, ask_again, take_scores, has_all};
    static const struct placed placed = {.file.name = "q3",
                                         .places.digest[0] = QUESTIONS_ALIGNMENT};

    for (size_t i = 0; i < p->questions_n && !standing_plays(s); i++) {
        struct standing_job job = {
            .kind = STANDING_PREDICT, .plan = p->plan, .asked = p->question[i]};

        job.asked.placed = p->placed ? &placed : NULL;
        if (job.asked.opens) {
            to_come =
                (struct rows_to_come){job.asked.first, job.asked.first + job.asked.rows, 0, ""};
            job.asked.feed = &feed;
            job.asked.idle_ms = 1000;
        }
        start_who_was_stopped(s);
        standing_play(s, &job);
        sim_run(s, JOB_US);
    }
}

void questions_print(const struct pair *p, FILE *to)
{
    for (size_t i = 0; i < p->questions_n; i++) {
        const struct standing_question *q = &p->question[i];

        fprintf(to,
                "  job %zu: %srows %u to %u of %u%s%s, rounds of %u, left out %llx, denied %llx, "
                "mixed %u\n",
                i + 1,
                q->contributes ? "contributions of "
                : q->opens     ? "as they come "
                               : "",
                q->first, q->first + q->rows - 1, p->options.predicted, q->twice ? ", twice" : "",
                q->anew ? ", those that were answered, too" : "", q->batch,
                (unsigned long long)q->absent, (unsigned long long)q->denied, q->mixes);
    }
}
