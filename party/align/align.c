/* align.c -- the job `align` at a party: life, and what of an offer is taken.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/align/align.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/parallel.h"
#include "common/crypto/secret.h"
#include "common/flow/job.h"
#include "party/align/parts.h"

#include <inttypes.h>
#include <string.h>

/* --- an offer --- */

static enum status check_ids(const struct party_align *p, const struct alignment *of)
{
    const struct config_align *c = &p->setup->config->align;
    const uint32_t columns = p->setup->listed.columns;

    if (of->trim != c->trim || of->fold != c->fold || of->unicode != c->unicode)
        return error_set(p->error, STATUS_CONFIG,
                         "align.trim, align.fold and align.unicode are not those of %s",
                         p->setup->roster->server.name);
    if (of->columns != columns)
        return error_set(p->error, STATUS_CONFIG,
                         "align.key: %u columns make an id, and at %s %u do", columns,
                         p->setup->roster->server.name, of->columns);
    if (of->ids > c->ids_max)
        return error_set(p->error, STATUS_POLICY,
                         "policy.align.max_ids: %s lists %u ids, %u are the most",
                         p->setup->roster->server.name, of->ids, c->ids_max);
    if (of->rows == CONFIG_ROWS_COMMON && of->result_min < c->result_min)
        return error_set(p->error, STATUS_POLICY,
                         "policy.align.min_result: %s tells how many rows are common where they "
                         "are %u, and %u are the fewest",
                         p->setup->roster->server.name, of->result_min, c->result_min);
    return STATUS_OK;
}

static enum status check_rows(const struct party_align *p, const struct alignment *of)
{
    const struct config_align *c = &p->setup->config->align;

    if (!c->rows_taken[of->rows])
        return error_set(p->error, STATUS_POLICY,
                         "policy.align.rows: it does not take part in alignments of %s rows",
                         of->rows == CONFIG_ROWS_LABELLED ? "labelled" : "common");
    if (of->rows == CONFIG_ROWS_LABELLED && of->ids < c->result_min)
        return error_set(p->error, STATUS_POLICY,
                         "policy.align.min_result: fewer labelled rows than %u", c->result_min);
    return STATUS_OK;
}

static enum status check_set(const struct party_align *p)
{
    const uint32_t least = p->setup->config->policy.min_parties;

    if (p->set->members_n != p->setup->roster->n)
        return error_set(p->error, STATUS_PROTOCOL, "offer: %u of %zu parties, for an alignment",
                         p->set->members_n, p->setup->roster->n);
    if (p->set->members_n < least)
        return error_set(p->error, STATUS_POLICY,
                         "policy.min_parties: an alignment of %u parties, %u are the fewest",
                         p->set->members_n, least);
    return STATUS_OK;
}

static enum status offer(void *state, struct actions *a, const struct wire_offer *o)
{
    struct party_align *p = state;
    struct alignment about;
    uint8_t digest[WIRE_DIGEST_BYTES];
    enum status s;

    (void)a;
    if (p->setup->listed.rows == NULL)
        return error_set(p->error, STATUS_POLICY,
                         "align.table: this party takes part in no alignment");
    job_digest(digest, JOB_ALIGN, o->job.text.data, o->job.text.n);
    if (p->known && memcmp(digest, p->digest, sizeof digest) != 0)
        return error_set(p->error, STATUS_PROTOCOL, "the server changed the job in its middle");
    s = alignment_parse(&about, o->job.text.data, o->job.text.n, p->error);
    if (s == STATUS_OK)
        s = check_rows(p, &about);
    if (s == STATUS_OK)
        s = check_ids(p, &about);
    if (s == STATUS_OK)
        s = check_set(p);
    if (s != STATUS_OK)
        return s;
    p->about = about;
    p->known = true;
    p->complete = false;
    memcpy(p->digest, digest, sizeof digest);
    return STATUS_OK;
}

static const uint8_t *digest(const void *state)
{
    return ((const struct party_align *)state)->digest;
}

