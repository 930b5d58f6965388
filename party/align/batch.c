/* batch.c -- a step: what was sent is opened, worked on, and what follows is sealed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/align/parts.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/parallel.h"

#include <string.h>

/* Ring index of a member of the set, and back: the server is 0. */
static uint32_t self_of(const struct party_align *p)
{
    return p->set->self + 1;
}

static const char *name_of(const struct party_align *p, uint32_t ring)
{
    const struct roster *r = p->setup->roster;

    return ring == 0 ? r->server.name : r->party[p->set->members[ring - 1]].name;
}

/* --- what comes in --- */

static size_t words_bytes(const struct party_align *p)
{
    return (size_t)(p->set->members_n - 1) * WIRE_TAG_BYTES;
}

/* 0: nobody seals what comes with this step. */
static uint32_t sealer(const struct party_align *p, const struct align_at *at)
{
    return at->part == ALIGN_COLLECT || !align_hands(at) ? 0
                                                         : align_sender(&p->course, at, self_of(p));
}

/* Too few by one key are told as none. */
static enum status check_common(struct party_align *p, const struct wire_batch *b)
{
    const uint32_t least = p->setup->config->align.result_min;
    const bool none = b->common == 0 && (p->found > 0 || p->pass + 1 < p->about.keys_n);
    enum status s = align_member_common(p->member, b->common, p->error);

    p->common = b->common;
    if (s == STATUS_OK && b->common < least && !none)
        return error_set(p->error, STATUS_POLICY,
                         "policy.align.min_result: fewer rows in common than %u", least);
    return s;
}

static enum status check_shape(const struct party_align *p, const struct wire_batch *b,
                               const struct align_at *at)
{
    uint32_t stage;
    const size_t shown = align_shows_tallies(&p->course, at, &stage) ? p->course.members : 0,
                 tallies = shown * TALLY_BYTES,
                 tag = align_shows_words(at)                   ? words_bytes(p)
                       : sealer(p, at) > 0 && p->entries_n > 0 ? WIRE_TAG_BYTES
                                                               : 0;

    if (b->entries.n == p->entries_n && b->tallies.n == tallies && b->tag.n == tag)
        return STATUS_OK;
    return error_set(p->error, STATUS_PROTOCOL,
                     "step %u of the alignment: %zu bytes of entries, %zu of tallies and %zu of a "
                     "tag where %zu, %zu and %zu belong",
                     p->base + p->step, b->entries.n, b->tallies.n, b->tag.n, p->entries_n, tallies,
                     tag);
}

static enum status altered(const struct party_align *p, uint32_t from)
{
    return error_set(p->error, STATUS_INTEGRITY,
                     "step %u of the alignment: what %s sealed does not open: it was altered on "
                     "its way, or %s has been shown something else than this party",
                     p->base + p->step, name_of(p, from), name_of(p, from));
}

static enum status open_words(struct party_align *p, const struct wire_batch *b)
{
    uint8_t nothing[1] = {0};

    for (uint32_t k = 0; k < p->set->members_n; k++) {
        if (k != p->set->self && !share_open(&p->keys, k, nothing, nothing, 0,
                                             b->tag.data + share_part(&p->keys, k, WIRE_TAG_BYTES)))
            return altered(p, k + 1);
    }
    return STATUS_OK;
}

static enum status open_entries(struct party_align *p, const struct wire_batch *b,
                                const struct align_at *at)
{
    const uint32_t from = sealer(p, at);

    if (p->entries_n == 0)
        return STATUS_OK;
    if (from == 0) {
        memcpy(p->entries, b->entries.data, p->entries_n);
        return STATUS_OK;
    }
    if (share_open(&p->keys, from - 1, p->entries, b->entries.data, p->entries_n, b->tag.data))
        return STATUS_OK;
    return altered(p, from);
}

/* --- what goes out --- */

static void seal_words(struct party_align *p, struct wire_batch *b)
{
    uint8_t nothing[1] = {0};

    share_seal_all(&p->keys, nothing, p->tag, 0);
    b->tag = (struct wire_bytes){p->tag, words_bytes(p)};
}

/* For the next step, with the tally of a stage that has ended. */
static enum status answer(struct party_align *p, struct actions *a, const struct align_at *at)
{
    const uint32_t next = p->step + 1;
    const struct align_at then = align_at(&p->course, next);
    const struct secagg_round round = {.purpose = ALIGN_PURPOSE,
                                       .round = p->base + next,
                                       .sid = p->set->sid,
                                       .broadcast = p->view};
    struct action *send = actions_add(a, ACTION_SEND);
    struct wire_batch *b = &send->msg.batch;
    uint32_t to = 0;
    enum status s = STATUS_OK;

    send->msg.kind = WIRE_BATCH;
    *b = (struct wire_batch){.generation = p->set->generation, .step = p->base + p->step};
    if (at->part == ALIGN_RAISE && at->last)
        b->tallies = (struct wire_bytes){align_member_tally(p->member), TALLY_BYTES};
    if (next < p->steps)
        s = share_begin(&p->keys, &round);
    if (s == STATUS_OK && align_shows_words(&then))
        seal_words(p, b);
    if (s != STATUS_OK || next == p->steps || !align_hands(&then))
        return s;
    to = align_receiver(&p->course, &then, self_of(p));
    b->entries = (struct wire_bytes){p->out, align_member_gives(p->member, next, p->out)};
    if (to > 0 && b->entries.n > 0) {
        share_seal(&p->keys, to - 1, p->out, b->entries.n, p->tag);
        b->tag = (struct wire_bytes){p->tag, WIRE_TAG_BYTES};
    }
    return s;
}

