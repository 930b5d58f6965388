/* books.c -- charges against the ledger, limits first.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/books.h"

#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "common/flow/job.h"
#include "common/flow/mechanism.h"
#include "common/privacy/ledger_aligned.h"
#include "common/privacy/ledger_file.h"
#include "common/privacy/ledger_key.h"
#include "common/privacy/ledger_spare.h"
#include "common/wire/purpose.h"
#include "party/counted.h"
#include "party/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum status books_open_ledger(struct ledger **out, const struct config_party *c, bool make,
                              struct error *err)
{
    uint8_t key[LEDGER_KEY_BYTES];
    char path[CONFIG_PATH_MAX];
    struct stat is;
    enum status s;

    *out = NULL;
    snprintf(path, sizeof path, "%.*s/ledger.db", CONFIG_PATH_MAX - 16, c->state);
    if (!make && lstat(path, &is) != 0 && errno == ENOENT)
        return ledger_file_unbegun(path, true, err); /* none yet, or none any more? */
    s = ledger_key_load(key, path, c->state_key, err);
    if (s == STATUS_OK)
        s = ledger_open(out, path, key, err);
    secret_wipe(key, sizeof key);
    return s;
}

/* By person where data.group says who they are, and by id otherwise.  The caller frees the ids. */
static enum status name_rows(struct ledger_rows *out, const char ***ids,
                             const struct party_inputs *in, const struct table *t,
                             struct error *err)
{
    const struct persons *persons = &in->persons;
    const size_t first = t == &in->train ? 0 : in->train.rows;
    const bool named = persons_named(persons);
    const char **of;

    *ids = mem_alloc(t->rows > 0 ? t->rows : 1, 2 * sizeof **ids);
    if (*ids == NULL)
        return error_set(err, STATUS_MEMORY, "ledger: no memory for %zu ids", t->rows);
    of = *ids + t->rows;
    for (size_t i = 0; i < t->rows; i++) {
        (*ids)[i] = validate_own_id(t, i);
        of[i] = named ? group_name(&persons->group, first + i) : NULL;
    }
    *out = (struct ledger_rows){.ids = *ids, .persons = named ? of : NULL, .n = t->rows};
    return STATUS_OK;
}

static enum status bind(struct books *b, const struct table *t, uint32_t **slots, uint32_t *set,
                        struct error *err)
{
    struct ledger_rows rows;
    const char **ids;
    enum status s;

    if (t->rows == 0)
        return STATUS_OK;
    s = name_rows(&rows, &ids, b->in, t, err);
    if (s == STATUS_OK)
        s = ledger_bind_persons(b->ledger, slots, set, &rows, err);
    mem_free(ids);
    return s;
}

enum status books_records_with(struct ledger *l, const struct party_inputs *in, uint64_t *records,
                               struct error *err)
{
    struct ledger_rows tables[2];
    const char **train, **test = NULL;
    enum status s = name_rows(&tables[0], &train, in, &in->train, err);

    if (s == STATUS_OK)
        s = name_rows(&tables[1], &test, in, &in->test, err);
    if (s == STATUS_OK)
        s = ledger_records_with(l, tables, 2, records, err);
    mem_free(train);
    mem_free(test);
    return s;
}

/* Shape, ids and values of one split, as this party reads it. */
static void add_table(struct digest *d, const struct table *t)
{
    uint8_t shape[16];

    le_put(shape, t->rows, 8);
    le_put(shape + 8, t->cols, 8);
    digest_update(d, shape, sizeof shape);
    for (size_t i = 0; i < t->rows; i++) {
        const char *id = table_id(t, i);

        digest_update(d, id, strlen(id) + 1);
    }
    if (t->rows > 0)
        digest_update(d, t->x, t->rows * t->cols * sizeof *t->x);
}

/* Anybody who knows all but one value could try values on it: it goes nowhere but to the ledger,
 * which keeps it under a key. */
static void fingerprint(struct books *b)
{
    struct digest d;

    digest_begin(&d);
    add_table(&d, &b->in->train);
    add_table(&d, &b->in->test);
    digest_final(&d, b->data);
    digest_deinit(&d);
}

static struct ledger_block statistics_of(const struct party_inputs *in)
{
    return (struct ledger_block){.plan = in->fitted.drawn.draw,
                                 .data = in->fitted.drawn.digest,
                                 .purpose = LEDGER_STATISTICS};
}

