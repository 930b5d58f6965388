/* world.c -- making a simulated federation: keys, roster, data, sessions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/world.h"

#include "common/base/check.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/config/task.h"
#include "party/align/align.h"
#include "party/predict/predict.h"
#include "party/train/train.h"
#include "server/parts.h"
#include "tests/sim/judged.h"
#include "tests/sim/disk.h"
#include "tests/sim/flight.h"
#include "tests/sim/oracle.h"
#include "tests/sim/probe_party.h"
#include "tests/sim/standing.h"

#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 7 /* of a column that is embedded */ };
enum { SEED = 7, MMAP_MIN = 1 << 24, TOP_PAD = 1 << 26 };

static uint64_t still(void)
{
    return 0;
}

/* Nothing, where no ledger counts. */
static size_t spent(void *owner, struct account_entry out[ACCOUNT_MECHANISMS_MAX])
{
    const struct judged *books = ((const struct sim_party *)owner)->books;

    return books == NULL ? 0 : judged_entries(books, out);
}

/* By a party whose ledger is full no mechanism is taken. */
static bool takes(void *owner, const struct account_entry *mechanism)
{
    (void)mechanism;
    return !((const struct sim_party *)owner)->full;
}

static void leave_out(struct table *t, const uint8_t *spent)
{
    for (size_t i = 0; i < t->rows && spent != NULL; i++)
        t->lacks[i] |= spent[i];
}

static enum status spare(void *owner, const struct plan *plan, const struct account_entry *planned,
                         struct error *err)
{
    struct sim_party *p = owner;

    (void)plan, (void)planned, (void)err;
    leave_out(&p->train, p->spent.train);
    leave_out(&p->test, p->spent.test);
    return STATUS_OK;
}

static enum status may_answer(void *owner, uint32_t rows, struct error *err)
{
    (void)rows;
    if (!((const struct sim_party *)owner)->overasked)
        return STATUS_OK;
    return error_set(err, STATUS_BUDGET, "policy.predict.max_unknown: more than 7 ids");
}

static uint64_t sequence(void *owner)
{
    return ((struct sim_party *)owner)->disk.ledger.number;
}

static uint64_t seen(void *owner, uint32_t party)
{
    return ((struct sim_party *)owner)->disk.ledger.seen[party];
}

/* Ids 0, 1, ... and values that depend on row, column and salt alone. */
static void fill_table(struct table *t, size_t rows, size_t cols, unsigned salt)
{
    size_t at = 0;

    t->rows = rows;
    t->cols = cols;
    t->x = mem_alloc(rows * cols + 1, sizeof *t->x);
    t->id_text = mem_alloc(rows + 1, 12);
    t->id_at = mem_alloc(rows + 1, sizeof *t->id_at);
    CHECK(t->x != NULL && t->id_text != NULL && t->id_at != NULL);
    for (size_t r = 0; r < rows; r++) {
        t->id_at[r] = (uint32_t)at;
        at += (size_t)sprintf(t->id_text + at, "%zu", r) + 1;
        for (size_t c = 0; c < cols; c++)
            t->x[r * cols + c] = (float)((r * 31 + c * 17 + salt * 7) % 23) / 11.0f - 1.0f;
    }
}

/* Of several labels every eleventh is not known. */
static float *targets(const struct plan *p, size_t rows)
{
    const size_t k = task_targets(p);
    float *y = mem_alloc(rows * k + 1, sizeof *y);

    CHECK(y != NULL);
    for (size_t i = 0; i < rows * k; i++)
        y[i] = k > 1 && i % 11 == 10 ? NAN : (float)(i * 5 % 7 % 2);
    return y;
}

static size_t count_sets(const char *const *sets)
{
    size_t n = 0;

    while (n < SIM_SETS_MAX && sets[n] != NULL)
        n++;
    return n;
}

/* Every setting that a test's numbers hang on, whatever the program's defaults are. */
static const char *const server_base[] = {
    "listen=127.0.0.1:0",
    "identity.cert=x",
    "identity.key=x",
    "identity.ca=x",
    "roster=x",
    "state=x",
    "labels.train=x",
    "training.epochs=1",
    "training.batch=3",
    "training.seed=3",
    "training.optimizer=sgd",
    "training.schedule=constant",
    "training.learning_rate=0.01",
    "training.weight_decay=0",
    "model.embedding=4",
    "protocol.pbm.trials=16",
    "privacy.delta=1e-5",
};

