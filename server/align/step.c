/* step.c -- what goes round with one step.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/align/align.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/parallel.h"
#include "server/members.h"

#include <string.h>

static const char *name_of(const struct server_align *p, uint32_t ring)
{
    return ring == 0 ? "the server" : server_name(p->fed, p->fed->set.member[ring - 1]);
}

uint32_t server_align_common(const struct server_align *p)
{
    if (!p->told)
        return 0;
    return p->course.labelled ? p->course.size[0] : align_match_common(p->match);
}

static size_t words_bytes(const struct server_align *p)
{
    return (size_t)(p->course.members - 2) * WIRE_TAG_BYTES;
}

/* Of party `to`, by ring index, among those of all but `from`. */
static size_t word_at(uint32_t from, uint32_t to)
{
    return (size_t)(to - 1 - (to > from)) * WIRE_TAG_BYTES;
}

/* --- a step opens --- */

/* The server's own part of what is handed over with this step. */
static void give_own(struct server_align *p, const struct align_at *at)
{
    const uint32_t to = align_receiver(&p->course, at, 0);

    if (at->part == ALIGN_COLLECT) { /* to itself: the list that it was the last to raise */
        (void)align_member_gives(p->member, p->step, p->given[0].entries);
        align_match_put(p->match, at, 0, p->given[0].entries);
        return;
    }
    p->given[to].n = align_member_gives(p->member, p->step, p->given[to].entries);
    p->given[to].sealed = false;
}

static void give_compared(struct server_align *p, const struct align_at *at)
{
    for (uint32_t k = 0; k < p->course.members; k++) {
        struct align_given *g = &p->given[k];

        g->sealed = false;
        if (at->part == ALIGN_AGREE)
            g->n = 0;
        else if (p->course.labelled)
            g->n = align_member_tells(p->member, at->chunk, g->entries);
        else
            g->n = at->part == ALIGN_TELL
                       ? align_match_tell(p->match, at->chunk, g->entries)
                       : align_match_places(p->match, align_list(&p->course, at, k), at->chunk,
                                            g->entries);
    }
}

static void send_step(struct server_align *p, struct actions *a, const struct align_at *at)
{
    struct server_federation *f = p->fed;
    uint32_t stage;
    const size_t shown = align_shows_tallies(&p->course, at, &stage) ? p->course.members : 0;

    for (uint32_t m = 0; m < f->set.n; m++) {
        const struct align_given *g = &p->given[m + 1];
        struct wire_batch *b = &server_send_one(f, a, f->set.member[m], WIRE_BATCH)->msg.batch;

        *b = (struct wire_batch){.generation = f->set.generation,
                                 .step = p->base + p->step,
                                 .common = server_align_common(p)};
        if (at->part != ALIGN_COLLECT) {
            b->entries = (struct wire_bytes){g->entries, g->n};
            b->tag = (struct wire_bytes){g->tag, g->sealed ? sizeof g->tag : 0};
        }
        if (align_shows_words(at))
            b->tag = (struct wire_bytes){g->words, words_bytes(p)};
        if (shown > 0)
            b->tallies = (struct wire_bytes){p->tallies, shown * TALLY_BYTES};
    }
}

struct server_next server_align_open(struct server_align *p, struct actions *a)
{
    const struct align_at at = align_at(&p->course, p->step);

    if (align_hands(&at))
        give_own(p, &at);
    else if (at.part >= ALIGN_TELL)
        give_compared(p, &at);
    server_next_question(p->fed);
    send_step(p, a, &at);
    server_arm_phase(p->fed, a, false);
    actions_add(a, ACTION_WORK)->flops = 1e9;
    return next_of(NEXT_WAIT);
}

/* --- what members answer --- */

/* Entries that member k gives for the step `then`. */
static size_t bytes_from(const struct server_align *p, const struct align_at *then, uint32_t k)
{
    const uint32_t whose = then->part == ALIGN_COLLECT ? k : align_receiver(&p->course, then, k);
    uint32_t from;

    if (!align_hands(then))
        return 0;
    return align_range(&p->course, p->course.size[align_list(&p->course, then, whose)], then->chunk,
                       &from) *
           align_entry_bytes(then->part);
}

