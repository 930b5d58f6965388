/* statement.c -- reading and mending the ledger between two runs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/statement.h"

#include "common/privacy/ledger.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* *l NULL: there is none yet. */
static enum status open_ledger(const struct party_inputs *in, char path[CONFIG_PATH_MAX],
                               struct ledger **l, struct error *err)
{
    snprintf(path, CONFIG_PATH_MAX, "%.*s/ledger.db", CONFIG_PATH_MAX - 16, in->config.state);
    *l = NULL;
    return access(path, F_OK) == 0 ? ledger_open(l, path, err) : STATUS_OK;
}

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

enum status statement_print(const struct party_inputs *in, struct buf *out, struct error *err)
{
    char path[CONFIG_PATH_MAX];
    struct ledger *l;
    enum status s = open_ledger(in, path, &l, err);

    if (s != STATUS_OK)
        return s;
    if (l == NULL)
        s = buf_printf(out, "%s: nothing has been released yet\n", path);
    else
        s = ledger_print(l, out);
    if (s == STATUS_OK && l != NULL)
        s = print_peers(in, l, out);
    ledger_close(l);
    return s == STATUS_OK ? s : error_set(err, s, "%s: %s", path, status_words(s));
}

static const struct roster_entry *other(const struct party_inputs *in, const char *name)
{
    for (size_t i = 0; i < in->roster.n; i++) {
        if (i != in->self && strcmp(in->roster.party[i].name, name) == 0)
            return &in->roster.party[i];
    }
    return NULL;
}

enum status statement_forget(const struct party_inputs *in, const char *name, struct buf *out,
                             struct error *err)
{
    const struct roster_entry *who = other(in, name);
    char path[CONFIG_PATH_MAX];
    struct ledger *l;
    uint64_t seen;
    enum status s;

    if (who == NULL)
        return error_set(err, STATUS_CONFIG,
                         "--ledger-forget: the roster has no other party named %s", name);
    s = open_ledger(in, path, &l, err);
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
