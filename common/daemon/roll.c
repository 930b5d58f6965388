/* roll.c -- entries, padding, and sections.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/daemon/roll.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"

#include <stdio.h>
#include <string.h>

enum { LINES_MAX = 1 << 30 };
/* Of a row: to be matched; the second of an id that is in common, and in no pass from then on; in
 * the alignment that is extended, which of labelled rows is listed for its number's sake; in
 * common.
 */
enum { FREE, LEFT_OUT, OLD, FOUND };

/* --- opened --- */

static enum status find_keys(struct roll *r, struct error *err)
{
    const struct idlist *l = r->ids;

    for (uint32_t i = 0; i < r->about.keys_n; i++) {
        const struct alignment_key *key = &r->about.key[i];
        uint32_t k = 0;

        while (k < l->keys_n && strcmp(l->key[k].name, key->name) != 0)
            k++;
        if (k == l->keys_n)
            return error_set(err, STATUS_CONFIG,
                             "align.key: no key \"%s\", which the server's alignment goes by",
                             key->name);
        if (l->key[k].form.columns != key->columns)
            return error_set(err, STATUS_CONFIG,
                             "align.key: %u columns make an id%s%s, and at the server %u do",
                             l->key[k].form.columns, l->named ? " by " : "",
                             l->named ? key->name : "", key->columns);
        r->key[i] = k;
    }
    return STATUS_OK;
}

static enum status check_old(const struct roll *r, struct error *err)
{
    const struct aligned *a = &r->old.file;

    if (memcmp(a->transcript, r->about.extended, sizeof a->transcript) != 0)
        return error_set(err, STATUS_CONFIG,
                         "alignment %s is another one here than at the server: let all sides align "
                         "anew",
                         a->name);
    if (a->labelled != (r->about.rows == CONFIG_ROWS_LABELLED))
        return error_set(err, STATUS_CONFIG, "alignment %s is of %s rows, and extended by %s ones",
                         a->name, a->labelled ? "labelled" : "common",
                         a->labelled ? "common" : "labelled");
    if (a->labelled && r->ids->as.duplicates == CONFIG_DUPLICATES_ALL)
        return error_set(err, STATUS_CONFIG,
                         "align.duplicates: all: labelled rows are not extended so: the second of "
                         "an id here need not be the second of the new ones");
    if (a->sections_n + r->ids->keys_n > ALIGNED_SECTIONS_MAX)
        return error_set(err, STATUS_CONFIG,
                         "alignment %s has too many sections to be extended: let all sides align "
                         "anew",
                         a->name);
    return STATUS_OK;
}

/* Who is gone since is no reason to refuse: others would see that somebody is. */
static void warn_of_gone(const struct placed *p)
{
    uint32_t gone = 0;

    for (uint32_t i = 0; i < p->file.n; i++)
        gone += p->times[i] == 0 && p->file.size[i] > 0;
    if (gone > 0)
        log_warn("%u rows of alignment %s are no longer in align.table: what extends it has them "
                 "all the same, and training refuses such a table (a full alignment leaves them "
                 "out)",
                 gone, p->file.name);
}

static enum status mark_old(struct roll *r, const char *state, struct error *err)
{
    struct error own = {0};
    enum status s = placed_open_added(&r->old, state, r->about.extends, &own);

    if (s != STATUS_OK) {
        log_error("%s", own.text);
        return error_set(err, s, "alignment %s is not there, or cannot be read", r->about.extends);
    }
    s = check_old(r, err);
    if (s == STATUS_OK)
        s = placed_mark(&r->old, r->ids, r->state, err);
    for (uint32_t i = 0; s == STATUS_OK && i < r->ids->n; i++)
        r->state[i] = r->state[i] != 0 ? OLD : FREE;
    if (s == STATUS_OK && !r->old.file.labelled)
        warn_of_gone(&r->old);
    return s;
}

static enum status make_room(struct roll *r, struct error *err)
{
    const uint32_t n = r->ids->n;

