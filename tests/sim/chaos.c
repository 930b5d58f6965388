/* chaos.c -- federations and their troubles, drawn.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/chaos.h"

#include "common/base/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- dice: splitmix64 --- */

struct dice {
    uint64_t state;
};

static uint64_t next(struct dice *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* lo .. hi, both included. */
static uint64_t between(struct dice *d, uint64_t lo, uint64_t hi)
{
    return lo + next(d) % (hi - lo + 1);
}

static bool one_in(struct dice *d, uint64_t n)
{
    return next(d) % n == 0;
}

static bool percent(struct dice *d, uint64_t p)
{
    return next(d) % 100 < p;
}

uint32_t chaos_variant_of(uint64_t seed)
{
    struct dice d = {seed ^ 0x76617269616e74ull};

    return (uint32_t)(next(&d) % CHAOS_VARIANTS);
}

/* --- variants --- */

PRINTF_LIKE(2, 3) static void set(struct chaos *c, const char *fmt, ...)
{
    va_list args;

    CHECK(c->sets_n + 1 < SIM_SETS_MAX);
    va_start(args, fmt);
    CHECK(vsnprintf(c->set[c->sets_n++], CHAOS_SET_MAX, fmt, args) < CHAOS_SET_MAX);
    va_end(args);
}

static const char *pick(struct dice *d, const char *const *from, size_t n)
{
    return from[next(d) % n];
}

#define PICK(d, ...)                                                                               \
    pick(d, (const char *const[]){__VA_ARGS__},                                                    \
         sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *))

/* Bottoms that are polynomials, data and models in shares. */
static void draw_fedvs(struct chaos *c, struct dice *d)
{
    uint64_t most = (c->options.parties - 1) / 2; /* 2 (K + T - 1) + 1 <= M */
    size_t n = c->options.party_sets[0] == NULL ? 0 : 1;

    c->segments = (uint32_t)between(d, 1, most);
    set(c, "protocol.fedvs.privacy=%u", (unsigned)between(d, 1, most + 1 - c->segments));
    set(c, "protocol.fedvs.prime=%s", PICK(d, "auto", "auto", "2^61-1"));
    c->options.party_sets[n] = "model.layers=[]";
    c->options.party_sets[n + 1] = PICK(d, "model.polynomial.degree=1", "model.polynomial.degree=2",
                                        "model.polynomial.degree=3");
    c->options.motley = percent(d, 50);
    if (c->options.test_rows > 100)
        c->options.unpacker = 1 << 20;
}

static bool has(const struct chaos *c, const char *text)
{
    for (size_t i = 0; i < c->sets_n; i++) {
        if (strcmp(c->set[i], text) == 0)
            return true;
    }
    return false;
}

/* Aggregation, what goes with it, and what is done about stragglers. */
static void draw_protocol(struct chaos *c, struct dice *d)
{
    const char *aggregation = PICK(d, "masked", "coded", "coded", "fedvs", "clear", "clear");
    bool clear = strcmp(aggregation, "clear") == 0, coded = strcmp(aggregation, "coded") == 0,
         fedvs = strcmp(aggregation, "fedvs") == 0;
    const char *straggler = clear   ? PICK(d, "wait", "drop", "async")
                            : fedvs ? "wait"
                                    : PICK(d, "wait", "wait", "drop");
    bool wait = strcmp(straggler, "wait") == 0, async = strcmp(straggler, "async") == 0;
    const char *encoding = clear   ? PICK(d, "pbm", "fixed", "float32", "gaussian")
                           : fedvs ? "fixed"
                           : wait  ? PICK(d, "pbm", "gaussian", "fixed")
                                   : PICK(d, "pbm", "gaussian");
    uint64_t parties = c->options.parties, k = between(d, 1, parties - 1);

    c->wait = wait;
    c->segments = clear && one_in(d, 4) ? 2 : 1;
    set(c, "protocol.aggregation=%s", aggregation);
    set(c, "protocol.straggler=%s", straggler);
    set(c, "protocol.encoding=%s", encoding);
    set(c, "protocol.fixed.bits=%u", (unsigned)between(d, 4, 12));
    set(c, "protocol.pbm.trials=%u", (unsigned)between(d, 4, 20));
    if (coded) {
        set(c, "protocol.coded.segments=%u", (unsigned)k);
        set(c, "protocol.coded.privacy=%u", (unsigned)between(d, 1, parties - k));
    }
    if (fedvs)
        draw_fedvs(c, d);
    set(c, "protocol.fedvs.segments=%u", c->segments);
    set(c, "model.fusion=%s",
        clear ? PICK(d, "sum", "mean", "concat", "max") : PICK(d, "sum", "mean"));
    if (strcmp(straggler, "drop") == 0)
        set(c, "protocol.absent=%s",
            has(c, "model.fusion=concat") ? "zero" : PICK(d, "ignore", "zero"));
    if (!async)
        set(c, "protocol.local_iterations=%u", (unsigned)between(d, 1, 2));
    c->deadline_us = 1000 * between(d, 40, 200);
    c->patience_us = 1000 * between(d, 4000, 8000);
    set(c, "protocol.deadline_ms=%u", (unsigned)(c->deadline_us / 1000));
    set(c, "protocol.patience_ms=%u", (unsigned)(c->patience_us / 1000));
}

