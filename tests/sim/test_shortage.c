/* test_shortage.c -- each allocation of a whole run fails once: whoever it happens to says so and
 * ends in order, the others end with it or go on, no model is wrong, nothing leaks, and the next
 * run is as if nothing had been.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/sim.h"

#include "common/base/check.h"
#include "common/base/mem.h"
#include "party/core.h"
#include "server/parts.h"
#include "tests/lib/instrumented.h"
#include "tests/lib/openssl_mem.h"
#include "tests/sim/disk.h"

#include <openssl/err.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull
enum { PARTIES = 3 };

/* --- memory that is short once, in the sessions and never in the world around them --- */

/* What allocates is told apart: our own code (mem_alloc, the arena of secrets) and OpenSSL. */
enum shortage_of { SHORTAGE_OURS, SHORTAGE_OPENSSL };

enum { SHORTAGE_NOBODY = -2, SHORTAGE_SERVER = -1 };

static const struct allocator {
    void (*fail_at)(uint64_t n);
    uint64_t (*fail_left)(void);
} allocators[] = {
    [SHORTAGE_OURS] = {mem_fail_at, mem_fail_left},
    [SHORTAGE_OPENSSL] = {openssl_mem_fail_at, openssl_mem_fail_left},
};
static const struct allocator *kind;
static bool on;
static uint64_t asked, left, counted;
static int failed = SHORTAGE_NOBODY;
static unsigned depth; /* of calls into sessions */

/* --- the sessions, called through wrappers (--wrap in the Makefile) --- */

enum { UNREACHED = 1 << 30 };

/* A process that begins is outside sessions, and finds its shares on the disk then. */
static void resume(void)
{
    if (on && depth > 0)
        kind->fail_at(asked == 0 ? UNREACHED - counted : left);
}

static void suspend(void)
{
    if (!on || depth == 0)
        return;
    left = kind->fail_left();
    counted = asked == 0 ? UNREACHED - left : counted;
    kind->fail_at(0);
}

static void enter(void)
{
    if (depth++ == 0)
        resume();
}

static void leave(int who)
{
    if (depth == 1)
        suspend();
    if (--depth > 0)
        return;
    if (on && asked > 0 && left == 0 && failed == SHORTAGE_NOBODY)
        failed = who;
    ERR_clear_error();
}

/* From now on the n-th allocation of a session fails, once; 0: none, they are counted. */
static void shortage_begin(enum shortage_of whose, uint64_t n)
{
    kind = &allocators[whose];
    asked = left = n;
    counted = 0;
    failed = SHORTAGE_NOBODY;
    on = true;
}

/* How many there were since, and whose session it was that failed (SHORTAGE_NOBODY: none). */
static uint64_t shortage_end(int *who)
{
    on = false;
    if (who != NULL)
        *who = failed;
    return counted;
}

void __real_server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                                struct actions *out);
void __wrap_server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                                struct actions *out);
void __real_server_session_work(struct server_session *s, struct actions *out);
void __wrap_server_session_work(struct server_session *s, struct actions *out);
void __real_party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                               struct actions *out);
void __wrap_party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                               struct actions *out);
void __real_party_session_work(struct party_session *p);
void __wrap_party_session_work(struct party_session *p);

void __wrap_server_session_step(struct server_session *s, uint64_t now_us, const struct event *e,
                                struct actions *out)
{
    enter();
    __real_server_session_step(s, now_us, e, out);
    leave(SHORTAGE_SERVER);
}

void __wrap_server_session_work(struct server_session *s, struct actions *out)
{
    enter();
    __real_server_session_work(s, out);
    leave(SHORTAGE_SERVER);
}

void __wrap_party_session_step(struct party_session *p, uint64_t now_us, const struct event *e,
                               struct actions *out)
{
    enter();
    __real_party_session_step(p, now_us, e, out);
    leave((int)p->setup.self);
}

void __wrap_party_session_work(struct party_session *p)
{
    enter();
    __real_party_session_work(p);
    leave((int)p->setup.self);
}

/* --- what they say is packed by their drivers --- */

enum status __real_world_pack(struct sim *s, int who, const struct wire_msg *m);
enum status __wrap_world_pack(struct sim *s, int who, const struct wire_msg *m);

enum status __wrap_world_pack(struct sim *s, int who, const struct wire_msg *m)
{
    enum status st;

    enter();
    st = __real_world_pack(s, who, m);
    leave(who);
    return st;
}

/* What is recalled goes to a buffer of the session's. */
void __real_disk_recall(struct sim *s, const struct action *a, struct error *err);
void __wrap_disk_recall(struct sim *s, const struct action *a, struct error *err);

void __wrap_disk_recall(struct sim *s, const struct action *a, struct error *err)
{
    enter();
    __real_disk_recall(s, a, err);
    leave(SHORTAGE_SERVER);
}

