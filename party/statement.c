/* statement.c -- reading and mending the ledger between two runs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/statement.h"

#include "common/base/file.h"
#include "common/base/folder.h"
#include "common/crypto/secret.h"
#include "common/daemon/guesses.h"
#include "common/daemon/runs.h"
#include "common/privacy/ledger.h"
#include "common/privacy/ledger_print.h"
#include "party/books.h"
#include "party/checkpoint.h"
#include "party/counted.h"
#include "party/train/resume.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static enum status print_peers(const struct party_inputs *in, const struct ledger *l,
                               struct buf *out)
{
    bool any = false;
    enum status s = STATUS_OK;

    for (size_t i = 0; i < in->roster.n && s == STATUS_OK; i++) {
        const struct roster_entry *e = &in->roster.party[i];
        uint64_t seen = ledger_seen(l, e->key);

        if (seen == 0)
            continue;
        if (!any)
            s = buf_printf(out, "\n  %-20s %12s\n", "ledger of", "seen up to");
        if (s == STATUS_OK)
            s = buf_printf(out, "  %-20s %12llu\n", e->name, (unsigned long long)seen);
        any = true;
    }
    return s;
}

static enum status print_asked(const struct party_inputs *in, const struct ledger *l,
                               struct buf *out)
{
    const struct ledger_asked a = ledger_asked(l);

    return a.day == 0
               ? STATUS_OK
               : buf_printf(out, "\n  unknown ids that were asked for: %llu, %u are the most\n",
                            (unsigned long long)a.unknown, in->config.policy.unknown_ids);
}

static enum status print_compared(const struct party_inputs *in, const struct guesses *g,
                                  struct buf *out)
{
    enum status s = STATUS_OK;
    bool any = false;

    for (size_t i = 0; i <= in->roster.n && s == STATUS_OK; i++) {
        const struct roster_entry *e = i < in->roster.n ? &in->roster.party[i] : &in->roster.server;
        const uint64_t count = guesses_count(g, e->key);

        if (count == 0)
            continue;
        if (!any)
            s = buf_printf(out, "\n  %-20s %12s\n", "other lists of ids of", "so far");
        if (s == STATUS_OK)
            s = buf_printf(out, "  %-20s %12llu of %u\n", e->name, (unsigned long long)count,
                           in->config.policy.id_mismatches);
        any = true;
    }
    return s;
}

enum status statement_print(const struct party_inputs *in, struct buf *out, struct error *err)
{
    const char *state = in->config.state;
    struct guesses g;
    struct ledger *l;
    enum status s = books_open_ledger(&l, &in->config, false, err);

    if (s != STATUS_OK)
        return s;
    if (l == NULL)
        s = buf_printf(out, "%s/ledger.db: nothing has been released yet\n", state);
    else
        s = ledger_print(l, out);
    if (s == STATUS_OK && l != NULL)
        s = print_peers(in, l, out);
    if (s == STATUS_OK && l != NULL)
        s = print_asked(in, l, out);
    ledger_close(l);
    if (s != STATUS_OK)
        return error_set(err, s, "%s: %s", state, status_words(s));
    s = guesses_open(&g, in->config.state, &in->key, false, err);
    if (s != STATUS_OK)
        return s;
    s = print_compared(in, &g, out);
    guesses_close(&g);
    return s == STATUS_OK ? s : error_set(err, s, "%s: %s", state, status_words(s));
}

static const struct roster_entry *other(const struct party_inputs *in, const char *name)
{
    for (size_t i = 0; i < in->roster.n; i++) {
        if (i != in->self && strcmp(in->roster.party[i].name, name) == 0)
            return &in->roster.party[i];
    }
    return NULL;
}

/* --- the own one: what the checkpoint knows of it --- */

struct own {
    const struct party_inputs *in;
    uint64_t last, was; /* where the ledger ends; how far it had come */
    bool any;           /* checkpoint that knows of it */
};

static enum status load_both(const struct own *o, const char *folder, struct buf *saved,
                             struct buf *before, struct error *err)
{
    enum status s = party_checkpoint_load(o->in, folder, saved, err);

    return s == STATUS_OK ? party_checkpoint_load_before(o->in, folder, before, err) : s;
}

/* The older one first: each writing makes the last one the one before. */
static enum status write_both(const struct own *o, const char *folder, const struct buf *saved,
                              const struct buf *before, struct error *err)
{
    const struct wire_bytes older = {before->data, before->len}, last = {saved->data, saved->len};
    enum status s = STATUS_OK;

    if (before->len > 0)
        s = party_checkpoint_write(o->in, folder, &older, err);
    return s == STATUS_OK ? party_checkpoint_write(o->in, folder, &last, err) : s;
}