static bool fits(const struct server_align *p, const struct align_at *at, uint32_t k,
                 const struct wire_batch *b)
{
    const struct align_at then = align_at(&p->course, p->step + 1);
    const size_t n = bytes_from(p, &then, k);
    const bool seals = n > 0 && align_receiver(&p->course, &then, k) > 0,
               tells = at->part == ALIGN_RAISE && at->last;

    return b->step == p->base + p->step && b->entries.n == n &&
           b->tag.n == (seals                      ? (size_t)WIRE_TAG_BYTES
                        : align_shows_words(&then) ? words_bytes(p)
                                                   : 0) &&
           b->tallies.n == (tells ? (size_t)TALLY_BYTES : 0) && b->common == 0;
}

static void take_words(struct server_align *p, uint32_t k, const struct wire_batch *b)
{
    const struct align_at then = align_at(&p->course, p->step + 1);

    if (!align_shows_words(&then))
        return;
    for (uint32_t to = 1; to < p->course.members; to++) {
        if (to != k)
            memcpy(p->given[to].words + word_at(to, k), b->tag.data + word_at(k, to),
                   WIRE_TAG_BYTES);
    }
}

static void take_entries(struct server_align *p, uint32_t k, const struct wire_batch *b)
{
    const struct align_at then = align_at(&p->course, p->step + 1);
    struct align_given *g;

    if (!align_hands(&then))
        return;
    if (then.part == ALIGN_COLLECT) {
        align_match_put(p->match, &then, k, b->entries.data);
        return;
    }
    g = &p->given[align_receiver(&p->course, &then, k)];
    g->n = b->entries.n;
    if (g->n > 0)
        memcpy(g->entries, b->entries.data, g->n);
    g->sealed = b->tag.n > 0;
    if (g->sealed)
        memcpy(g->tag, b->tag.data, sizeof g->tag);
}

void server_align_open_course(struct server_align *p)
{
    align_course_init(&p->course, p->fed->set.n + 1, p->size, p->about.chunk,
                      p->about.rows == CONFIG_ROWS_LABELLED);
    p->step = 0;
    p->steps = align_steps(&p->course);
    p->told = false;
}

void server_align_forget(struct server_align *p)
{
    align_member_free(p->member);
    align_match_free(p->match);
    p->member = NULL;
    p->match = NULL;
    for (size_t i = 0; i < ALIGN_MEMBERS_MAX; i++) { /* nothing of it goes out with another */
        p->given[i].n = 0;
        p->given[i].sealed = false;
    }
}

/* To the next key. */
static void turn(struct server_align *p)
{
    align_pass_session(p->session, p->transcript, ++p->pass);
    p->base += p->steps;
    server_align_forget(p);
    server_align_open_course(p);
}

struct server_next server_align_batch(struct server_align *p, struct actions *a, uint32_t peer,
                                      const struct wire_batch *b)
{
    const struct align_at at = align_at(&p->course, p->step);
    const uint32_t k = (uint32_t)p->fed->peer[peer].member + 1;

    if (!fits(p, &at, k, b)) {
        error_set(&p->fed->error, STATUS_PROTOCOL, "%s: no answer to step %u of the alignment",
                  server_name(p->fed, peer), p->base + p->step);
        return next_of_peer(NEXT_BLAME, peer);
    }
    if (b->tallies.n > 0)
        memcpy(p->tallies + (size_t)k * TALLY_BYTES, b->tallies.data, TALLY_BYTES);
    take_entries(p, k, b);
    take_words(p, k, b);
    if (!server_answered(p->fed, peer))
        return next_of(NEXT_WAIT);
    p->step++;
    p->rounds++;
    if (p->step == p->steps && p->more) {
        turn(p);
    } else if (p->step == p->steps) {
        p->complete = true;
        return next_finish(OUTCOME_COMPLETED);
    }
    return server_align_open(p, a);
}

/* --- the server's own work --- */

static enum status blame(struct server_align *p, enum status s)
{
    if (s == STATUS_PROTOCOL)
        error_wrap(&p->fed->error, "step %u of the alignment: %s", p->base + p->step,
                   name_of(p, align_member_blamed(p->member)));
    return s;
}

/* Is each list what its last member's tally says? */
static enum status check_sums(struct server_align *p)
{
    const uint32_t n = p->course.members;
    uint8_t sum[GROUP_BYTES];