static const char *const party_base[] = {
    "server=127.0.0.1:1",
    "identity.cert=x",
    "identity.key=x",
    "identity.ca=x",
    "roster=x",
    "state=x",
    "data.train=x",
    "model.layers=[5]",
    "policy.min_parties=2",
    "policy.min_m_eff=1",
    "policy.encodings=[pbm, fixed, float32, gaussian]",
    "policy.aggregations=[masked, coded, fedvs, clear]",
};

enum {
    SERVER_BASE = sizeof server_base / sizeof *server_base,
    PARTY_BASE = sizeof party_base / sizeof *party_base
};

/* The task is binary where nothing else is said; the labels, which it is about, are made here. */
static void fit_task(struct plan *p, uint32_t classes)
{
    const bool sigmoid = p->model.binary_loss == BINARY_SIGMOID;

    if (p->model.task == TASK_AUTO)
        p->model.task = TASK_BINARY;
    p->shape.outputs = p->model.task == TASK_REGRESSION || sigmoid ? 1 : 2;
    if (p->model.task == TASK_MULTICLASS || p->model.task == TASK_MULTILABEL)
        p->shape.outputs = classes > 0 ? classes : 3;
}

static void make_plan(struct sim *s)
{
    const char *sets[SERVER_BASE + SIM_SETS_MAX];
    size_t n = count_sets(s->options.sets);
    struct config_server c;
    struct error err = {0};

    memcpy(sets, server_base, sizeof server_base);
    memcpy(sets + SERVER_BASE, s->options.sets, n * sizeof *sets);
    if (config_load_server(&c, NULL, sets, SERVER_BASE + n, &err) != STATUS_OK) {
        fprintf(stderr, "sim: %s\n", err.text);
        abort();
    }
    s->plan = c.plan;
    s->id_mismatches = c.id_mismatches;
    s->plan.shape.parties = s->options.parties;
    s->plan.shape.train_rows = s->options.train_rows;
    s->plan.shape.test_rows = s->options.test_rows;
    s->plan.shape.validate_rows = s->options.validate_rows;
    fit_task(&s->plan, s->options.classes);
    if (plan_check(&s->plan, &err) != STATUS_OK) {
        fprintf(stderr, "sim: %s\n", err.text);
        abort();
    }
}

/* Whoever was there before has its key still, which the other world needs no more. */
static void make_key(struct sim *s, uint32_t party, struct sim *old)
{
    static const uint8_t none[SIGN_PUBLIC_BYTES];
    struct sign_key *key = &s->party[party].key,
                    *before = old == NULL ? NULL : &old->party[party].key;

    if (before == NULL || s->options.new_keys ||
        memcmp(before->public_key, none, sizeof none) == 0) {
        CHECK(sign_key_generate(key) == STATUS_OK);
        return;
    }
    *key = *before;
    *before = (struct sign_key){0};
}

static void make_roster(struct sim *s, struct sim *old)
{
    strcpy(s->roster.server.name, "server");
    strcpy(s->roster.server.operator_name, "server");
    memset(s->roster.server.key, 0xee, sizeof s->roster.server.key);
    s->roster.n = s->options.parties;
    for (uint32_t i = 0; i < s->options.parties; i++) {
        struct roster_entry *e = &s->roster.party[i];
        make_key(s, i, old);
        snprintf(e->name, sizeof e->name, "p%u", i + 1);
        snprintf(e->operator_name, sizeof e->operator_name, "p%u", i + 1);
        sign_spki_digest(e->key, s->party[i].key.public_key);
    }
    if (s->options.servers_own)
        strcpy(s->roster.party[s->roster.n - 1].operator_name, s->roster.server.operator_name);
    roster_seal(&s->roster);
}