static void draw_training(struct chaos *c, struct dice *d)
{
    bool train = one_in(d, 3);
    uint32_t batch = (uint32_t)between(d, 2, 5);

    batch += (c->segments - batch % c->segments) % c->segments;
    if (c->options.train_rows < batch)
        c->options.train_rows = batch;

    set(c, "model.embedding=%u", (unsigned)between(d, 2, 4));
    set(c, "training.batch=%u", batch);
    set(c, "training.seed=%u", (unsigned)between(d, 1, 1000));
    set(c, "training.epochs=%s", PICK(d, "1", "1.5", "2", "3"));
    set(c, "training.optimizer=%s", PICK(d, "sgd", "momentum", "adam"));
    set(c, "training.evaluate_every=%s", PICK(d, "0", "0.5", "1", "2"));
    set(c, "training.evaluate_train=%s", train ? "true" : "false");
    if (one_in(d, 6)) {
        set(c, "training.stop.metric=loss");
        set(c, "training.stop.split=train");
        set(c, "training.stop.value=0.7");
    }
}

/* A compressor in place of whatever is set. */
static void draw_compressor(struct chaos *c, struct dice *d)
{
    const char *kind = PICK(d, "scalar", "lattice", "e8", "topk");
    size_t i = 0;

    while (strncmp(c->set[i], "protocol.encoding=", 18) != 0)
        i++;
    snprintf(c->set[i], CHAOS_SET_MAX, "protocol.encoding=%s", kind);
    set(c, "protocol.bits=%u", (unsigned)between(d, 1, 8));
    set(c, "protocol.error_feedback=%s", PICK(d, "true", "false"));
    for (i = 0; c->options.party_sets[i] != NULL; i++) {
    }
    c->options.party_sets[i] = "policy.encodings=[scalar, lattice, e8, topk]";
}

/* Local views, turns, compressors: where all wait for all. */
static void draw_views(struct chaos *c, struct dice *d)
{
    const bool clear = has(c, "protocol.aggregation=clear");

    if (!c->wait || has(c, "protocol.aggregation=fedvs"))
        return;
    if (clear && one_in(d, 2))
        draw_compressor(c, d);
    if (clear && one_in(d, 4))
        set(c, "protocol.local_order=sequential");
    if (has(c, "protocol.local_iterations=2") && one_in(d, 3))
        set(c, "protocol.proximal=0.1");
    if (one_in(d, 2))
        return;
    set(c, "protocol.local_view=refreshed");
    set(c, "protocol.gradient.type=%s", PICK(d, "float32", "bfloat16", "int8"));
    if (!has(c, "model.fusion=concat") && !has(c, "model.fusion=max") && one_in(d, 2))
        set(c, "protocol.label_holders=%u", (unsigned)between(d, 1, c->options.parties));
}