    for (uint32_t k = 1; k < n; k++) {
        const uint32_t i = (k + 1) % n;

        if (!align_sum(sum, align_match_list(p->match, i), p->course.size[i],
                       parallel_processors()) ||
            memcmp(sum, p->tallies + (size_t)k * TALLY_BYTES + TALLY_OUT, sizeof sum) != 0)
            return error_set(&p->fed->error, STATUS_PROTOCOL,
                             "%s: shows another list than the one that it raised", name_of(p, k));
    }
    return STATUS_OK;
}

static enum status compare(struct server_align *p)
{
    uint32_t whose = 0;
    enum status s = check_sums(p);

    if (s != STATUS_OK)
        return s;
    if (align_match_compare(p->match, &whose) != STATUS_OK)
        return error_set(
            &p->fed->error, STATUS_PROTOCOL,
            "the list of %s has a point twice: its own doing, or of one that raised it",
            name_of(p, whose));
    log_info("alignment %s: %u rows are in all %u lists, by key %s", p->about.name,
             align_match_common(p->match), p->course.members, p->about.key[p->pass].name);
    if (align_match_common(p->match) < p->about.result_min) {
        if (p->found == 0 && p->pass + 1 == p->about.keys_n)
            return error_set(&p->fed->error, STATUS_POLICY,
                             "policy.align.min_result: fewer rows in common than %u",
                             p->about.result_min);
        align_match_none(p->match);
    }
    p->told = true;
    return align_member_common(p->member, align_match_common(p->match), &p->fed->error);
}

/* Its list, and a key of its own. */
static enum status begin_pass(struct server_align *p)
{
    const struct alignment_list *l = &p->ids.list;
    struct align_setup setup = {
        .course = &p->course, .self = 0, .session = p->session, .threads = parallel_processors()};
    struct error *err = &p->fed->error;
    enum status s = STATUS_OK;

    if (p->pass > 0)
        s = l->count(l->owner, &p->about, ALIGNMENT_PASS, err);
    if (s == STATUS_OK)
        s = l->rows(l->owner, p->pass, &setup.rows, err);
    if (s != STATUS_OK)
        return s;
    s = align_member_new(&p->member, &setup);
    if (s == STATUS_OK && !p->course.labelled)
        s = align_match_new(&p->match, &p->course);
    return s == STATUS_OK ? s : error_set(err, s, "an alignment: %s", status_words(s));
}

static enum status end_pass(struct server_align *p)
{
    const struct alignment_list *l = &p->ids.list;
    const uint32_t common = server_align_common(p);

    memcpy(p->transcript, align_member_transcript(p->member), sizeof p->transcript);
    p->found += common;
    p->more = p->pass + 1 < p->about.keys_n &&
              align_left(p->course.members, p->size, common, p->about.result_min);
    return l->take(l->owner, p->pass, common, align_member_places(p->member), &p->fed->error);
}

void server_align_work(void *state, struct actions *out)
{
    struct server_align *p = state;
    const struct align_at at = align_at(&p->course, p->step);
    uint32_t stage;
    enum status s = p->member == NULL ? begin_pass(p) : STATUS_OK;

    (void)out;
    if (s == STATUS_OK && align_shows_tallies(&p->course, &at, &stage))
        s = blame(p, align_member_check(p->member, stage, p->tallies, &p->fed->error));
    if (s == STATUS_OK)
        s = blame(p, align_member_take(p->member, p->step, p->given[0].entries,
                                       align_member_expects(p->member, p->step), &p->fed->error));
    if (s == STATUS_OK && at.part == ALIGN_RAISE && at.last)
        memcpy(p->tallies, align_member_tally(p->member), TALLY_BYTES);
    if (s == STATUS_OK && alignment_tells(&at))
        s = p->ids.list.count(p->ids.list.owner, &p->about, ALIGNMENT_TOLD, &p->fed->error);
    if (s == STATUS_OK && at.part == ALIGN_COLLECT && at.last)
        s = compare(p);
    if (s == STATUS_OK && at.part == ALIGN_HOME && at.last) {
        p->told = true;
        s = align_member_common(p->member, server_align_common(p), &p->fed->error);
    }
    if (s == STATUS_OK && p->step + 1 == p->steps)
        s = end_pass(p);
    p->worked = s;
}

struct server_next server_align_worked(struct server_align *p, struct actions *a)
{
    (void)a;
    return next_of(p->worked == STATUS_OK ? NEXT_WAIT : NEXT_FAIL);
}