/* --- the disks, which sessions call, are of the world --- */

static struct party_holdings holdings;

static enum status holdings_map(void *owner, uint8_t **memory, size_t *bytes, struct error *err)
{
    enum status s;

    suspend();
    s = holdings.map(owner, memory, bytes, err);
    resume();
    return s;
}

struct party_holdings __real_disk_holdings(struct sim_disk *d);
struct party_holdings __wrap_disk_holdings(struct sim_disk *d);

struct party_holdings __wrap_disk_holdings(struct sim_disk *d)
{
    struct party_holdings watched = holdings = __real_disk_holdings(d);

    watched.map = holdings_map;
    return watched;
}

/* --- runs --- */

struct models {
    char of[PARTIES + 1][65];
};

static bool all_completed(struct sim *s)
{
    bool all = sim_server_end(s)->outcome == OUTCOME_COMPLETED;

    for (uint32_t i = 0; i < PARTIES; i++)
        all = all && sim_party_end(s, i)->outcome == OUTCOME_COMPLETED;
    return all;
}

static void take_models(struct sim *s, struct models *m)
{
    for (int who = SIM_SERVER; who < PARTIES; who++)
        sim_model(s, who, m->of[who + 1]);
}

static const struct sim_end *end_of(const struct sim *s, int who)
{
    return who == SHORTAGE_SERVER ? sim_server_end(s) : sim_party_end(s, (uint32_t)who);
}

/* The one that was short says so, as its own fault, which is nobody else's. */
static void expect_blame(const struct sim *s, int who, uint64_t n)
{
    const struct sim_end *own = end_of(s, who);

    for (int i = SIM_SERVER; i < PARTIES; i++) {
        const struct sim_end *end = end_of(s, i);

        if (!end->over)
            fail_msg("allocation %llu: %d has not ended", (unsigned long long)n, i);
        if (end->outcome != OUTCOME_COMPLETED && end->error.text[0] == 0)
            fail_msg("allocation %llu: %d does not say why", (unsigned long long)n, i);
    }
    if (own->outcome == OUTCOME_COMPLETED || status_kind(own->error.status) != STATUS_KIND_LOCAL)
        fail_msg("allocation %llu, of %d: %s", (unsigned long long)n, who, own->error.text);
}

/* One run, its n-th allocation failing.  0: none fails, and *m is what comes out. */
static uint64_t run(const struct sim_options *o, enum shortage_of whose, uint64_t n,
                    struct models *m, bool *survived)
{
    struct sim *s = sim_new(o);
    struct models got;
    uint64_t seen;
    int who;

    if (o->checkpoint_rounds > 0) /* one process dies, and its next one catches up */
        sim_rule(s, (struct sim_rule){.act = SIM_KILL, .from = 1, .kind = WIRE_UPLOAD, .nth = 3});
    shortage_begin(whose, n);
    sim_run(s, HOUR_US);
    seen = shortage_end(&who);
    assert_int_equal(who == SHORTAGE_NOBODY, n == 0);
    *survived = all_completed(s);
    if (*survived)
        take_models(s, &got);
    else
        expect_blame(s, who, n);
    if (n == 0)
        *m = got;
    else if (*survived && memcmp(m, &got, sizeof got) != 0)
        fail_msg("allocation %llu: another model", (unsigned long long)n);
    sim_free(s);
    return seen;
}

/* Every how many-th allocation fails; TEST_EVERY=1: each.  OpenSSL has some seven times as many as
 * we, and most in what is the same in every run. */
static uint64_t every(enum shortage_of whose)
{
    const char *text = getenv("TEST_EVERY");
    const uint64_t slow = INSTRUMENTED ? 5 : 1;

    if (text != NULL)
        return strtoull(text, NULL, 10);
    return slow * (whose == SHORTAGE_OURS ? 1 : 7);
}

/* Those before the n-th, `from`, do not. */
static void each_fails_once_from(const struct sim_options *o, enum shortage_of whose, uint64_t from,
                                 const char *what)
{
    const uint64_t step = every(whose);
    struct models want;
    uint64_t all, ended = 0, went_on = 0;
    int64_t live;
    bool survived;

    (void)run(o, whose, 0, &want, &survived); /* what the library allocates once */
    live = openssl_mem_live();
    all = run(o, whose, 0, &want, &survived);
    assert_true(survived);
    assert_int_equal(openssl_mem_live(), live);
    for (uint64_t n = from; n <= all; n += step) {
        (void)run(o, whose, n, &want, &survived);
        *(survived ? &went_on : &ended) += 1;
        if (openssl_mem_live() != live)
            fail_msg("allocation %llu: %lld blocks are left", (unsigned long long)n,
                     (long long)(openssl_mem_live() - live));
    }
    print_message("%s, %s: %llu allocations, %llu failed, once each: %llu ended in order, %llu "
                  "went on\n",
                  what, whose == SHORTAGE_OURS ? "ours" : "of OpenSSL", (unsigned long long)all,
                  (unsigned long long)(ended + went_on), (unsigned long long)ended,
                  (unsigned long long)went_on);
    assert_true(all > 0 && ended > 0);
    (void)run(o, whose, 0, &want, &survived);
    assert_true(survived);
}