static void join(const void *state, struct wire_join *j)
{
    (void)state;
    (void)j;
}

/* --- a set comes together --- */

/* A playing is counted before its hello says anything. */
static enum party_next ready(void *state, struct actions *a)
{
    struct party_align *p = state;

    p->work = ALIGN_COUNTS;
    actions_add(a, ACTION_WORK)->flops = 1e9;
    return PARTY_WAIT;
}

static void say(const void *state, struct wire_hello *h)
{
    h->train_rows = ((const struct party_align *)state)->setup->listed.n;
}

static void lost(void *state)
{
    struct party_align *p = state;

    align_member_free(p->member);
    p->member = NULL;
    share_deinit(&p->keys);
    secret_wipe(p->entries, WIRE_ENTRIES_MAX);
    secret_wipe(p->out, WIRE_ENTRIES_MAX);
}

static enum status take_sizes(struct party_align *p, uint32_t size[ALIGN_MEMBERS_MAX])
{
    const uint32_t most = p->setup->config->align.ids_max,
                   all_most = p->setup->config->align.all_max;
    uint64_t all = p->about.ids;

    size[0] = p->about.ids;
    for (uint32_t m = 0; m < p->set->members_n; m++) {
        const uint32_t n = p->set->hellos[m].train_rows;
        const char *name = p->setup->roster->party[p->set->members[m]].name;

        if (n == 0 || n > ALIGN_IDS_MAX)
            return error_set(p->error, STATUS_PROTOCOL, "%s lists %u ids", name, n);
        if (m != p->set->self && n > most)
            return error_set(p->error, STATUS_POLICY,
                             "policy.align.max_ids: %s lists %u ids, %u are the most", name, n,
                             most);
        size[m + 1] = n;
        all += m == p->set->self ? 0 : n;
    }
    if (all > all_most)
        return error_set(p->error, STATUS_POLICY,
                         "policy.align.max_ids_of_all: the others list %" PRIu64
                         " ids, %u are the most",
                         all, all_most);
    return STATUS_OK;
}

static enum status begin(void *state, const struct secagg_pair *pairs)
{
    struct party_align *p = state;
    uint32_t size[ALIGN_MEMBERS_MAX];
    struct align_setup setup = {.course = &p->course,
                                .self = p->set->self + 1,
                                .rows = p->setup->listed.rows,
                                .session = p->set->sid,
                                .threads = parallel_processors()};
    enum status s = take_sizes(p, size);

    if (s == STATUS_OK && !align_course_fits(p->set->members_n + 1, size, p->about.chunk))
        s = error_set(p->error, STATUS_PROTOCOL, "an alignment of too many steps");
    if (s != STATUS_OK)
        return s;
    lost(p);
    align_course_init(&p->course, p->set->members_n + 1, size, p->about.chunk,
                      p->about.rows == CONFIG_ROWS_LABELLED);
    s = share_init(&p->keys, p->set->members_n, p->set->self, pairs);
    if (s == STATUS_OK)
        s = align_member_new(&p->member, &setup);
    p->step = 0;
    p->steps = align_steps(&p->course);
    memcpy(p->view, p->set->sid, sizeof p->view);
    return s == STATUS_OK ? s : error_set(p->error, s, "an alignment: %s", status_words(s));
}

static void confirm(const void *state, struct agree_confirm *c)
{
    (void)state;
    (void)c;
}

static enum status check(void *state, const struct wire_confirms *cs)
{
    (void)state;
    (void)cs;
    return STATUS_OK;
}

static void start(void *state)
{
    struct party_align *p = state;

    sm_move(p->sm, PHASE_ALIGN, p->set->generation);
    log_info("alignment %s: %u ids here, %u at %s", p->about.name, p->setup->listed.n, p->about.ids,
             p->setup->roster->server.name);
}

/* --- it is played --- */

static uint64_t patience_ms(const void *state)
{
    const struct party_align *p = state;

    return p->known ? 2 * (uint64_t)p->about.patience_ms : 0;
}