void chaos_variant(struct chaos *c, uint32_t variant)
{
    struct dice d = {variant};

    memset(c, 0, sizeof *c);
    c->variant = variant;
    c->late = c->stopped = SIM_ANY;
    c->options = (struct sim_options){
        .parties = (uint32_t)between(&d, 3, CHAOS_PARTIES_MAX),
        .train_rows = (uint32_t)between(&d, 4, 14),
        .test_rows = (uint32_t)between(&d, 1, 4),
        .quiet = true,
        .watch = true,
        .unpacker = 1 << 15,
        .reconnect_us = 1000 * between(&d, 3, 30),
        .checkpoint_rounds = one_in(&d, 8) ? 0 : (uint32_t)between(&d, 1, 4),
        .keep_us = one_in(&d, 3) ? between(&d, 5000, 30000) : between(&d, 100, 4000),
    };
    if (one_in(&d, 12))
        c->options.diskless = next(&d) % (1u << CHAOS_PARTIES_MAX);
    if (!one_in(&d, 5)) /* or else it is a party's policy that refuses a set that has shrunk */
        c->options.party_sets[0] = "policy.min_parties=1";
    if (one_in(&d, 50)) /* a sweep of several rounds */
        c->options.test_rows = 1100;
    draw_protocol(c, &d);
    draw_training(c, &d);
    draw_views(c, &d);
    if (one_in(&d, 3))
        set(c, "model.head=%s",
            has(c, "protocol.local_view=refreshed") ? "[4,residual,4,tanh,add]"
                                                    : "[3,batchnorm,relu]");
    for (size_t i = 0; i < c->sets_n; i++)
        c->options.sets[i] = c->set[i];
}

/* --- trouble --- */

/* A message that somebody says in an undisturbed run, or one that only trouble brings about. */
static void draw_message(const struct chaos *c, struct dice *d, const struct chaos_calm *calm,
                         struct sim_rule *r)
{
    bool server = percent(d, 40);
    uint32_t party = (uint32_t)(next(d) % c->options.parties);
    const uint32_t *sent = calm->sent[server ? CHAOS_PARTIES_MAX : party];
    uint32_t often;

    r->from = server ? SIM_SERVER : (int)party;
    r->party = server && percent(d, 70) ? (int)party : SIM_ANY;
    if (percent(d, 8) && c->wait) {
        r->kind = server ? WIRE_REPLAY : WIRE_BEHIND;
        r->nth = (uint32_t)between(d, 1, 3);
        return;
    }
    if (r->act != SIM_KILL && percent(d, 40)) /* where stragglers are one */
        r->kind = server ? WIRE_BROADCAST : WIRE_UPLOAD;
    while (r->kind == WIRE_NONE || sent[r->kind] == 0)
        r->kind = (enum wire_kind)(1 + next(d) % (WIRE_KINDS - 1));
    often = sent[r->kind];
    if (r->party != SIM_ANY)
        often = (often + c->options.parties - 1) / c->options.parties;
    r->nth = (uint32_t)between(d, 1, often + 1);
}

static uint64_t short_us(struct dice *d)
{
    return percent(d, 70) ? between(d, 200, 20000) : between(d, 20000, 300000);
}

/* How long somebody is away, or a word is on its way. */
static uint64_t long_us(const struct chaos *c, struct dice *d)
{
    switch (next(d) % 3) {
    case 0: return c->deadline_us * between(d, 50, 150) / 100;
    case 1: return c->patience_us * between(d, 50, 150) / 100;
    default: return c->patience_us * between(d, 2, 4) + 20000000;
    }
}

static uint64_t absence_us(struct chaos *c, struct dice *d)
{
    uint64_t us = c->class == CHAOS_HARSH && one_in(d, 3) ? long_us(c, d) : short_us(d);

    c->trouble_us += us;
    return us;
}

static void draw_how(struct chaos *c, struct dice *d, struct sim_break *b, bool death)
{
    if (death && percent(d, 60))
        b->down_us = absence_us(c, d);
    if (percent(d, 45))
        b->unheard_us = absence_us(c, d);
    b->party_unaware = !death && percent(d, 50);
    b->last_words = percent(d, 50);
    c->trouble_us += c->options.reconnect_us;
    if (death)
        c->deaths_n++;
    else
        c->cuts_n++;
}

static void add_rule(struct chaos *c, struct dice *d, const struct chaos_calm *calm,
                     enum sim_act act)
{
    struct sim_rule *r = &c->rule[c->rules_n];