    buf_init(&r->lines, LINES_MAX);
    r->state = mem_alloc(n, 1);
    r->entry = mem_alloc(n, sizeof *r->entry);
    r->rows = mem_alloc(n, ALIGN_ROW_BYTES);
    r->occurrence = mem_alloc(n, sizeof *r->occurrence);
    r->lead = mem_alloc(n, sizeof *r->lead);
    r->order = mem_alloc(n, sizeof *r->order);
    if (r->state == NULL || r->entry == NULL || r->rows == NULL || r->occurrence == NULL ||
        r->lead == NULL || r->order == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for a list of %u ids", n);
    return rng_init_system(&r->rng);
}

/* All that is not in the extended alignment; where others have the labels of rows, all; and where
 * this side has them, those that can be found. */
static void list_all(struct roll *r)
{
    const bool labelled = r->about.rows == CONFIG_ROWS_LABELLED;

    r->n = 0;
    for (uint32_t i = 0; i < r->ids->n; i++) {
        if (labelled && r->labels && !idlist_has(r->ids, r->key[0], i))
            continue;
        if (r->state[i] != OLD || (labelled && !r->labels))
            r->entry[r->n++] = i;
    }
}

/* By one key second rows are not even listed; by several they may be found by another. */
static void list_first(struct roll *r)
{
    uint32_t n = 0;

    list_all(r);
    if (r->ids->as.duplicates != CONFIG_DUPLICATES_FIRST || r->about.keys_n > 1)
        return;
    idlist_occurrences(r->ids, r->key[0], r->entry, r->n, r->order, r->occurrence);
    for (uint32_t e = 0; e < r->n; e++) {
        if (r->occurrence[e] == 0)
            r->entry[n++] = r->entry[e];
    }
    r->n = n;
}

enum status roll_open(struct roll *r, const struct idlist *ids, const char *state,
                      const struct alignment *about, bool labels, struct error *err)
{
    enum status s;

    *r = (struct roll){.ids = ids, .about = *about, .labels = labels};
    s = make_room(r, err);
    if (s == STATUS_OK)
        s = find_keys(r, err);
    if (s == STATUS_OK && about->extends[0] != 0)
        s = mark_old(r, state, err);
    if (s != STATUS_OK)
        return s;
    list_first(r);
    r->listed = r->n;
    if ((labels ? r->n : about->ids) > ALIGN_IDS_MAX - r->old.file.n)
        return error_set(err, STATUS_CONFIG,
                         "alignment %s: with those that are listed it may have more rows than %d",
                         about->extends, ALIGN_IDS_MAX);
    return r->n > 0 ? s
                    : error_set(err, STATUS_DATA, "no id to be listed%s%s",
                                about->extends[0] != 0 ? " that is not in alignment " : "",
                                about->extends);
}

void roll_close(struct roll *r)
{
    if (r->rows != NULL)
        secret_wipe(r->rows, (size_t)r->ids->n * ALIGN_ROW_BYTES);
    mem_free(r->rows);
    mem_free(r->state);
    mem_free(r->entry);
    mem_free(r->occurrence);
    mem_free(r->lead);
    mem_free(r->order);
    secret_buf_deinit(&r->lines);
    rng_deinit(&r->rng);
    placed_close(&r->old);
    *r = (struct roll){.n = 0};
}

/* --- a pass --- */

static bool counts(const struct roll *r, uint32_t key, uint32_t e)
{
    return r->state[r->entry[e]] == FREE && idlist_has(r->ids, key, r->entry[e]);
}

static bool is_second(const struct roll *r, uint32_t e)
{
    return r->ids->as.duplicates == CONFIG_DUPLICATES_FIRST && r->occurrence[e] > 0;
}

/* The others are padding. */
static bool takes_part(const struct roll *r, uint32_t key, uint32_t e)
{
    return counts(r, key, e) && !is_second(r, e);
}

/* The how manieth of its id each entry is among those that count, and which is the first.  All are
 * sorted, so that how long it takes does not tell how many count. */
static void number(struct roll *r, uint32_t key, uint32_t *occurrence)
{
    uint32_t times = 0, lead = 0;

    idlist_occurrences(r->ids, key, r->entry, r->n, r->order, occurrence);
    for (uint32_t i = 0; i < r->n; i++) {
        const uint32_t e = r->order[i];
        const bool one = counts(r, key, e);

        times = occurrence[e] == 0 ? 0 : times;
        lead = times == 0 ? e : lead;
        r->occurrence[e] = one ? times : 0;
        r->lead[e] = lead;
        times += one;
    }
}

/* What stands for that entry; padding is made beside what it is in the place of, for time's sake.
 */
static void write_row(struct roll *r, uint32_t key, uint32_t e)
{
    uint8_t *to = r->rows + (size_t)e * ALIGN_ROW_BYTES, noise[ALIGN_ROW_BYTES];

    rng_fill(&r->rng, noise, sizeof noise);
    memcpy(to, r->ids->key[key].ids + (size_t)r->entry[e] * ALIGN_ROW_BYTES, ALIGN_ROW_BYTES);
    idlist_number(to, r->occurrence[e]);
    if (!takes_part(r, key, e))
        memcpy(to, noise, sizeof noise);
    secret_wipe(noise, sizeof noise);
}

enum status roll_pass(struct roll *r, uint32_t pass, struct error *err)
{
    const uint32_t key = r->key[pass];
    uint32_t *of = mem_alloc(r->ids->n, sizeof *of);