/* Of one run. */
static enum status forget_in(void *owner, const char *folder, struct error *err)
{
    struct own *o = owner;
    struct buf saved = {0}, before = {0};
    uint64_t was[2] = {0, 0};
    bool any = false;
    enum status s = load_both(o, folder, &saved, &before, err);

    if (s == STATUS_OK) {
        any = party_train_forget_ledger(before.data, before.len, o->last, &was[0]);
        any |= party_train_forget_ledger(saved.data, saved.len, o->last, &was[1]);
    }
    if (any)
        s = write_both(o, folder, &saved, &before, err);
    for (int i = 0; i < 2; i++)
        o->was = was[i] > o->was ? was[i] : o->was;
    o->any |= any;
    secret_buf_deinit(&saved);
    secret_buf_deinit(&before);
    return s;
}

/* Of the one run of this state, and of all those of a party that stands. */
static enum status forget_own(const struct party_inputs *in, uint64_t last, struct buf *out,
                              struct error *err)
{
    struct own o = {.in = in, .last = last};
    enum status s = forget_in(&o, in->config.state, err);

    if (s == STATUS_OK)
        s = runs_each(in->config.state, forget_in, &o, err);
    if (s != STATUS_OK)
        return s;
    if (!o.any)
        s = buf_printf(out, "no checkpoint here knows of this ledger\n");
    else
        s = buf_printf(out,
                       "forgotten: this ledger had come to number %llu when the checkpoint was "
                       "made; it ends at %llu\n",
                       (unsigned long long)o.was, (unsigned long long)last);
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

/* While no process is at work with either. */
static enum status forget_own_locked(const struct party_inputs *in, struct buf *out,
                                     struct error *err)
{
    char path[CONFIG_PATH_MAX];
    struct ledger *l = NULL;
    int lock = -1;
    enum status s = folder_make(in->config.state, err);

    snprintf(path, sizeof path, "%.*s/lock", CONFIG_PATH_MAX - 16, in->config.state);
    if (s == STATUS_OK)
        s = file_lock(&lock, path, err);
    if (s == STATUS_OK)
        s = books_open_ledger(&l, &in->config, false, err);
    if (s == STATUS_OK)
        s = forget_own(in, l == NULL ? 0 : ledger_sequence(l), out, err);
    ledger_close(l);
    file_unlock(lock);
    return s;
}

/* --- another one's --- */

enum status statement_forget(const struct party_inputs *in, const char *name, struct buf *out,
                             struct error *err)
{
    const struct roster_entry *who = other(in, name);
    struct ledger *l;
    uint64_t seen;
    enum status s;

    if (strcmp(in->roster.party[in->self].name, name) == 0)
        return forget_own_locked(in, out, err);
    if (who == NULL)
        return error_set(err, STATUS_CONFIG, "--ledger-forget: the roster has no party named %s",
                         name);
    s = books_open_ledger(&l, &in->config, false, err);
    if (s != STATUS_OK)
        return s;
    seen = l == NULL ? 0 : ledger_seen(l, who->key);
    if (seen > 0)
        s = ledger_forget(l, who->key, err);
    ledger_close(l);
    if (s != STATUS_OK)
        return s;
    if (seen == 0)
        s = buf_printf(out, "nothing is known here of the ledger of %s\n", name);
    else
        s = buf_printf(out, "forgotten: the ledger of %s had been seen up to number %llu\n", name,
                       (unsigned long long)seen);
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}

/* --- ids --- */

enum status statement_forget_ids(const struct party_inputs *in, const char *name, struct buf *out,
                                 struct error *err)
{
    const struct roster_entry *who = other(in, name);

    if (who == NULL && strcmp(in->roster.server.name, name) == 0)
        who = &in->roster.server;
    return guesses_order(in->config.state, &in->key, who == NULL ? NULL : who->key, name, out, err);
}

/* --- what predictions have asked for --- */

enum status statement_forget_asked(const struct party_inputs *in, struct buf *out,
                                   struct error *err)
{
    static const struct ledger_asked none = {0};
    struct ledger_asked was = none;
    struct ledger *l;
    enum status s = books_open_ledger(&l, &in->config, false, err);

    if (s == STATUS_OK && l != NULL)
        s = counted_adopt(l, &in->config, (int64_t)time(NULL), err);
    if (s == STATUS_OK && l != NULL) {
        was = ledger_asked(l);
        s = ledger_set_asked(l, &none, err);
    }
    ledger_close(l);
    if (s != STATUS_OK)
        return s;
    s = buf_printf(out, "forgotten: %llu unknown ids, and %llu rows of the last day\n",
                   (unsigned long long)was.unknown, (unsigned long long)was.rows);
    return s == STATUS_OK ? s : error_set(err, s, "%s", status_words(s));
}