void world_new_party(struct sim *s, uint32_t i)
{
    struct sim_party *p = &s->party[i];
    bool disk = s->options.checkpoint_rounds > 0 && !(s->options.diskless >> i & 1);
    static const struct party_job *const jobs[] = {&party_train_job, NULL};
    static const struct party_job *const all[] = {&party_train_job,      &party_predict_job,
                                                  &party_contribute_job, &party_align_job,
                                                  &probe_party_job,      NULL};
    struct party_setup setup = {
        .jobs = jobs,
        .config = &p->config,
        .roster = &p->roster,
        .self = i,
        .key = &p->key,
        .data.train = &p->train,
        .data.test = &p->test,
        .data.persons = &p->persons,
        .data.labels = s->options.unlabelled ? NULL : &s->labels,
        .data.schema = s->options.embeds ? &s->embedding : NULL,
        .start = {.seeded = !s->options.unseeded, .seed = SEED, .program = p->program},
        .ledger.spent = spent,
        .ledger.takes = takes,
        .ledger.spare = spare,
        .ledger.may_answer = may_answer,
        .ledger.records = p->train.rows + p->test.rows + p->predicted.rows,
        .ledger.sequence = sequence,
        .ledger.seen = seen,
        .ledger.owner = p,
        .owner = p,
        .clock_us = still,
        .checkpoint_rounds = disk ? s->options.checkpoint_rounds : 0,
        .saved = {.last = p->disk.saved.len > 0 ? p->disk.saved.data : NULL,
                  .last_n = p->disk.saved.len,
                  .before = p->disk.before.data,
                  .before_n = p->disk.before.len,
                  .unpaid = p->disk.unpaid},
        .counts = compared_counts(&p->disk.compared),
    };
    struct party_session *old = p->session;
    struct error err = {0};

    if (s->standing != NULL) {
        setup.jobs = all;
        setup.recall = standing_recall;
        setup.saved = (struct party_saved){0};
        p->playing = false;
    }
    world_new_driver(s, (int)i);
    p->disk.keeps_shares = disk;
    if (s->options.checkpoint_rounds > 0) /* or else they are on the heap */
        setup.holdings = disk_holdings(&p->disk);
    if (party_session_new(&p->session, &setup, &err) == STATUS_OK) {
        party_session_free(old);
        return;
    }
    CHECK(old != NULL); /* a process that ends as soon as it has read its disk */
    p->end = (struct sim_end){.over = true, .outcome = OUTCOME_FAILED, .error = err};
}

static void load_config(struct sim *s, struct config_party *c)
{
    const char *sets[PARTY_BASE + SIM_SETS_MAX];
    size_t n = count_sets(s->options.party_sets);
    struct error err = {0};

    memcpy(sets, party_base, sizeof party_base);
    memcpy(sets + PARTY_BASE, s->options.party_sets, n * sizeof *sets);
    if (config_load_party(c, NULL, sets, PARTY_BASE + n, &err) != STATUS_OK) {
        fprintf(stderr, "sim: %s\n", err.text);
        abort();
    }
}

/* A schema of as many columns as all parties have, of which the first is embedded. */
static void embed_first(struct sim *s)
{
    struct schema *schema = &s->embedding;
    uint32_t number;

    CHECK(!s->options.motley && schema_init(schema, s->options.columns) == STATUS_OK);
    for (size_t i = 0; i < schema->n; i++)
        schema->column[i].kind = i == 0 ? SCHEMA_CATEGORY : SCHEMA_NUMBER;
    for (char level = 'a'; level < 'a' + LEVELS; level++)
        CHECK(levels_add(&schema->column[0].levels, &level, 1, &number) == STATUS_OK);
    CHECK(schema_place_all(&schema->column[0]) == STATUS_OK);
    schema->column[0].embedded = true;
    schema_settle_vector(&schema->column[0]);
}

static void number_levels(struct table *t, uint32_t salt)
{
    for (size_t r = 0; r < t->rows; r++)
        t->x[r * t->cols] = (float)((r * 5 + salt) % (LEVELS + 1));
}

static void make_party(struct sim *s, uint32_t i)
{
    struct sim_party *p = &s->party[i];
    uint32_t columns = s->options.columns + (s->options.motley ? i % 2 : 0);

    if (i == 0)
        load_config(s, &p->config);
    else
        p->config = s->party[0].config; /* the same for all */
    if (s->options.motley && p->config.degree > 0)
        p->config.degree = 1 + i % 3;
    p->world = s;
    p->self = p->salt = i;
    p->roster = s->roster;
    fill_table(&p->train, s->options.train_rows, columns, i + 1);
    fill_table(&p->test, s->options.test_rows, columns, i + 101);
    fill_table(&p->predicted, s->options.predicted, columns, i + 201);
    if (s->options.embeds) {
        number_levels(&p->train, i);
        number_levels(&p->test, i + 1);
    }
    CHECK(wire_unpacker_init(&p->unpacker, s->options.unpacker) == STATUS_OK);
    p->connect_us = 1000 * (i + 1);
    world_new_party(s, i);
}