    CHECK(pass < r->about.keys_n);
    if (pass == 0) {
        for (uint32_t i = 0; i < r->ids->n; i++)
            r->state[i] = r->state[i] == OLD ? OLD : FREE;
        list_first(r);
        r->sections_n = 0;
        secret_wipe(r->lines.data, r->lines.len);
        r->lines.len = 0;
    }
    if (of == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for a list of ids");
    number(r, key, of);
    for (uint32_t e = 0; e < r->n; e++)
        write_row(r, key, e);
    mem_free(of);
    return STATUS_OK;
}

/* --- its end --- */

/* By place: an entry, or ALIGN_NOWHERE.  One that a lying member has moved to padding goes to the
 * first entry that has none: the result is spoilt as by any other move, and who is padding shows in
 * no refusal. */
static void order_entries(const struct roll *r, uint32_t key, const uint32_t *places,
                          uint32_t *entry, uint32_t n)
{
    uint32_t spare = 0;

    for (uint32_t p = 0; p < n; p++)
        entry[p] = ALIGN_NOWHERE;
    for (uint32_t e = 0; e < r->n; e++) {
        if (places[e] != ALIGN_NOWHERE)
            entry[places[e]] = e;
    }
    for (uint32_t p = 0; p < n; p++) {
        if (entry[p] == ALIGN_NOWHERE || takes_part(r, key, entry[p]))
            continue;
        while (spare < r->n && (places[spare] != ALIGN_NOWHERE || !takes_part(r, key, spare)))
            spare++;
        if (spare < r->n)
            entry[p] = spare++;
    }
}

static enum status add_lines(struct roll *r, uint32_t key, const uint32_t *entry, uint32_t n)
{
    const struct idlist_key *k = &r->ids->key[key];
    enum status s = STATUS_OK;

    for (uint32_t p = 0; p < n && s == STATUS_OK; p++) {
        const bool there = entry[p] != ALIGN_NOWHERE && takes_part(r, key, entry[p]);
        const uint32_t row = there ? r->entry[entry[p]] : 0;
        const size_t from = there ? k->at[row] : 0, bytes = there ? k->at[row + 1] - from : 0;

        s = aligned_line(&r->lines, r->ids->as.duplicates, there ? r->occurrence[entry[p]] : 0,
                         there ? k->text.data + from : NULL, bytes);
    }
    return s;
}

static void write_section(const struct roll *r, uint32_t key, uint32_t n, struct aligned_section *s)
{
    const struct idlist_key *k = &r->ids->key[key];

    *s = (struct aligned_section){.columns = k->form.columns,
                                  .trim = r->ids->as.trim,
                                  .fold = r->ids->as.fold,
                                  .unicode = r->ids->as.unicode,
                                  .duplicates = r->ids->as.duplicates,
                                  .n = n};
    snprintf(s->key, sizeof s->key, "%s", k->columns);
}

/* What is in common is listed no more. */
static void strike(struct roll *r, uint32_t key, const uint32_t *entry, uint32_t common)
{
    uint32_t n = 0;

    for (uint32_t p = 0; p < common; p++) {
        if (entry[p] != ALIGN_NOWHERE)
            r->state[r->entry[entry[p]]] = FOUND;
    }
    for (uint32_t e = 0; e < r->n; e++) {
        if (counts(r, key, e) && is_second(r, e) && r->state[r->entry[r->lead[e]]] == FOUND)
            r->state[r->entry[e]] = LEFT_OUT;
    }
    for (uint32_t e = 0; e < r->n; e++) {
        if (r->state[r->entry[e]] != FOUND)
            r->entry[n++] = r->entry[e];
    }
    r->n = n;
}

enum status roll_take(struct roll *r, uint32_t pass, uint32_t common, const uint32_t *places,
                      struct error *err)
{
    uint32_t *entry = mem_alloc(common, sizeof *entry);
    enum status s = entry == NULL ? STATUS_MEMORY : STATUS_OK;

