/* resume.c -- a session to bytes and back.
 *
 * Kept: the plan, how many steps are behind this party, what it was shown, the bottom with its
 * layers and optimiser, whether the run is over, the secret behind the shares of its data, which
 * are dealt once (deal.c), and how far the ledger had come, so that none that ends before it is
 * taken for it (threats B4, F2).  Not kept: keys and masks of generations.  The server sends what
 * was broadcast since (catchup.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/train/resume.h"

#include "common/base/check.h"
#include "common/base/le.h"
#include "common/base/record.h"
#include "common/crypto/digest.h"
#include "common/crypto/secret.h"
#include "common/daemon/package_layers.h"
#include "common/nn/state.h"
#include "party/policy.h"
#include "party/prepare.h"
#include "party/train/parts.h"

#include <string.h>

enum { RESUME_VERSION = 16 };

struct kept {
    uint32_t version;
    uint64_t applied, plan_len;
    uint32_t train;         /* what the bottom was made of: enum config_train, */
    bool fitted;            /* and data.scale fit */
    bool raw;               /* the bottom has counted as raw: for good */
    bool trained;           /* it has taken a step; under drop `applied` may be put back to 0 */
    bool released;          /* a round of it was closed, in the playing below */
    bool final;             /* the last broadcast has come */
    struct party_paid paid; /* how far the ledger had come */
    /* For the package, which this process may have to write without another offer. */
    uint32_t made; /* enum account_bottom */
    double step_noise, reach;
    uint8_t playing[WIRE_DIGEST_BYTES], released_in[WIRE_DIGEST_BYTES];
    uint8_t trail[WIRE_DIGEST_BYTES];
    uint8_t deal[RNG_KEY_BYTES];        /* what the shares of this party's data come from */
    uint8_t layers[WIRE_DIGEST_BYTES];  /* of the bottom, beyond how many bytes it has */
    uint8_t columns[WIRE_DIGEST_BYTES]; /* what its inputs are called, and their levels */
};

static const struct record_field kept_field[] = {
    RECORD_FIELD(struct kept, version),     RECORD_FIELD(struct kept, applied),
    RECORD_FIELD(struct kept, plan_len),    RECORD_FIELD(struct kept, train),
    RECORD_FIELD(struct kept, fitted),      RECORD_FIELD(struct kept, raw),
    RECORD_FIELD(struct kept, trained),     RECORD_FIELD(struct kept, released),
    RECORD_FIELD(struct kept, released_in), RECORD_FIELD(struct kept, final),
    RECORD_FIELD(struct kept, paid.last),   RECORD_FIELD(struct kept, paid.rounds),
    RECORD_FIELD(struct kept, paid.step),   RECORD_FIELD(struct kept, made),
    RECORD_FIELD(struct kept, step_noise),  RECORD_FIELD(struct kept, reach),
    RECORD_FIELD(struct kept, playing),     RECORD_FIELD(struct kept, trail),
    RECORD_FIELD(struct kept, deal),        RECORD_FIELD(struct kept, layers),
    RECORD_FIELD(struct kept, columns),
};
enum { KEPT_FIELDS = sizeof kept_field / sizeof kept_field[0] };

static size_t kept_bytes(void)
{
    return record_bytes(kept_field, KEPT_FIELDS);
}

/* Out of a checkpoint; false: it has none of this version, with its plan. */
static bool take_kept(struct kept *k, const uint8_t *bytes, size_t n)
{
    return n >= kept_bytes() && record_parse(k, kept_field, KEPT_FIELDS, bytes) &&
           k->version == RESUME_VERSION && k->made <= ACCOUNT_DP && k->plan_len <= PLAN_TEXT_MAX &&
           k->plan_len <= n - kept_bytes();
}

static void digest_layers(uint8_t out[DIGEST_BYTES], const struct nn_spec *spec)
{
    struct package_layers text;

    package_layers_print(&text, spec);
    digest_sha256(out, &text, sizeof text);
}