struct server_setup world_server_setup(struct sim *s)
{
    struct server_setup setup = {
        .plan = &s->plan,
        .roster = &s->roster,
        .labels.train = &s->train,
        .labels.test = &s->test,
        .labels.train_target = s->train_target,
        .labels.test_target = s->test_target,
        .labels.validate = s->validate.from != NULL ? &s->validate : NULL,
        .start = {.seeded = !s->options.unseeded, .seed = SEED},
        .clock_us = still,
        .checkpoint_rounds = s->options.checkpoint_rounds,
        .watch = s->options.told,
        .counts = compared_counts(&s->disk.compared),
        .id_mismatches = s->id_mismatches,
        .floor = disk_floor(&s->disk),
    };

    if (s->options.checkpoint_rounds > 0 && s->plan.protocol.straggler != STRAGGLER_ASYNC)
        setup.store = disk_store(s);
    return setup;
}

void world_restore_server(struct sim *s)
{
    if (s->disk.saved.len > 0)
        CHECK(server_session_restore(s->server, s->disk.saved.data, s->disk.saved.len) ==
              STATUS_OK);
    else if (s->options.checkpoint_rounds > 0) /* what another start could not make again */
        CHECK(server_session_save(s->server, &s->disk.saved) == STATUS_OK);
    disk_replay(s);
}

struct server_federation *world_federation(struct sim *s)
{
    return &s->server->fed;
}

void world_new_server(struct sim *s)
{
    struct server_setup setup = world_server_setup(s);
    struct error err = {0};

    if (s->standing != NULL)
        setup.plan = NULL;
    world_new_driver(s, SIM_SERVER);
    server_session_free(s->server);
    if (server_session_new(&s->server, &setup, &err) != STATUS_OK) {
        fprintf(stderr, "sim: %s\n", err.text);
        abort();
    }
    if (s->standing != NULL)
        standing_again(s);
    else
        world_restore_server(s);
}

/* The first test rows are to choose by, as if they had been training rows. */
static void make_validation(struct sim *s)
{
    const uint32_t kept = s->options.validate_rows, rows = s->options.test_rows;

    if (kept == 0)
        return;
    s->validate = (struct validate){
        .train = kept, .held = rows, .from = mem_alloc(rows, sizeof *s->validate.from)};
    CHECK(s->validate.from != NULL && kept <= rows);
    for (uint32_t i = 0; i < rows; i++)
        s->validate.from[i] = i;
}

static void make_labels(struct sim *s)
{
    fill_table(&s->train, s->options.train_rows, 1, 0);
    fill_table(&s->test, s->options.test_rows, 1, 100);
    s->train_target = targets(&s->plan, s->options.train_rows);
    s->test_target = targets(&s->plan, s->options.test_rows);
    make_validation(s);
    s->labels = s->train;
    s->labels.x = s->train_target;
}

static void make_server(struct sim *s)
{
    CHECK(wire_unpacker_init(&s->unpacker, s->options.unpacker) == STATUS_OK);
    world_new_server(s);
}

enum status world_pack(struct sim *s, int who, const struct wire_msg *m)
{
    struct buf *frame = who == SIM_SERVER ? &s->frame : &s->party[who].frame;

    if (frame->max == 0)
        buf_init(frame, WIRE_PAYLOAD_MAX);
    return wire_pack(frame, m);
}

/* --- once more --- */

static void party_ended(struct sim_disk *disk, const struct sim_party *old)
{
    disk->ledger = old->disk.ledger;
    disk->compared = old->disk.compared;
    if (old->disk.keeps_shares)
        disk_copy_shares(disk, &old->disk);
    if (old->up_us > 0)
        CHECK(buf_append(&disk->saved, old->disk.saved.data, old->disk.saved.len) == STATUS_OK);
    else
        CHECK(party_session_save(old->session, &disk->saved) == STATUS_OK);
}