    if (s == STATUS_OK) {
        order_entries(r, r->key[pass], places, entry, common);
        s = add_lines(r, r->key[pass], entry, common);
    }
    if (s == STATUS_OK && common > 0)
        write_section(r, r->key[pass], common, &r->section[r->sections_n++]);
    if (s == STATUS_OK)
        strike(r, r->key[pass], entry, common);
    mem_free(entry);
    return s == STATUS_OK ? s : error_set(err, s, "an alignment: %s", status_words(s));
}

uint32_t roll_rows(const struct roll *r)
{
    uint32_t n = r->old.file.n;

    for (uint32_t k = 0; k < r->sections_n; k++)
        n += r->section[k].n;
    return n;
}

/* Those of the extended alignment, the new ones, and one of no rows for each key of this side that
 * has none yet: whether it matched anything, or was tried, its columns are no features. */
static uint32_t all_sections(const struct roll *r, struct aligned_section *out)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < r->old.file.sections_n; k++) {
        if (r->old.file.section[k].n > 0)
            out[n++] = r->old.file.section[k];
    }
    for (uint32_t k = 0; k < r->sections_n; k++)
        out[n++] = r->section[k];
    for (uint32_t k = 0; k < r->ids->keys_n; k++) {
        uint32_t i = 0;

        while (i < n && strcmp(out[i].key, r->ids->key[k].columns) != 0)
            i++;
        if (i == n)
            write_section(r, k, 0, &out[n++]);
    }
    return n;
}

enum status roll_keep(const struct roll *r, const char *state, const uint8_t *transcript,
                      struct error *err)
{
    const struct aligned *old = &r->old.file;
    struct aligned_section section[ALIGNED_SECTIONS_MAX];
    const struct aligned_result kept = {.name = r->about.name,
                                        .transcript = transcript,
                                        .labelled = r->about.rows == CONFIG_ROWS_LABELLED,
                                        .section = section,
                                        .sections_n = all_sections(r, section),
                                        .lines = &r->lines};
    struct aligned_result whole = kept;
    struct buf lines;
    enum status s = STATUS_OK;

    buf_init(&lines, LINES_MAX);
    if (old->n > 0) /* behind it stands a final 0 */
        s = buf_append(&lines, old->text.data + old->lines, old->text.len - old->lines - 1);
    if (s == STATUS_OK && old->n > 0)
        s = buf_append(&lines, r->lines.data, r->lines.len);
    whole.lines = old->n > 0 ? &lines : &r->lines;
    s = s == STATUS_OK ? aligned_keep(state, &whole, err)
                       : error_set(err, s, "alignment %s: %s", kept.name, status_words(s));
    secret_buf_deinit(&lines);
    return s;
}

enum status roll_print(const struct idlist *ids, struct buf *out)
{
    enum status s = STATUS_OK;

    for (uint32_t k = 0; k < ids->keys_n && s == STATUS_OK; k++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < ids->n; i++)
            n += idlist_has(ids, k, i);
        s = buf_printf(out, "# %u ids, of %u columns each%s%s\n", n, ids->key[k].form.columns,
                       ids->named ? " by key " : "", ids->named ? ids->key[k].name : "");
    }
    return s;
}