enum status books_drawn_paid(struct ledger *l, const struct party_inputs *in, bool *paid,
                             struct error *err)
{
    const struct ledger_block block = statistics_of(in);

    *paid = in->fitted.drawn.statistics.queries == 0;
    return *paid ? STATUS_OK : ledger_is_paid(l, &block, paid, err);
}

static enum status bind_nobody(struct books *b, struct error *err)
{
    static const char *const name[] = {LEDGER_NOBODY};
    uint32_t *slot;
    const enum status s = ledger_bind(b->ledger, &slot, NULL, name, 1, err);

    if (s == STATUS_OK)
        b->nobody = slot[0];
    mem_free(slot);
    return s;
}

static enum status bind_all(struct books *b, struct error *err)
{
    bool paid = true;
    enum status s = bind(b, &b->in->train, &b->train_slots, &b->train_set, err);

    if (s == STATUS_OK)
        s = bind(b, &b->in->test, &b->test_slots, &b->test_set, err);
    if (s == STATUS_OK)
        s = books_drawn_paid(b->ledger, b->in, &paid, err);
    b->due = !paid;
    if (s == STATUS_OK && (b->in->train.lacks != NULL || b->in->test.lacks != NULL))
        s = bind_nobody(b, err);
    if (s == STATUS_OK)
        fingerprint(b);
    return s;
}

enum status books_open(struct books *b, const struct party_inputs *in, struct error *err)
{
    enum status s;

    *b = (struct books){.in = in};
    s = books_open_ledger(&b->ledger, &in->config, true, err);
    if (s == STATUS_OK)
        s = counted_adopt(b->ledger, &in->config, (int64_t)time(NULL), err);
    return s == STATUS_OK ? bind_all(b, err) : s;
}

enum status books_share(struct books *b, const struct books *whole, const struct party_inputs *in,
                        struct error *err)
{
    *b = (struct books){.in = in,
                        .ledger = whole->ledger,
                        .borrowed = true,
                        .bindings = ledger_bindings(whole->ledger)};
    return bind_all(b, err);
}

void books_close(struct books *b)
{
    if (b->ledger != NULL && b->borrowed)
        ledger_let_go(b->ledger, b->bindings);
    else if (b->ledger != NULL)
        ledger_close(b->ledger);
    mem_free(b->train_slots);
    mem_free(b->test_slots);
    mem_free(b->slots);
    spared_deinit(&b->spared);
    *b = (struct books){0};
}

static enum status collect(struct books *b, const struct action_charge *c, struct error *err)
{
    const bool test = purpose_of(c->purpose)->test;
    const uint32_t *map = test ? b->test_slots : b->train_slots;
    const uint8_t *left_out = test ? b->spared.test.left_out : b->spared.train.left_out;

    if (c->n > b->slots_max) {
        uint32_t *grown = mem_alloc(c->n, sizeof *grown);
        if (grown == NULL)
            return error_set(err, STATUS_MEMORY, "ledger: no memory for %zu releases", c->n);
        mem_free(b->slots);
        b->slots = grown;
        b->slots_max = c->n;
    }
    for (size_t i = 0; i < c->n; i++)
        b->slots[i] = left_out != NULL && left_out[c->rows[i]] ? b->nobody : map[c->rows[i]];
    return STATUS_OK;
}

void books_judge(struct books *b, const struct plan *p)
{
    b->delta = mechanism_delta(p, books_records(b));
    b->withstands = plan_withstands(p);
}

uint64_t books_records(const struct books *b)
{
    struct ledger_totals totals;

    ledger_totals(b->ledger, &totals);
    return totals.records;
}

size_t books_entries(const struct books *b, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    return ledger_entries(b->ledger, out);
}

size_t books_expected(const struct books *b, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    size_t n = books_entries(b, out);

    if (b->due && n < ACCOUNT_MECHANISMS_MAX)
        out[n++] = b->in->fitted.drawn.entry;
    return n;
}

static bool exceeds(struct policy_excess *out, const struct books *b,
                    const struct account_entry *entries, size_t n)
{
    const struct policy_terms terms = {.delta = b->delta, .withstands = b->withstands};

    return policy_exceeded(out, &b->in->config.policy, entries, n, &terms);
}

