/* init.c -- a job of alignment is made, and unmade.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/align/align.h"

#include "common/base/mem.h"
#include "common/flow/job.h"

static enum status init(struct server_align *p, const struct server_setup *setup)
{
    const size_t members = setup->roster->n + 1;
    enum status s = alignment_print(&p->about, &p->text);

    if (s != STATUS_OK)
        return s;
    job_digest(p->digest, JOB_ALIGN, p->text.data, p->text.len);
    p->tallies = mem_alloc(members, TALLY_BYTES);
    for (size_t i = 0; i < members && s == STATUS_OK; i++) {
        p->given[i].entries = mem_alloc(1, WIRE_ENTRIES_MAX);
        s = p->given[i].entries == NULL ? STATUS_MEMORY : STATUS_OK;
    }
    return p->tallies == NULL ? STATUS_MEMORY : s;
}

enum status server_align_new(struct server_align **out, const struct server_setup *setup,
                             struct server_federation *fed, struct error *err)
{
    struct server_align *p = mem_alloc(1, sizeof *p);
    enum status s;

    if (p == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for an alignment");
    p->fed = fed;
    p->ids = *setup->aligns;
    p->about = *p->ids.about;
    buf_init(&p->text, WIRE_JOB_TEXT_MAX);
    s = init(p, setup);
    if (s != STATUS_OK) {
        server_align_free(p);
        return error_set(err, s, "an alignment: %s", status_words(s));
    }
    *out = p;
    return STATUS_OK;
}

void server_align_free(struct server_align *p)
{
    if (p == NULL)
        return;
    server_align_forget(p);
    for (size_t i = 0; i < ALIGN_MEMBERS_MAX; i++)
        mem_free(p->given[i].entries);
    mem_free(p->tallies);
    buf_deinit(&p->text);
    mem_free(p);
}

/* Ids are not compared beforehand: they are what it is about. */
struct server_terms server_align_terms(const struct server_align *p,
                                       const struct server_setup *setup)
{
    static const struct table none = {0};
    return (struct server_terms){
        .roster = setup->roster,
        .kind = JOB_ALIGN,
        .text = {p->text.data, p->text.len},
        .digest = p->digest,
        .straggler = STRAGGLER_WAIT,
        .patience_ms = p->about.patience_ms,
        .deadline_ms = p->about.patience_ms,
        .smallest = (uint32_t)setup->roster->n,
        .train_rows = SERVER_ROWS_OWN,
        .train = &none,
        .test = &none,
        .counts = setup->counts,
        .id_mismatches = setup->id_mismatches,
    };
}

struct server_alignment server_align_result(const struct server_align *p)
{
    struct server_alignment r = {
        .about = &p->about, .members = p->course.members, .size = p->listed, .steps = p->rounds};

    if (!p->complete)
        return r;
    r.transcript = p->transcript;
    r.common = p->found;
    return r;
}