/* Each level with its place, in whatever order the rows have brought them. */
static void add_levels(struct digest *d, const struct schema_column *c)
{
    uint8_t all[DIGEST_BYTES] = {0}, one[DIGEST_BYTES], place[4];

    for (uint32_t i = 0; i < c->levels.n; i++) {
        const char *text = levels_text(&c->levels, i);
        struct digest level;

        if (c->place[i] == LEVELS_NONE)
            continue;
        le_put(place, c->place[i], sizeof place);
        digest_begin(&level);
        digest_update(&level, place, sizeof place);
        digest_update(&level, text, strlen(text));
        digest_final(&level, one);
        digest_deinit(&level);
        for (size_t k = 0; k < sizeof all; k++)
            all[k] ^= one[k];
    }
    digest_update(d, all, sizeof all);
}

/* Not where its bins begin, nor what fills a gap: these move with a row, as a scale does. */
static void add_column(struct digest *d, const struct schema_column *c)
{
    const uint32_t is[] = {(uint32_t)c->kind, c->embedded, c->other, c->indicator,
                           c->kept,           c->bins,     c->parts};
    uint8_t text[sizeof is], *to = text;

    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        to = le_put(to, is[i], 4);
    digest_update(d, c->name, strlen(c->name) + 1);
    digest_update(d, text, sizeof text);
    if (c->kind == SCHEMA_CATEGORY || c->kind == SCHEMA_ORDERED)
        add_levels(d, c);
}

/* With as many others, or of another order, the bytes of a bottom would fit, and its weights would
 * be other columns'. */
static void digest_columns(uint8_t out[DIGEST_BYTES], const struct party_setup *setup)
{
    const struct table *t = setup->data.train;
    const struct schema *s = setup->data.schema;
    struct digest d;

    digest_begin(&d);
    for (size_t i = 0; s != NULL && i < s->n; i++)
        add_column(&d, &s->column[i]);
    for (size_t c = 0; (s == NULL || s->n == 0) && t->names != NULL && c < t->cols; c++) {
        const char *name = t->names + c * TABLE_NAME_MAX;

        digest_update(&d, name, strlen(name) + 1);
    }
    digest_final(&d, out);
    digest_deinit(&d);
}

static bool fitted(const struct party_setup *setup)
{
    return strcmp(setup->config->scale, "fit") == 0;
}

enum status party_train_save(const void *state, struct buf *out)
{
    const struct party_train *p = state;
    const struct party_setup *setup = p->host->setup;
    struct kept k = {
        .version = RESUME_VERSION,
        .applied = p->learner.applied,
        .final = p->learner.final,
        .plan_len = p->course.text.len,
        .train = setup->config->train,
        .fitted = fitted(setup),
        .raw = p->purse.raw,
        .trained = p->learner.trained,
        .released = p->learner.released,
        .made = p->purse.mechanism.bottom,
        .step_noise = p->purse.mechanism.step_noise,
        .reach = party_round_reach(&p->round),
        .paid = party_witness_paid(&p->purse.witness, setup, &p->learner,
                                   party_unopened(&p->purse, &p->course.plan)),
    };
    enum status s;

    if (!p->course.planned)
        return STATUS_OK; /* nothing that another start would not make as well */
    memcpy(k.playing, p->course.playing, sizeof k.playing);
    memcpy(k.released_in, p->learner.released_in, sizeof k.released_in);
    memcpy(k.trail, p->learner.trail.value, sizeof k.trail);
    digest_layers(k.layers, &p->learner.bottom.net.spec);
    digest_columns(k.columns, setup);
    memcpy(k.deal, p->deal.secret, sizeof k.deal);
    s = record_print(out, kept_field, KEPT_FIELDS, &k);
    secret_wipe(&k, sizeof k);
    if (s == STATUS_OK)
        s = buf_append(out, p->course.text.data, p->course.text.len);
    if (s == STATUS_OK)
        s = party_best_print(&p->learner.best, out);
    if (s == STATUS_OK)
        s = party_sent_print(&p->learner.sent, out);
    return s == STATUS_OK ? nn_state_print(&p->learner.bottom.net, out) : s;
}