static enum status judge(const struct books *b, const struct account_entry *entries, size_t n,
                         struct error *err)
{
    struct policy_excess e;

    if (!exceeds(&e, b, entries, n))
        return STATUS_OK;
    return error_set(err, STATUS_BUDGET,
                     "policy.max_epsilon: the next releases would bring epsilon against %s (%s) to "
                     "%.4g, %.4g is the most",
                     account_adversary_name(e.claim.adversary),
                     account_adjacency_name(e.claim.adjacency), e.claim.epsilon, e.most);
}

/* With the next releases counted, record by record: the record that has most of them need not be
 * the one that had most before.  Void rounds add to what a plan was priced at, and this is where
 * they are stopped. */
static enum status check_epsilon(void *owner, struct error *err)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    const struct books *b = owner;

    return judge(b, entries, books_entries(b, entries), err);
}

/* The same of no record: of what hangs on how much was released in all. */
static enum status check_released(void *owner, struct error *err)
{
    struct account_entry entries[ACCOUNT_MECHANISMS_MAX];
    const struct books *b = owner;
    const size_t n = books_entries(b, entries);

    policy_of_no_record(entries, n);
    return judge(b, entries, n, err);
}

static bool may_have(void *owner, const struct account_entry *entries, size_t n)
{
    struct policy_excess e;

    return !exceeds(&e, owner, entries, n);
}

/* What was seen of others' ledgers, for the commit to come. */
static enum status note_seen(struct books *b, const struct action_charge *c, struct error *err)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < c->seen_n && s == STATUS_OK; i++) {
        if (c->seen[i] > 0)
            s = ledger_see(b->ledger, b->in->roster.party[i].key, c->seen[i], err);
    }
    return s;
}

static enum ledger_purpose purpose_in_ledger(const struct action_charge *c)
{
    if (c->predicts)
        return c->contributes ? LEDGER_CONTRIBUTE : LEDGER_PREDICT;
    return purpose_of(c->purpose)->trains ? LEDGER_TRAIN : LEDGER_EVALUATE;
}

enum status books_may_answer(const struct books *b, uint32_t rows, struct error *err)
{
    const struct ledger_asked before = ledger_asked(b->ledger);

    return counted_may(&before, &b->in->config.policy, rows, (int64_t)time(NULL), err);
}

/* --- alignments --- */

/* Those of an earlier version are in a file beside their results. */
enum status books_aligned(const struct config_party *c, const struct ledger *l,
                          struct aligned_counts *out, struct error *err)
{
    const enum status s = aligned_counts_read(c->state, out, err);

    if (s == STATUS_OK && l != NULL) {
        out->begun += ledger_alignments(l)->n;
        out->told += ledger_alignments(l)->told;
    }
    return s;
}

enum status books_align(struct books *b, const struct alignment *about, uint32_t ids,
                        enum alignment_count what, struct error *err)
{
    const struct config_party *c = &b->in->config;
    struct ledger_alignment one = {.ids = ids, .at_s = (int64_t)time(NULL)};
    struct aligned_counts counts;
    struct buf text;
    enum status s = books_aligned(c, b->ledger, &counts, err);

    if (s == STATUS_OK && what == ALIGNMENT_BEGUN && !about->replace)
        s = aligned_free(c->state, about->name, err);
    if (s == STATUS_OK)
        s = aligned_judge(&counts, what == ALIGNMENT_TOLD,
                          what == ALIGNMENT_BEGUN || what == ALIGNMENT_AGAIN ? about->keys_n : 1,
                          c->align.times_max, err);
    if (s != STATUS_OK)
        return s;
    if (what == ALIGNMENT_TOLD)
        return ledger_align_tell(b->ledger, err);
    snprintf(one.name, sizeof one.name, "%s", about->name);
    buf_init(&text, WIRE_JOB_TEXT_MAX);
    s = alignment_print(about, &text);
    if (s == STATUS_OK)
        job_digest(one.job, JOB_ALIGN, text.data, text.len);
    buf_deinit(&text);
    return s == STATUS_OK ? ledger_align_begin(b->ledger, &one, err)
                          : error_set(err, s, "%s", status_words(s));
}

/* --- charges --- */