/* They go on, like a ledger that nobody puts back. */
static void take_books(struct sim *s, uint32_t party, struct sim *old)
{
    struct sim_party *p = &s->party[party];

    if (old != NULL) {
        p->books = old->party[party].books;
        old->party[party].books = NULL;
    } else if (s->options.judged) {
        p->books = judged_new();
    }
}

static void server_ended(struct sim_disk *disk, const struct sim *old)
{
    disk_copy_journal(disk, &old->disk);
    disk->compared = old->disk.compared;
    disk->floor = old->disk.floor;
    if (old->server_up_us > 0)
        CHECK(buf_append(&disk->saved, old->disk.saved.data, old->disk.saved.len) == STATUS_OK);
    else
        CHECK(server_session_save(old->server, &disk->saved) == STATUS_OK);
}

static struct sim *make_world(const struct sim_options *o, struct sim *old)
{
    struct sim *s = mem_alloc(1, sizeof *s);

    CHECK(s != NULL && o->parties > 0 && o->parties <= SIM_PARTIES_MAX);
    log_init("sim", getenv("SIM_LOG") == NULL ? LOG_LEVEL_ERROR : LOG_LEVEL_DEBUG, false);
    s->options = *o;
    if (s->options.train_rows == 0)
        s->options.train_rows = 6;
    if (s->options.test_rows == 0)
        s->options.test_rows = 3;
    if (s->options.columns == 0)
        s->options.columns = 2;
    if (s->options.unpacker == 0)
        s->options.unpacker = 1 << 16;
    s->party = mem_alloc(o->parties, sizeof *s->party);
    CHECK(s->party != NULL);
    buf_init(&s->transcript, 1 << 26);
    s->standing = o->stands ? standing_new(s) : NULL;
    make_plan(s);
    make_roster(s, old);
    make_labels(s);
    if (s->options.embeds)
        embed_first(s);
    s->oracle = old != NULL ? old->oracle : oracle_new(s);
    for (uint32_t i = 0; i < o->parties; i++) {
        struct sim_disk *disk = &s->party[i].disk;
        disk_init(disk);
        compared_init(&disk->compared, (int)i);
        if (old != NULL)
            party_ended(disk, &old->party[i]);
        take_books(s, i, old);
        make_party(s, i);
    }
    disk_init(&s->disk);
    compared_init(&s->disk.compared, SIM_SERVER);
    if (old != NULL) {
        server_ended(&s->disk, old);
        old->oracle = NULL;
    }
    make_server(s);
    return s;
}

void sim_keep_pages(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_MIN);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
    (void)mallopt(M_TOP_PAD, TOP_PAD);
}

struct sim *sim_new(const struct sim_options *o)
{
    return make_world(o, NULL);
}

struct sim *sim_resume(struct sim *old)
{
    return make_world(&old->options, old);
}

void sim_free(struct sim *s)
{
    if (s->broken[0] != 0) { /* nobody asked */
        fprintf(stderr, "sim: %s\n", s->broken);
        abort();
    }
    for (uint32_t i = 0; i < s->options.parties; i++) {
        struct sim_party *p = &s->party[i];
        party_session_free(p->session);
        sign_key_deinit(&p->key);
        table_deinit(&p->train);
        table_deinit(&p->test);
        table_deinit(&p->predicted);
        mem_free(p->spent.train);
        mem_free(p->spent.test);
        mem_free(p->spent.predicted);
        persons_deinit(&p->persons);
        persons_deinit(&p->persons_predicted);
        wire_unpacker_deinit(&p->unpacker);
        buf_deinit(&p->frame);
        aligning_free(&p->list);
        judged_free(p->books);
        disk_deinit(&p->disk);
    }
    flight_free(s);
    server_session_free(s->server);
    disk_deinit(&s->disk);
    oracle_free(s->oracle);
    aligning_free(&s->list);
    standing_free(s->standing);
    table_deinit(&s->train);
    table_deinit(&s->test);
    wire_unpacker_deinit(&s->unpacker);
    buf_deinit(&s->frame);
    mem_free(s->train_target);
    mem_free(s->test_target);
    validate_deinit(&s->validate);
    schema_deinit(&s->embedding);
    mem_free(s->party);
    buf_deinit(&s->transcript);
    mem_free(s);
}