/* Where the rows decide how many columns there are, nothing is sent of it. */
static enum status unfit(const struct party_setup *setup, struct error *err)
{
    return error_set(err, party_rows_may_decide(setup->config) ? STATUS_IO : STATUS_CONFIG,
                     "state: the saved model does not fit model.layers, the roster or the data");
}

/* The part after the plan, into a session that has taken that plan. */
static enum status take(struct party_train *p, const struct kept *k, const uint8_t *state, size_t n)
{
    const size_t best = party_best_bytes(&p->learner.best),
                 before = best + party_sent_bytes(&p->learner.sent);
    uint8_t layers[DIGEST_BYTES];

    digest_layers(layers, &p->learner.bottom.net.spec);
    if (k->applied > p->course.agenda.party_steps || n < before ||
        memcmp(layers, k->layers, sizeof layers) != 0 ||
        nn_state_parse(&p->learner.bottom.net, state + before, n - before) != STATUS_OK ||
        party_best_parse(&p->learner.best, state) != STATUS_OK ||
        party_sent_parse(&p->learner.sent, state + best, before - best) != STATUS_OK)
        return unfit(p->host->setup, p->host->error);
    memcpy(p->learner.trail.value, k->trail, sizeof k->trail);
    p->learner.applied = k->applied;
    p->learner.trained |= k->trained;
    p->learner.final = k->final;
    return STATUS_OK;
}

/* Both checkpoints, to go back to; the older one only if it is of the same run. */
static enum status remember(struct party_train *p)
{
    const struct party_setup *setup = p->host->setup;
    const size_t head = kept_bytes();
    struct kept k;
    bool ours;

    if (buf_append(&p->keep.last, setup->saved.last, setup->saved.last_n) != STATUS_OK)
        return error_set(p->host->error, STATUS_MEMORY, "no memory for a checkpoint");
    /* One of more steps is of a line of steps that the server had lost. */
    ours = take_kept(&k, setup->saved.before, setup->saved.before_n) &&
           k.plan_len == p->course.text.len && k.applied <= p->learner.applied &&
           memcmp(setup->saved.before + head, p->course.text.data, p->course.text.len) == 0;
    secret_wipe(k.deal, sizeof k.deal);
    if (!ours)
        return STATUS_OK;
    p->keep.before_step = k.applied;
    if (buf_append(&p->keep.before, setup->saved.before, setup->saved.before_n) != STATUS_OK)
        return error_set(p->host->error, STATUS_MEMORY, "no memory for a checkpoint");
    return STATUS_OK;
}

static bool counts_raw(const struct party_setup *setup)
{
    struct account_entry spent[ACCOUNT_MECHANISMS_MAX];
    const size_t n = setup->ledger.spent(setup->ledger.owner, spent);

    return policy_raw_because(setup->config, spent, n) != NULL;
}

/* What comes before anything is made of it. */
static enum status check_kept(struct party_train *p, const struct kept *k)
{
    const struct party_setup *setup = p->host->setup;
    struct error *err = p->host->error;
    uint8_t columns[DIGEST_BYTES];

    /* What columns are rows may decide: so of this nothing is sent, and this side is gone.  Before
     * a first step any bottom is as good as another one. */
    digest_columns(columns, setup);
    if (k->trained && memcmp(columns, k->columns, sizeof columns) != 0)
        return error_set(err, STATUS_IO,
                         "state: the saved bottom is of columns with other names, or of other "
                         "levels or another order of them; put the data or data.schema back, or "
                         "use another state directory");
    /* A bottom that has trained on raw records does not become a frozen one. */
    if (k->train != setup->config->train || k->fitted != fitted(setup))
        return error_set(err, STATUS_CONFIG,
                         "state: the saved bottom was made under another model.train or "
                         "data.scale; use another state directory");
    /* Which weights were loaded and how inputs were scaled is in the bottom, whatever the
     * configuration says by now. */
    if (k->raw && !counts_raw(setup))
        return error_set(err, STATUS_CONFIG,
                         "state: the saved bottom counts as raw, which model.load and data.scale "
                         "would not say of it by now; put them back, or use another state "
                         "directory");
    p->purse.raw = k->raw;
    return party_witness_restore(&p->purse.witness, setup, &k->paid, err);
}