static struct ledger_limits limits_of(struct books *b)
{
    const struct config_policy *policy = &b->in->config.policy;

    return (struct ledger_limits){
        .record_max = policy->releases_record,
        .total_max = policy->releases_total,
        .judge = policy_limits_epsilon(policy) ? check_epsilon : NULL,
        .owner = b,
    };
}

/* --- a training by rows that may not be here --- */

static void judge_each(struct ledger_limits *limits)
{
    if (limits->judge == NULL)
        return;
    limits->judge = check_released;
    limits->judge_one = may_have;
}

enum status books_spare(struct books *b, const struct account_entry *planned, struct error *err)
{
    const struct party_inputs *in = b->in;
    struct spared *spared = &b->spared;
    struct ledger_limits limits = limits_of(b);
    enum status s = spared_init(spared, &in->train, &in->test);

    judge_each(&limits);
    if (s == STATUS_OK)
        s = ledger_spare_planned(b->ledger, spared->train.left_out, b->train_slots, in->train.rows,
                                 planned, &limits);
    if (s == STATUS_OK)
        s = ledger_spare_planned(b->ledger, spared->test.left_out, b->test_slots, in->test.rows,
                                 planned, &limits);
    if (s != STATUS_OK)
        return error_set(err, s, "ledger: no memory for %zu rows", in->train.rows);
    spared_begin(spared, planned);
    return STATUS_OK;
}

static enum status count_spared(struct books *b, const struct table *t,
                                const struct account_entry *planned, size_t *n, struct error *err)
{
    struct ledger_limits limits = limits_of(b);
    uint8_t *spared = mem_alloc(t->rows, sizeof *spared);
    uint32_t *slots = mem_alloc(t->rows, sizeof *slots);
    const char **ids = NULL;
    struct ledger_rows rows;
    enum status s = name_rows(&rows, &ids, b->in, t, err);

    judge_each(&limits);
    if (s == STATUS_OK && (spared == NULL || slots == NULL))
        s = error_set(err, STATUS_MEMORY, "ledger: no memory for %zu rows", t->rows);
    if (s == STATUS_OK)
        s = ledger_slots(b->ledger, slots, ids, t->rows);
    if (s == STATUS_OK)
        s = ledger_spare_planned(b->ledger, spared, slots, t->rows, planned, &limits);
    for (size_t i = 0; i < t->rows && s == STATUS_OK; i++)
        *n += spared[i] && t->lacks != NULL && !t->lacks[i];
    mem_free(ids);
    mem_free(slots);
    mem_free(spared);
    return s == STATUS_OK || err->status == s ? s : error_set(err, s, "%s", status_words(s));
}

enum status books_spared_with(struct ledger *l, const struct party_inputs *in, const struct plan *p,
                              const struct account_entry *planned, size_t *n, struct error *err)
{
    struct books b = {.in = in, .ledger = l, .withstands = plan_withstands(p)};
    uint64_t records;
    enum status s = books_records_with(l, in, &records, err);

    *n = 0;
    if (s != STATUS_OK)
        return s;
    b.delta = mechanism_delta(p, records);
    s = count_spared(&b, &in->train, planned, n, err);
    return s == STATUS_OK ? count_spared(&b, &in->test, planned, n, err) : s;
}

/* Where some rows may not be here, that one record has no more to spend would tell that it is, had
 * it spent that by another alignment, where one that is not here is called otherwise.  So a limit
 * of one record refuses nothing: what is over it, stand-ins too, is nobody's. */
static enum status spare(struct books *b, const struct action_charge *c,
                         const struct ledger_block *block, struct ledger_limits *limits,
                         struct error *err)
{
    judge_each(limits);
    if (ledger_spare(b->ledger, c->spared, b->slots, block, limits, err) != STATUS_OK)
        return err->status;
    limits->record_max = 0;
    return STATUS_OK;
}

/* What is asked for is counted in the commit that charges it.  Where ids are too many, or a record
 * is over its limit, the same commit is made without a release: who has rows here decides neither
 * whether something is written nor how much. */
static enum status charge_asked(struct books *b, const struct action_charge *c,
                                struct ledger_block *block, struct ledger_limits *limits,
                                struct error *err)
{
    struct ledger_asked asked = ledger_asked(b->ledger);
    struct error failed = {0};
    enum counted counted =
        counted_add(&asked, &b->in->config.policy, c->asked, c->unknown, block->at_s, err);
    enum status s;