    if (c->rules_n == CHAOS_TROUBLES_MAX)
        return;
    c->rules_n++;
    *r = (struct sim_rule){.act = act};
    draw_message(c, d, calm, r);
    if (act == SIM_SWALLOW && (r->from == SIM_SERVER || percent(d, 50)))
        r->act =
            SIM_HOLE; /* a stream has no gaps; a party may be made to swallow a word (inject) */
    if (act == SIM_DELAY) {
        r->us = absence_us(c, d);
    } else if (act == SIM_CUT_BEFORE || act == SIM_CUT_AFTER || act == SIM_KILL) {
        if (act == SIM_KILL)
            r->party = r->from == SIM_SERVER ? r->party : SIM_ANY;
        draw_how(c, d, &r->how, act == SIM_KILL);
    }
}

/* Somewhat later than an undisturbed run would end, too: trouble takes time. */
static uint64_t moment(struct dice *d, const struct chaos_calm *calm)
{
    return between(d, 500, calm->length_us + calm->length_us / 2 + 10000);
}

static struct sim_break *add_break(struct chaos *c, struct dice *d, const struct chaos_calm *calm,
                                   bool death)
{
    struct sim_break *b = &c->happen[c->breaks_n++];
    bool server = death && percent(d, 40);

    CHECK(c->breaks_n <= 2 * CHAOS_TROUBLES_MAX);
    *b = (struct sim_break){
        .what = death ? SIM_DEATH : SIM_CUT,
        .who = server ? SIM_SERVER : (int)(next(d) % c->options.parties),
        .at_us = moment(d, calm),
    };
    draw_how(c, d, b, death);
    return b;
}

/* A death that costs more than memory. */
static void add_loss(struct chaos *c, struct dice *d, const struct chaos_calm *calm)
{
    struct sim_break *b = add_break(c, d, calm, true), *copy;

    if (percent(d, 40)) {
        b->who = SIM_SERVER;
        b->lose = between(d, 1, 6);
        return;
    }
    b->put_back = true;
    copy = &c->happen[c->breaks_n++];
    *copy = (struct sim_break){.what = SIM_COPY, .who = b->who, .at_us = between(d, 1, b->at_us)};
}

static void add_one(struct chaos *c, struct dice *d, const struct chaos_calm *calm)
{
    uint64_t roll = next(d) % 100;

    if (c->class == CHAOS_REPEATS && roll < 30)
        add_rule(c, d, calm, SIM_REPEAT);
    else if (c->class == CHAOS_HARSH && roll < 25)
        add_rule(c, d, calm, SIM_SWALLOW);
    else if (roll < 40)
        add_rule(c, d, calm, percent(d, 50) ? SIM_CUT_BEFORE : SIM_CUT_AFTER);
    else if (roll < 50)
        add_break(c, d, calm, false);
    else if (roll < 64)
        add_rule(c, d, calm, SIM_DELAY);
    else if (roll < 82)
        add_rule(c, d, calm, SIM_KILL);
    else
        add_break(c, d, calm, true);
}

void chaos_trouble(struct chaos *c, uint64_t seed, const struct chaos_calm *calm)
{
    struct dice d = {seed}, at_work = {~seed};
    uint64_t roll = next(&d) % 100, n = between(&d, 1, 6);

    c->seed = seed;
    c->class = roll < 68   ? CHAOS_GENTLE
               : roll < 82 ? CHAOS_HARSH
               : roll < 88 ? CHAOS_REPEATS
                           : CHAOS_BACK;
    c->options.unseeded = percent(&d, 20);
    c->options.jitter_us = percent(&d, 50) ? 0 : between(&d, 2, 5000);
    c->options.jitter_seed = next(&d);
    c->options.work_us = percent(&at_work, 50) ? 0 : between(&at_work, 2, 4000);
    if (percent(&d, 10)) {
        c->late = (int)(next(&d) % c->options.parties);
        c->late_us = absence_us(c, &d);
    }
    if (percent(&d, 5)) { /* an order to stop */
        c->stopped = percent(&d, 50) ? SIM_SERVER : (int)(next(&d) % c->options.parties);
        c->stop_us = moment(&d, calm);
    }
    for (uint64_t k = c->class == CHAOS_BACK ? between(&d, 1, 3) : 0; k > 0; k--)
        add_loss(c, &d, calm);
    while (n-- > 0)
        add_one(c, &d, calm);
    for (size_t i = 0; i < c->rules_n; i++)
        c->rule[i].how.what = c->rule[i].act == SIM_KILL ? SIM_DEATH : SIM_CUT;
}

