/* meeting.c -- a job that is new here: what it is about is kept, what this party has of it read,
 * and its state made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/meeting.h"

#include "common/base/log.h"
#include "common/flow/job.h"
#include "party/session.h"
#include "party/standing.h"

#include <string.h>

void party_meeting_free_job(struct party_session *p)
{
    if (p->job != NULL)
        p->job->free(p->state);
}

enum status party_meeting_new_job(struct party_session *p, const struct party_job *job)
{
    void *state = NULL;
    enum status s = job->new (&state, &p->host);

    p->setup.saved = (struct party_saved){0};
    if (s != STATUS_OK)
        return p->error.status != STATUS_OK
                   ? s
                   : error_set(&p->error, s, "session: %s", status_words(s));
    party_meeting_free_job(p);
    p->job = job;
    p->state = state;
    p->ended = p->taken = p->unmet = false;
    return STATUS_OK;
}

/* Nothing that another job of this process has left in memory is this one's. */
static void forget_job(struct party_session *p)
{
    party_forget_job(&p->fed);
    p->error = (struct error){0};
    p->accused = 0;
    p->gave_up = p->dismissed = false;
    p->spans = (struct spans){0};
}

/* What an offer points to goes with the message that it came in. */
static enum status keep_offer(struct party_meeting *m, const struct wire_offer *o)
{
    const size_t text = o->job.text.n, members = o->members.n;
    const uint8_t *at;

    m->offer = *o;
    m->bytes.len = 0;
    if (buf_append(&m->bytes, o->job.text.data, text) != STATUS_OK ||
        buf_append(&m->bytes, o->members.data, members) != STATUS_OK ||
        buf_append(&m->bytes, o->element, WIRE_ELEMENT_BYTES) != STATUS_OK ||
        buf_append(&m->bytes, o->playing, WIRE_DIGEST_BYTES) != STATUS_OK)
        return STATUS_MEMORY;
    at = m->bytes.data;
    m->offer.job.text.data = at;
    m->offer.members.data = at + text;
    m->offer.element = at + text + members;
    m->offer.playing = m->offer.element + WIRE_ELEMENT_BYTES;
    return STATUS_OK;
}

bool party_meeting_begin(struct party_session *p, const struct wire_offer *o)
{
    forget_job(p);
    p->unmet = true;
    p->meeting.read = STATUS_OK;
    if (p->setup.recall == NULL)
        return false;
    if (keep_offer(&p->meeting, o) == STATUS_OK)
        p->meeting.under_way = true;
    else
        p->meeting.read = error_set(&p->error, STATUS_MEMORY, "no memory for an offer");
    return p->meeting.under_way;
}

void party_meeting_read(struct party_session *p)
{
    const struct wire_job *j = &p->meeting.offer.job;
    uint8_t digest[WIRE_DIGEST_BYTES];

    job_digest(digest, j->kind, j->text.data, j->text.n);
    p->meeting.read = p->setup.recall(p->setup.owner, j, digest, &p->setup, &p->error);
}

enum status party_meeting_make(struct party_session *p, const struct wire_offer *o,
                               const struct party_job *job)
{
    enum status s = p->meeting.read;

    if (s == STATUS_OK)
        s = party_meeting_new_job(p, job);
    if (s == STATUS_OK && o->step == 0 && party_session_report(p)->progress.final)
        s = party_meeting_new_job(p, job); /* what was saved is taken, so it has none of it */
    party_standing_note(p, s == STATUS_OK);
    return s;
}
