/* task.c -- tasks: a training step, a part of a sweep, something dealt.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/train/task.h"

#include "common/config/aggregation.h"
#include "common/data/segments.h"
#include "common/flow/agenda.h"

/* Each member's vector has an embedding for each row; under fedvs for each that its coded rows
 * stand for, padding among them. */
static struct server_task of_rows(struct server_task t, const struct plan *p)
{
    t.values = (uint64_t)t.places * aggregation_segments(p) * p->model.embedding;
    t.real = (uint64_t)t.rows * p->model.embedding;
    return t;
}

struct server_task server_task_step(const struct plan *p, struct schedule *s, uint64_t place,
                                    uint64_t batch)
{
    struct server_task t = {.purpose = PURPOSE_TRAIN, .place = place};

    t.row = schedule_batch(s, batch, &t.rows);
    t.places = aggregation_segments(p) > 1 ? s->coded_n : t.rows;
    return of_rows(t, p);
}

struct server_task server_task_part(const struct plan *p, bool test, uint64_t sweep, uint32_t place,
                                    uint32_t *room)
{
    const uint32_t most = agenda_round_places(p), left = agenda_places(p, test) - place;
    struct server_task t = {.purpose = test ? PURPOSE_EVALUATE_TEST : PURPOSE_EVALUATE_TRAIN,
                            .place = place,
                            .sweep = sweep,
                            .places = left < most ? left : most};
    struct segments segments;

    t.rows = t.places;
    if (room != NULL) { /* segment by segment: what a sum of fedvs is in */
        agenda_segments(&segments, p, test);
        t.rows = segments_range(&segments, room, place, t.places);
        t.row = room;
    }
    return of_rows(t, p);
}

struct server_task server_task_keys(void)
{
    return (struct server_task){.purpose = PURPOSE_DEAL_KEYS};
}

struct server_task server_task_data(uint64_t place, uint32_t coded_rows)
{
    return (struct server_task){
        .purpose = PURPOSE_DEAL_DATA, .place = place, .places = coded_rows, .values = coded_rows};
}

size_t server_task_row(const struct server_task *t, uint32_t r)
{
    return t->row != NULL ? t->row[r] : (size_t)t->place + r;
}