void chaos_arrange(const struct chaos *c, struct sim *s)
{
    for (size_t i = 0; i < c->rules_n; i++)
        sim_rule(s, c->rule[i]);
    for (size_t i = 0; i < c->breaks_n; i++)
        sim_break_at(s, c->happen[i]);
    if (c->stopped != SIM_ANY)
        sim_stop_at(s, c->stopped, c->stop_us);
    if (c->late != SIM_ANY)
        sim_late(s, (uint32_t)c->late, c->late_us);
}

/* --- in words --- */

const char *chaos_class_name(enum chaos_class class)
{
    static const char *const names[] = {"gentle", "harsh", "repeats", "put back"};

    return names[class];
}

static const char *name(char out[16], int who)
{
    if (who == SIM_SERVER)
        return "server";
    if (who == SIM_ANY)
        return "any";
    snprintf(out, 16, "p%d", who + 1);
    return out;
}

static void print_how(const struct sim_break *b)
{
    if (b->down_us > 0)
        fprintf(stderr, ", away %.1f ms", (double)b->down_us / 1000);
    if (b->unheard_us > 0)
        fprintf(stderr, ", unheard of for %.1f ms%s", (double)b->unheard_us / 1000,
                b->party_unaware ? " by the party" : "");
    if (b->last_words)
        fprintf(stderr, ", last words arrive");
    if (b->lose > 0)
        fprintf(stderr, ", loses %zu records", b->lose);
    if (b->put_back)
        fprintf(stderr, ", put back");
    fprintf(stderr, "\n");
}

static void print_rule(const struct sim_rule *r)
{
    static const char *const acts[] = {"cut before", "cut after", "delay",     "repeat",
                                       "alter",      "swallow",   "hole from", "kill at"};
    char a[16], b[16];

    fprintf(stderr, "  %s %s %u of %s", acts[r->act], wire_kind_name(r->kind), r->nth,
            name(a, r->from));
    if (r->from == SIM_SERVER)
        fprintf(stderr, " to %s", name(b, r->party));
    if (r->act == SIM_DELAY)
        fprintf(stderr, ", %.1f ms", (double)r->us / 1000);
    print_how(&r->how);
}

void chaos_print(const struct chaos *c)
{
    static const char *const breaks[] = {"cut", "death", "copy of the disk"};
    const struct sim_options *o = &c->options;
    char a[16];

    fprintf(
        stderr,
        "schedule %llu, %s%s, variant %u: %u parties, %u + %u rows, checkpoint_rounds %u (but for "
        "%llx), keep %llu us, work %llu us, reconnect %llu us\n ",
        (unsigned long long)c->seed, chaos_class_name(c->class), o->unseeded ? ", unseeded" : "",
        c->variant, o->parties, o->train_rows, o->test_rows, o->checkpoint_rounds,
        (unsigned long long)o->diskless, (unsigned long long)o->keep_us,
        (unsigned long long)o->work_us, (unsigned long long)o->reconnect_us);
    for (size_t i = 0; i < c->sets_n; i++)
        fprintf(stderr, " %s", c->set[i]);
    fprintf(stderr, "\n");
    if (c->late != SIM_ANY)
        fprintf(stderr, "  %s comes at %.1f ms\n", name(a, c->late), (double)c->late_us / 1000);
    if (c->stopped != SIM_ANY)
        fprintf(stderr, "  %s is stopped at %.1f ms\n", name(a, c->stopped),
                (double)c->stop_us / 1000);
    for (size_t i = 0; i < c->rules_n; i++)
        print_rule(&c->rule[i]);
    for (size_t i = 0; i < c->breaks_n; i++) {
        const struct sim_break *b = &c->happen[i];
        fprintf(stderr, "  %s of %s at %.1f ms", breaks[b->what], name(a, b->who),
                (double)b->at_us / 1000);
        print_how(b);
    }
}