    if (counted == COUNTED_NOTHING)
        return STATUS_BUDGET;
    block->asked = &asked;
    block->places = c->places;
    if (counted == COUNTED) {
        s = c->spared != NULL ? spare(b, c, block, limits, err) : STATUS_OK;
        if (s == STATUS_OK)
            s = ledger_reserve(b->ledger, block, limits, err);
        if (s != STATUS_BUDGET)
            return s;
    }
    block->n = 0;
    s = ledger_reserve(b->ledger, block, NULL, &failed);
    if (s == STATUS_OK)
        return STATUS_BUDGET;
    *err = failed;
    return s;
}

/* Slot by slot: what is written does not hang on who is left out.  What is not sent stays. */
static enum status charge_labelled(struct books *b, const struct action_charge *c,
                                   struct ledger_block *block, struct ledger_limits *limits,
                                   struct error *err)
{
    const struct ledger_asked asked = ledger_asked(b->ledger); /* as they were */
    enum status s;

    if (c->give_back)
        return STATUS_OK;
    s = spared_charge(&b->spared, c, err);
    if (s != STATUS_OK)
        return s;
    judge_each(limits);
    limits->record_max = 0;
    block->scheduled = false;
    block->asked = &asked;
    block->places = c->n;
    s = ledger_reserve(b->ledger, block, limits, err);
    if (s != STATUS_OK)
        spared_take_back(&b->spared, c);
    return s;
}

static int by_slot(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;

    return (*a > *b) - (*a < *b);
}

/* Once for each record, or person, of the training rows: drawn once, however often it is used. */
static enum status charge_statistics(struct books *b, struct error *err)
{
    const struct ledger_limits limits = limits_of(b);
    const size_t rows = b->in->train.rows;
    struct ledger_block block = statistics_of(b->in);
    uint32_t *slots = mem_alloc(rows, sizeof *slots);
    enum status s = slots != NULL
                        ? ledger_use(b->ledger, &b->in->fitted.drawn.entry, err)
                        : error_set(err, STATUS_MEMORY, "ledger: no memory for %zu rows", rows);

    if (s == STATUS_OK) {
        memcpy(slots, b->train_slots, rows * sizeof *slots);
        qsort(slots, rows, sizeof *slots, by_slot);
        for (size_t i = 0; i < rows; i++)
            if (i == 0 || slots[i] != slots[block.n - 1])
                slots[block.n++] = slots[i];
        block.slots = slots;
        block.at_s = (int64_t)time(NULL);
        s = ledger_reserve(b->ledger, &block, &limits, err);
    }
    b->due = s != STATUS_OK;
    mem_free(slots);
    return s;
}

enum status books_charge(struct books *b, const struct action_charge *c, struct error *err)
{
    struct ledger_limits limits = limits_of(b);
    struct ledger_block block = {
        .plan = c->plan,
        .data = b->data,
        .at_s = (int64_t)time(NULL),
        .purpose = purpose_in_ledger(c),
        .rounds = c->rounds,
        .n = c->n,
        .scheduled = c->stretch.law.rows > 0,
        .stretch = c->stretch,
        .place = c->place,
        .set = purpose_of(c->purpose)->test ? b->test_set : b->train_set,
    };
    enum status s = note_seen(b, c, err);

    if (s == STATUS_OK && c->rounds == 0)
        return ledger_keep(b->ledger, err);
    if (s == STATUS_OK && b->due && !c->give_back)
        s = charge_statistics(b, err);
    if (s == STATUS_OK && (!block.scheduled || spared_is_on(&b->spared)))
        s = collect(b, c, err);
    if (s == STATUS_OK)
        s = ledger_use(b->ledger, &c->mechanism, err);
    if (s != STATUS_OK)
        return s;
    block.slots = b->slots;
    if (c->predicts)
        return charge_asked(b, c, &block, &limits, err);
    if (spared_is_on(&b->spared))
        return charge_labelled(b, c, &block, &limits, err);
    return c->give_back ? ledger_return(b->ledger, &block, err)
                        : ledger_reserve(b->ledger, &block, &limits, err);
}