/* --- a step --- */

enum status align_take_batch(struct party_align *p, struct actions *a, const struct wire_batch *b)
{
    struct align_at at;
    enum status s = STATUS_OK;

    if (b->generation != p->set->generation || b->step != p->base + p->step || p->step >= p->steps)
        return error_set(p->error, STATUS_PROTOCOL, "step %u of an alignment where %u is next",
                         b->step, p->base + p->step);
    at = align_at(&p->course, p->step);
    if (at.part >= ALIGN_TELL)
        s = check_common(p, b);
    if (s != STATUS_OK)
        return s;
    p->entries_n = p->member != NULL ? align_member_expects(p->member, p->step) : 0;
    s = check_shape(p, b, &at);
    if (s == STATUS_OK)
        s = open_entries(p, b, &at);
    if (s == STATUS_OK && align_shows_words(&at))
        s = open_words(p, b);
    p->tallies.len = 0;
    if (s == STATUS_OK && b->tallies.n > 0 &&
        buf_append(&p->tallies, b->tallies.data, b->tallies.n) != STATUS_OK)
        s = error_set(p->error, STATUS_MEMORY, "no memory for tallies");
    /* While this step is worked on the next one's entries are on their way; those of another stage
     * are made by its last step. */
    if (s == STATUS_OK && !at.last)
        s = answer(p, a, &at);
    if (s != STATUS_OK)
        return s;
    p->work = ALIGN_TAKES;
    actions_add(a, ACTION_WORK)->flops = at.part == ALIGN_COLLECT ? 0 : 1e9;
    return STATUS_OK;
}

static enum status blame(struct party_align *p, enum status s)
{
    if (s == STATUS_PROTOCOL)
        error_wrap(p->error, "step %u of the alignment: %s", p->base + p->step,
                   name_of(p, align_member_blamed(p->member)));
    return s;
}

void align_open_course(struct party_align *p)
{
    align_course_init(&p->course, p->set->members_n + 1, p->size, p->about.chunk,
                      p->about.rows == CONFIG_ROWS_LABELLED);
    p->step = 0;
    p->steps = align_steps(&p->course);
    memcpy(p->view, p->session, sizeof p->view);
}

/* Its list, and a key of its own. */
static enum status begin_pass(struct party_align *p)
{
    const struct alignment_list *l = &p->setup->listed.list;
    struct align_setup setup = {.course = &p->course,
                                .self = self_of(p),
                                .session = p->session,
                                .threads = parallel_processors()};
    enum status s = STATUS_OK;

    if (p->pass > 0)
        s = l->count(l->owner, &p->about, ALIGNMENT_PASS, p->error);
    if (s == STATUS_OK)
        s = l->rows(l->owner, p->pass, &setup.rows, p->error);
    if (s != STATUS_OK)
        return s;
    s = align_member_new(&p->member, &setup);
    return s == STATUS_OK ? s : error_set(p->error, s, "an alignment: %s", status_words(s));
}

/* What is in common by this key, and whether another one is tried on the rest. */
static enum status end_pass(struct party_align *p)
{
    const struct party_ids_listed *l = &p->setup->listed;
    enum status s =
        l->list.take(l->list.owner, p->pass, p->common, align_member_places(p->member), p->error);

    p->found += p->common;
    p->more = p->pass + 1 < p->about.keys_n &&
              align_left(p->course.members, p->size, p->common, p->about.result_min);
    if (s == STATUS_OK && !p->more)
        s = l->keep(l->list.owner, align_member_transcript(p->member), p->error);
    return s;
}

static void turn(struct party_align *p)
{
    align_pass_session(p->session, align_member_transcript(p->member), ++p->pass);
    p->base += p->steps;
    align_member_free(p->member);
    p->member = NULL;
    align_open_course(p);
}

void align_work_step(struct party_align *p)
{
    const struct align_at at = align_at(&p->course, p->step);
    uint32_t stage;
    const struct alignment_list *l = &p->setup->listed.list;
    enum status s = p->member == NULL ? begin_pass(p) : STATUS_OK;

    if (s == STATUS_OK && align_shows_tallies(&p->course, &at, &stage))
        s = blame(p, align_member_check(p->member, stage, p->tallies.data, p->error));
    if (s == STATUS_OK)
        s = blame(p, align_member_take(p->member, p->step, p->entries, p->entries_n, p->error));
    if (s == STATUS_OK && alignment_tells(&at))
        s = l->count(l->owner, &p->about, ALIGNMENT_TOLD, p->error);
    if (s == STATUS_OK && p->step + 1 == p->steps)
        s = end_pass(p);
    p->worked = s;
}

enum status align_worked_step(struct party_align *p, struct actions *a)
{
    const struct align_at at = align_at(&p->course, p->step);
    enum status s = p->worked;

    if (s == STATUS_OK && at.last) {
        memcpy(p->view, align_member_transcript(p->member), sizeof p->view);
        s = answer(p, a, &at);
    }
    if (s != STATUS_OK)
        return s;
    p->step++;
    p->rounds++;
    p->furthest = p->base + p->step > p->furthest ? p->base + p->step : p->furthest;
    if (p->step < p->steps)
        return STATUS_OK;
    if (p->more) {
        turn(p);
        return STATUS_OK;
    }
    p->complete = p->kept = true;
    log_info("alignment %s: %u %s%s", p->about.name, p->found,
             p->about.extends[0] != 0 ? "new " : "",
             p->course.labelled ? "labelled rows" : "rows in common");
    return STATUS_OK;
}