/* A process that died may have paid for rounds after its checkpoint, which the replays to come are
 * of.  A checkpoint with steps says itself whether they were paid for; of one before the first step
 * the ledger tells, which has grown since, and not for other runs alone; or the operator, who has
 * let it go. */
static void restore_released(struct party_train *p, const struct kept *k)
{
    const struct party_setup *setup = p->host->setup;
    const bool since = k->applied == 0 && !k->trained && !setup->saved.unpaid &&
                       setup->ledger.sequence(setup->ledger.owner) > k->paid.last;

    if (k->released)
        party_learner_released(&p->learner, k->released_in);
    else if (since || k->paid.rounds == PARTY_PAID_FORGOTTEN)
        party_learner_released(&p->learner, k->playing);
}

static enum status restore(struct party_train *p, const struct kept *k, const uint8_t *at,
                           size_t left)
{
    enum status s = party_take_plan(p, at, (size_t)k->plan_len);

    if (s == STATUS_OK)
        s = take(p, k, at + k->plan_len, left - (size_t)k->plan_len);
    else if (s != STATUS_MEMORY && program_failed(p->host->setup->start.program) == NULL)
        s = unfit(p->host->setup, p->host->error);
    if (s == STATUS_OK)
        party_deal_restore(&p->deal, &p->course, p->host->setup, k->deal);
    p->keep.last_step = p->keep.kept_step = p->learner.applied;
    p->keep.any = true;
    memcpy(p->course.playing, k->playing, sizeof k->playing);
    restore_released(p, k);
    p->purse.mechanism.bottom = (enum account_bottom)k->made;
    p->purse.mechanism.step_noise = k->step_noise;
    p->round.reach = k->reach;
    return s == STATUS_OK ? remember(p) : s;
}

enum status party_restore(struct party_train *p)
{
    const struct party_setup *setup = p->host->setup;
    const size_t head = kept_bytes();
    struct kept k;
    enum status s;

    if (setup->saved.last == NULL)
        return STATUS_OK;
    if (!take_kept(&k, setup->saved.last, setup->saved.last_n))
        return unfit(p->host->setup, p->host->error);
    s = check_kept(p, &k);
    if (s == STATUS_OK)
        s = restore(p, &k, setup->saved.last + head, setup->saved.last_n - head);
    secret_wipe(&k, sizeof k);
    return s;
}

static enum status go_back_to(struct party_train *p, const struct buf *to)
{
    struct kept k;
    size_t head;

    CHECK(take_kept(&k, to->data, to->len)); /* it was printed here, or taken before */
    secret_wipe(k.deal, sizeof k.deal);
    head = kept_bytes() + (size_t)k.plan_len;
    return take(p, &k, to->data + head, to->len - head);
}

enum status party_go_back(struct party_train *p, uint64_t step)
{
    if (p->keep.writing)
        return STATUS_DATA;
    if (p->keep.last.len > 0 && p->keep.last_step == p->keep.kept_step && p->keep.last_step <= step)
        return go_back_to(p, &p->keep.last);
    if (p->keep.before.len == 0 || p->keep.before_step > step ||
        go_back_to(p, &p->keep.before) != STATUS_OK)
        return STATUS_DATA;
    /* The last one is of steps that are no more: it must not be what a process starts from. */
    p->keep.last.len = 0;
    p->keep.any = false;
    p->keep.kept_step = p->learner.applied;
    return STATUS_OK;
}

bool party_train_forget_ledger(uint8_t *saved, size_t n, uint64_t last, uint64_t *was)
{
    struct kept k;
    const bool ours = take_kept(&k, saved, n);

    if (ours) {
        *was = k.paid.last;
        k.paid = (struct party_paid){.last = last, .rounds = PARTY_PAID_FORGOTTEN};
        record_write(saved, kept_field, KEPT_FIELDS, &k);
    }
    secret_wipe(&k, sizeof k);
    return ours;
}