/* Patience is for each step, not for all of them. */
static enum party_next message(void *state, struct actions *a, const struct wire_msg *m)
{
    struct party_align *p = state;

    if (m->kind == WIRE_BATCH) {
        actions_add(a, ACTION_ARM)->after_ms = patience_ms(p);
        return align_take_batch(p, a, &m->batch) == STATUS_OK ? PARTY_WAIT : PARTY_REFUSE;
    }
    error_set(p->error, STATUS_PROTOCOL, "the server sent %s in an alignment",
              wire_kind_name(m->kind));
    return PARTY_REFUSE;
}

static void work(void *state)
{
    struct party_align *p = state;
    const struct party_ids_listed *l = &p->setup->listed;

    if (p->work == ALIGN_TAKES) {
        align_work_step(p);
        return;
    }
    p->worked =
        l->count(l->owner, &p->about, p->kept ? ALIGNMENT_AGAIN : ALIGNMENT_BEGUN, p->error);
}

static enum party_next done(void *state, struct actions *a, const struct event *e)
{
    struct party_align *p = state;

    CHECK(e->kind == EVENT_DONE);
    if (p->work == ALIGN_COUNTS)
        return p->worked == STATUS_OK ? PARTY_READY : PARTY_REFUSE;
    return align_worked_step(p, a) == STATUS_OK ? PARTY_WAIT : PARTY_REFUSE;
}

static enum party_next timer(void *state, bool connected)
{
    (void)state;
    (void)connected;
    return PARTY_FAIL;
}

/* --- its end --- */

static enum party_next dismissed(void *state, const struct wire_finish *f)
{
    struct party_align *p = state;

    (void)f;
    if (p->complete)
        return PARTY_DONE;
    error_set(p->error, STATUS_PROTOCOL, "the server ends an alignment that is not at its end");
    return PARTY_FAIL;
}

static void end(void *state, struct actions *a)
{
    (void)state;
    (void)a;
}

/* A process that comes later begins with the next offer, and with another key. */
static enum status save(const void *state, struct buf *out)
{
    (void)state;
    (void)out;
    return STATUS_OK;
}

static void report(const void *state, struct party_report *r)
{
    const struct party_align *p = state;

    r->progress = (struct party_progress){.rounds = p->rounds, .furthest = p->furthest};
    if (p->known)
        r->down_max = WIRE_BATCH_MAX;
}

/* --- life --- */

static void free_job(void *state)
{
    struct party_align *p = state;

    if (p->entries != NULL && p->out != NULL)
        lost(p);
    mem_free(p->entries);
    mem_free(p->out);
    buf_deinit(&p->tallies);
    secret_free(p, 1, sizeof *p);
}

static enum status new_job(void **state, const struct party_host *host)
{
    struct party_align *p = secret_alloc(1, sizeof *p);

    if (p == NULL)
        return STATUS_MEMORY;
    p->setup = host->setup;
    p->set = host->set;
    p->sm = host->sm;
    p->error = host->error;
    buf_init(&p->tallies, WIRE_TALLIES_MAX);
    p->entries = mem_alloc(1, WIRE_ENTRIES_MAX);
    p->out = mem_alloc(1, WIRE_ENTRIES_MAX);
    if (p->entries == NULL || p->out == NULL) {
        free_job(p);
        return STATUS_MEMORY;
    }
    *state = p;
    return STATUS_OK;
}

const struct party_job party_align_job = {
    .kind = JOB_ALIGN,
    .new = new_job,
    .free = free_job,
    .join = join,
    .offer = offer,
    .digest = digest,
    .ready = ready,
    .say = say,
    .begin = begin,
    .confirm = confirm,
    .check = check,
    .start = start,
    .message = message,
    .work = work,
    .done = done,
    .timer = timer,
    .patience_ms = patience_ms,
    .lost = lost,
    .dismissed = dismissed,
    .end = end,
    .save = save,
    .report = report,
};