static void each_fails_once(const struct sim_options *o, enum shortage_of whose, const char *what)
{
    each_fails_once_from(o, whose, 1, what);
}

static struct sim_options masked(void)
{
    return (struct sim_options){.parties = PARTIES, .quiet = true};
}

static struct sim_options coded(void)
{
    struct sim_options o = masked();

    o.sets[0] = "protocol.aggregation=coded";
    return o;
}

static struct sim_options fedvs(void)
{
    struct sim_options o = masked();

    o.sets[0] = "protocol.aggregation=fedvs";
    o.sets[1] = "protocol.fedvs.segments=1";
    o.party_sets[0] = "model.layers=[]";
    o.party_sets[1] = "model.polynomial.degree=1";
    return o;
}

/* With checkpoints, and a journal from which the others catch up. */
static struct sim_options kept(struct sim_options o)
{
    o.checkpoint_rounds = 1;
    return o;
}

static struct sim_options kept_masked(void)
{
    return kept(masked());
}

static struct sim_options kept_coded(void)
{
    return kept(coded());
}

static struct sim_options kept_fedvs(void)
{
    return kept(fedvs());
}

static struct sim_options dp(void)
{
    struct sim_options o = masked();

    o.sets[0] = "protocol.local_iterations=2";
    o.party_sets[0] = "model.train=dp";
    o.party_sets[1] = "model.noise=0.5";
    o.party_sets[2] = "model.clip=0.1";
    return o;
}

/* Dithered lattices, whose messages take their dithers from a cipher. */
static struct sim_options compressed(void)
{
    struct sim_options o = masked();

    o.sets[0] = "protocol.aggregation=clear";
    o.sets[1] = "protocol.encoding=e8";
    o.party_sets[0] = "policy.encodings=[e8]";
    return o;
}

static struct sim_options frozen_once(void)
{
    struct sim_options o = masked();

    o.sets[0] = "training.releases=once";
    o.party_sets[0] = "model.train=frozen";
    return o;
}

#define EACH(options)                                                                              \
    static void test_##options##_without_one_block_of_ours(void **state)                           \
    {                                                                                              \
        struct sim_options o = options();                                                          \
        (void)state;                                                                               \
        each_fails_once(&o, SHORTAGE_OURS, #options);                                              \
    }                                                                                              \
    static void test_##options##_without_one_block_of_openssl(void **state)                        \
    {                                                                                              \
        struct sim_options o = options();                                                          \
        (void)state;                                                                               \
        each_fails_once(&o, SHORTAGE_OPENSSL, #options);                                           \
    }

EACH(masked)
EACH(coded)
EACH(fedvs)
EACH(kept_masked)
EACH(kept_coded)
EACH(kept_fedvs)
EACH(dp)
EACH(frozen_once)
EACH(compressed)

/* Beyond round 256 keys move on, which takes memory: what a short run takes is left out here. */
static void test_steps_of_the_ratchet_without_one_block(void **state)
{
    struct sim_options (*const all[])(void) = {masked, coded, fedvs};
    static const char *const names[] = {"masked, 300 rounds", "coded, 300 rounds",
                                        "fedvs, 300 rounds"};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct sim_options o = all[i]();
        struct models m;
        bool survived;
        uint64_t before = run(&o, SHORTAGE_OPENSSL, 0, &m, &survived);

        o.sets[2] = "training.epochs=150";
        o.sets[0] = o.sets[0] == NULL ? "training.batch=3" : o.sets[0];
        o.sets[1] = o.sets[1] == NULL ? "training.evaluate_every=150" : o.sets[1];
        each_fails_once_from(&o, SHORTAGE_OPENSSL, before, names[i]);
    }
}

int main(void)
{
#define BOTH(options)                                                                              \
    cmocka_unit_test(test_##options##_without_one_block_of_ours),                                  \
        cmocka_unit_test(test_##options##_without_one_block_of_openssl)
    const struct CMUnitTest tests[] = {
        BOTH(masked),     BOTH(coded),
        BOTH(fedvs),      BOTH(kept_masked),
        BOTH(kept_coded), BOTH(kept_fedvs),
        BOTH(dp),         BOTH(frozen_once),
        BOTH(compressed), cmocka_unit_test(test_steps_of_the_ratchet_without_one_block),
    };

    openssl_mem_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
