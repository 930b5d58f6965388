/* ledger_aligned.c -- records of alignments, written.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/privacy/ledger_aligned.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "common/privacy/ledger_records.h"

#include <inttypes.h>
#include <string.h>

const struct ledger_alignments *ledger_alignments(const struct ledger *l)
{
    return &l->alignments;
}

enum status ledger_align_begin(struct ledger *l, const struct ledger_alignment *a,
                               struct error *err)
{
    struct ledger_alignments *all = &l->alignments;
    struct ledger_alignment *one;
    enum status s;

    CHECK(strlen(a->name) >= 1 &&
          strspn(a->name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(a->name));
    if (all->n == LEDGER_ALIGNMENTS_MAX)
        return error_set(err, STATUS_BUDGET, "the ledger holds %zu alignments, and has no room",
                         all->n);
    one = mem_room(all->one, &all->n_max, all->n + 1, sizeof *one);
    if (one == NULL)
        return ledger_store_status(&l->store, STATUS_MEMORY, err);
    all->one = one;
    s = ledger_store_begin(&l->store, err);
    if (s == STATUS_OK)
        s = ledger_store_end(&l->store, ledger_write_alignment(l, all->n, a, err),
                             l->history.number, err);
    if (s != STATUS_OK)
        return s;
    one[all->n] = *a;
    one[all->n++].told = false;
    l->records++;
    return STATUS_OK;
}

enum status ledger_align_tell(struct ledger *l, struct error *err)
{
    struct ledger_alignments *all = &l->alignments;
    struct ledger_history *h = &l->history;
    enum status s;

    CHECK(all->n > 0 && !all->one[all->n - 1].told);
    if (h->number >= LEDGER_NUMBER_MAX)
        return error_set(err, STATUS_BUDGET, "the ledger's numbers have run out");
    s = ledger_store_begin(&l->store, err);
    if (s == STATUS_OK)
        s = ledger_store_end(
            &l->store,
            ledger_write(l, NULL, 0, err, "told %" PRIu64 " %zu", h->number + 1, all->n - 1),
            h->number + 1, err);
    if (s != STATUS_OK)
        return s;
    h->number++;
    all->one[all->n - 1].told = true;
    all->told++;
    l->records++;
    return STATUS_OK;
}
