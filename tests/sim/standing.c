/* standing.c -- jobs for processes that stand, and what is kept of each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/standing.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/flow/job.h"
#include "party/checkpoint.h"
#include "tests/sim/disk.h"
#include "tests/sim/life.h"
#include "tests/sim/probe_server.h"
#include "tests/sim/world.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 32 };

/* Of the runs that are not on a process' disk just now. */
struct shelf {
    bool any;
    uint8_t now[WIRE_DIGEST_BYTES]; /* what the disk is of */
    uint8_t digest[RUNS_MAX][WIRE_DIGEST_BYTES];
    struct sim_disk run[RUNS_MAX];
    size_t n;
};

struct standing {
    bool plays;
    struct standing_job job;
    uint8_t digest[WIRE_DIGEST_BYTES]; /* of a probe */
    struct probe_server probe;
    struct shelf server, party[SIM_PARTIES_MAX];
};

struct standing *standing_new(void)
{
    struct standing *st = mem_alloc(1, sizeof *st);

    CHECK(st != NULL);
    return st;
}

static void free_shelf(struct shelf *h)
{
    for (size_t i = 0; i < h->n; i++)
        disk_deinit(&h->run[i]);
}

void standing_free(struct standing *st)
{
    if (st == NULL)
        return;
    free_shelf(&st->server);
    for (size_t i = 0; i < SIM_PARTIES_MAX; i++)
        free_shelf(&st->party[i]);
    secagg_server_free(st->probe.sum);
    mem_free(st);
}

/* --- what is kept of each run --- */

static struct sim_disk *run_of(struct shelf *h, const uint8_t digest[WIRE_DIGEST_BYTES])
{
    for (size_t i = 0; i < h->n; i++) {
        if (memcmp(h->digest[i], digest, WIRE_DIGEST_BYTES) == 0)
            return &h->run[i];
    }
    CHECK(h->n < RUNS_MAX);
    memcpy(h->digest[h->n], digest, WIRE_DIGEST_BYTES);
    disk_init(&h->run[h->n]);
    return &h->run[h->n++];
}

static void swap_runs(struct sim_disk *a, struct sim_disk *b)
{
    struct buf saved = a->saved, before = a->before;
    struct sim_records journal = a->journal;

    a->saved = b->saved;
    a->before = b->before;
    a->journal = b->journal;
    b->saved = saved;
    b->before = before;
    b->journal = journal;
}

/* Nothing of the run before is being written any more: its end has waited for that. */
static void turn_to(struct sim_disk *disk, struct shelf *h, const uint8_t digest[WIRE_DIGEST_BYTES])
{
    CHECK(disk->durable_us == 0);
    if (h->any)
        swap_runs(disk, run_of(h, h->now));
    swap_runs(disk, run_of(h, digest));
    memcpy(h->now, digest, WIRE_DIGEST_BYTES);
    h->any = true;
}

enum status standing_recall(void *owner, const struct wire_job *job,
                            const uint8_t digest[WIRE_DIGEST_BYTES], struct party_setup *setup,
                            struct error *err)
{
    struct sim_party *p = owner;
    struct sim_disk *disk = &p->disk;

    (void)job;
    (void)err;
    turn_to(disk, &p->world->standing->party[p->self], digest);
    if (disk->saved.len > 0)
        setup->saved = (struct party_saved){.last = disk->saved.data,
                                            .last_n = disk->saved.len,
                                            .before = disk->before.data,
                                            .before_n = disk->before.len};
    return STATUS_OK;
}

static bool is_complete(enum wire_outcome outcome)
{
    return outcome == OUTCOME_COMPLETED || outcome == OUTCOME_TARGET;
}

/* As server_run_end has it. */
static void server_ended(struct sim *s, enum wire_outcome outcome)
{
    if (is_complete(outcome) || !server_session_opened(s->server)) {
        s->disk.saved.len = s->disk.before.len = 0;
        disk_lose_records(s, SIZE_MAX);
        s->lost = false;
    } else if (server_session_sound(s->server)) {
        s->disk.saved.len = 0;
        CHECK(server_session_save(s->server, &s->disk.saved) == STATUS_OK);
    }
}

/* As party_run_end has it. */
static void party_ended(struct sim_party *p, enum wire_outcome outcome)
{
    struct buf older = p->disk.before;

    if (!party_checkpoint_needed(party_session_report(p->session), outcome)) {
        p->disk.saved.len = p->disk.before.len = 0;
        return;
    }
    p->disk.before = p->disk.saved;
    p->disk.saved = older;
    p->disk.saved.len = 0;
    CHECK(party_session_save(p->session, &p->disk.saved) == STATUS_OK);
}

void standing_ended(struct sim *s, int who, const struct action *finish)
{
    struct standing *st = s->standing;

    if (who != SIM_SERVER) {
        party_ended(&s->party[who], finish->outcome);
        return;
    }
    if (st->plays && st->job.kind == STANDING_TRAIN)
        server_ended(s, finish->outcome);
    st->plays = false;
}

/* --- jobs --- */

static void begin_train(struct sim *s)
{
    struct standing *st = s->standing;
    struct server_setup setup;
    uint8_t digest[WIRE_DIGEST_BYTES];
    struct error err = {0};
    struct buf text;

    buf_init(&text, PLAN_TEXT_MAX);
    s->plan = st->job.plan;
    CHECK(plan_print(&s->plan, &text) == STATUS_OK);
    job_digest(digest, JOB_TRAIN, text.data, text.len);
    buf_deinit(&text);
    turn_to(&s->disk, &st->server, digest);
    setup = world_server_setup(s);
    CHECK(server_session_train(s->server, &setup, &err) == STATUS_OK);
    world_restore_server(s);
}

static void begin_probe(struct sim *s)
{
    struct standing *st = s->standing;
    const char *text = st->job.numbers;
    const size_t n = strlen(text);
    const struct server_terms terms = {
        .roster = &s->roster,
        .kind = PROBE,
        .text = {(const uint8_t *)text, n},
        .digest = st->digest,
        .straggler = STRAGGLER_WAIT,
        .patience_ms = s->plan.protocol.patience_ms,
        .deadline_ms = s->plan.protocol.deadline_ms,
        .smallest = 2,
        .train_rows = s->plan.shape.train_rows,
        .test_rows = s->plan.shape.test_rows,
        .train = &s->train,
        .test = &s->test,
        .counts = compared_counts(&s->disk.compared),
        .id_mismatches = s->id_mismatches,
    };

    job_digest(st->digest, PROBE, text, n);
    secagg_server_free(st->probe.sum);
    st->probe = (struct probe_server){.values = (uint32_t)strtoul(text, NULL, 10)};
    st->probe.fed = world_federation(s);
    server_session_play(s->server, &terms, &probe_server_job, &st->probe);
}

void standing_again(struct sim *s)
{
    if (!s->standing->plays)
        return;
    if (s->standing->job.kind == STANDING_TRAIN)
        begin_train(s);
    else
        begin_probe(s);
}

void standing_play(struct sim *s, const struct standing_job *job)
{
    CHECK(!s->standing->plays && world_up(s, SIM_SERVER) && !world_works(s, SIM_SERVER));
    s->standing->job = *job;
    s->standing->plays = true;
    standing_again(s);
    world_tell_server(s, &(struct event){.kind = EVENT_START});
}

bool standing_plays(const struct sim *s)
{
    return s->standing->plays;
}

void standing_start(struct sim *s, int who)
{
    struct sim_end *end = who == SIM_SERVER ? &s->server_end : &s->party[who].end;

    CHECK(end->over);
    end->over = false;
    life_start(s, who);
}
