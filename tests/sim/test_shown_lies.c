/* test_shown_lies.c -- a server that shows what no sum, upload or head can be; parties whose
 * compressed uploads are none: each is refused in one line that names who said it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/bits.h"
#include "common/compress/down.h"
#include "party/core.h"
#include "tests/sim/expect.h"
#include "tests/sim/world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;

enum { ROWS = 3, WIDTH = 3, SETS = 8, BLOB_MAX = 4096 };

#define REFRESHED "protocol.local_view=refreshed"
#define CLEAR "protocol.aggregation=clear"

static struct sim_options options_of(const char *const sets[SETS])
{
    struct sim_options o = {
        .parties = 3,
        .train_rows = 12,
        .quiet = true,
        .sets = {"protocol.patience_ms=2000", "model.embedding=3"},
        .party_sets = {"policy.encodings=[pbm, fixed, float32, gaussian, scalar, lattice, e8, "
                       "topk]"},
    };

    for (size_t i = 0; i < SETS && sets[i] != NULL; i++)
        o.sets[2 + i] = sets[i];
    return o;
}

/* --- lies of the server --- */

struct lie {
    const char *name;
    const char *sets[SETS];
    void (*spoil)(uint8_t *blob, const struct down *d);
    const char *words;
};

static uint8_t *shown_in(uint8_t *blob, const struct down *d)
{
    return blob + 4 * down_shown_at(d, ROWS);
}

static void put_float(uint8_t *to, float x)
{
    memcpy(to, &x, sizeof x);
}

static void all_ones(uint8_t *blob, const struct down *d)
{
    shown_in(blob, d)[0] = 0xff;
}

static void spare_bits(uint8_t *blob, const struct down *d)
{
    shown_in(blob, d)[down_shown_bytes(d, ROWS) - 1] |= 0x80;
}

static void filling(uint8_t *blob, const struct down *d)
{
    shown_in(blob, d)[down_shown_bytes(d, ROWS)] = 1;
}

static void no_number(uint8_t *blob, const struct down *d)
{
    put_float(shown_in(blob, d), NAN);
}

static void no_end(uint8_t *blob, const struct down *d)
{
    put_float(shown_in(blob, d) + 8, -INFINITY);
}

static void too_much(uint8_t *blob, const struct down *d)
{
    put_float(shown_in(blob, d) + 4, 100);
}

static void other_gradient(uint8_t *blob, const struct down *d)
{
    (void)d;
    put_float(blob, NAN);
}

static void head_nan(uint8_t *blob, const struct down *d)
{
    put_float(blob + 4 * down_head_at(d, ROWS) + 4, NAN);
}

static void head_ones(uint8_t *blob, const struct down *d)
{
    memset(blob + 4 * down_head_at(d, ROWS), 0xff, down_head_bytes(d));
}

/* Only the last filled byte; the plan's sizes leave some. */
static void head_filling(uint8_t *blob, const struct down *d)
{
    blob[4 * down_words(d, ROWS) - 1] |= 0x80;
}

static void head_scale(uint8_t *blob, const struct down *d)
{
    put_float(blob + 4 * down_head_at(d, ROWS), INFINITY);
}

/* Of member 0; the lie is told to member 1. */
static void scale_nan(uint8_t *blob, const struct down *d)
{
    put_float(shown_in(blob, d), NAN);
}

static void scale_below_0(uint8_t *blob, const struct down *d)
{
    put_float(shown_in(blob, d), -0.5f);
}

/* Codes that a message of zeros does not have. */
static void codes_without_a_scale(uint8_t *blob, const struct down *d)
{
    put_float(shown_in(blob, d), 0);
    shown_in(blob, d)[4] = 1;
}

/* Of member 2. */
static void padding(uint8_t *blob, const struct down *d)
{
    shown_in(blob, d)[3 * down_payload_bytes(d, ROWS) - 1] |= 0x80;
}

static void index_beyond(uint8_t *blob, const struct down *d)
{
    shown_in(blob, d)[0] = 3; /* of three columns, in two bits */
}

static void value_nan(uint8_t *blob, const struct down *d)
{
    put_float(shown_in(blob, d) + 1, NAN); /* behind one byte of index */
}

#define MASKED_PBM REFRESHED, "protocol.encoding=pbm"
#define CLEAR_FLOAT REFRESHED, CLEAR, "protocol.encoding=float32"
#define STRANGE "the server: step 0: "

static const struct lie lies[] = {
    {"sum above the most", {MASKED_PBM}, all_ones, STRANGE "a shown sum above 48"},
    {"spare bits", {MASKED_PBM}, spare_bits, "end in bits that are not 0"},
    {"filling behind sums", {MASKED_PBM}, filling, "something behind it"},
    {"the same, coded",
     {REFRESHED, "protocol.aggregation=coded"},
     all_ones,
     STRANGE "a shown sum above 48"},
    {"NaN in a head", {MASKED_PBM}, head_nan, STRANGE "a head that is none"},
    {"NaN in a bfloat16 head",
     {MASKED_PBM, "protocol.gradient.type=bfloat16"},
     head_ones,
     "a head that is none"},
    {"no scale of an int8 head",
     {MASKED_PBM, "protocol.gradient.type=int8"},
     head_ones,
     "a head that is none"},
    {"NaN in a holder's gradient",
     {MASKED_PBM, "protocol.label_holders=2"},
     other_gradient,
     "the server: a gradient with a value that is not finite"},
    {"NaN in a gradient of who holds none",
     {MASKED_PBM, "protocol.label_holders=1"},
     other_gradient,
     "the server: a gradient with a value that is not finite"},
    {"NaN for a sum", {CLEAR_FLOAT}, no_number, STRANGE "a shown sum that is not a number in"},
    {"infinity for a sum", {CLEAR_FLOAT}, no_end, STRANGE "a shown sum that is not a number in"},
    {"a float sum above the most", {CLEAR_FLOAT}, too_much, "a shown sum that is not a number in"},
    {"a code above the most",
     {MASKED_PBM, CLEAR, "model.fusion=concat"},
     all_ones,
     STRANGE "shown of member 0: a code above 16"},
    {"a value in a concatenation",
     {CLEAR_FLOAT, "model.fusion=concat"},
     too_much,
     STRANGE "shown of member 0: a value that is not a number"},
    {"scale not a number",
     {REFRESHED, CLEAR, "protocol.encoding=e8"},
     scale_nan,
     STRANGE "shown of member 0: what no compressor makes"},
    {"scale below 0",
     {REFRESHED, CLEAR, "protocol.encoding=scalar", "model.fusion=concat"},
     scale_below_0,
     STRANGE "shown of member 0: what no compressor makes"},
    {"codes without a scale",
     {REFRESHED, CLEAR, "protocol.encoding=scalar"},
     codes_without_a_scale,
     "shown of member 0: what no compressor makes"},
    {"padding of a payload",
     {REFRESHED, CLEAR, "protocol.encoding=scalar", "protocol.bits=3"},
     padding,
     "shown of member 2: what no compressor makes"},
    {"a column that is not there",
     {REFRESHED, CLEAR, "protocol.encoding=topk"},
     index_beyond,
     "shown of member 0: what no compressor makes"},
    {"a component that is no number",
     {REFRESHED, CLEAR, "protocol.encoding=topk"},
     value_nan,
     "shown of member 0: what no compressor makes"},
    {"a head's scale",
     {REFRESHED, CLEAR, "protocol.encoding=e8"},
     head_scale,
     "a head that is none"},
    {"a head's filling",
     {REFRESHED, CLEAR, "protocol.encoding=topk", "protocol.head_bits=3"},
     head_filling,
     "a head that is none"},
};

struct liar {
    struct sim *sim;
    const struct lie *lie;
    uint8_t blob[BLOB_MAX];
    bool told;
};

static void tell(struct wire_msg *m, void *owner)
{
    struct liar *l = owner;
    struct down d;

    if (!m->broadcast.closes)
        return;
    down_of(&d, &l->sim->plan);
    assert_true(m->broadcast.gradient.n <= BLOB_MAX);
    memcpy(l->blob, m->broadcast.gradient.data, m->broadcast.gradient.n);
    l->lie->spoil(l->blob, &d);
    m->broadcast.gradient.data = l->blob;
    l->told = true;
}

/* One line, which names the server; exit code 3; nothing leaves after it. */
static void expect_found_out(struct sim *s, const char *name, const char *words, uint64_t uploaded)
{
    const struct sim_end *end = sim_party_end(s, 1);

    assert_true(end->over);
    if (end->outcome != OUTCOME_FAILED)
        fail_msg("%s: not refused: %d %s", name, (int)end->outcome, end->error.text);
    if (strstr(end->error.text, words) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", name, end->error.text, words);
    assert_memory_equal(end->error.text, "the server", strlen("the server"));
    assert_null(strchr(end->error.text, '\n'));
    assert_int_equal(status_kind(end->error.status), STATUS_KIND_PEER);
    assert_int_equal(sim_uploaded(s, 1), uploaded);
    assert_true(sim_server_end(s)->over);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
}

/* The run in which p2 alone is told this at the end of the first step. */
static struct sim *run_with_lie(const struct lie *lie)
{
    static struct liar l;
    struct sim_options o = options_of(lie->sets);

    l = (struct liar){.sim = sim_new(&o), .lie = lie};
    sim_rule(l.sim, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 1,
                                      .kind = WIRE_BROADCAST,
                                      .nth = 2,
                                      .alter = tell,
                                      .owner = &l});
    sim_run(l.sim, HOUR_US);
    assert_true(l.told);
    return l.sim;
}

static void test_what_no_server_can_show_is_refused_in_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct sim *s = run_with_lie(&lies[i]);

        expect_found_out(s, lies[i].name, lies[i].words, ROWS);
        sim_free(s);
    }
}

/* The twin: the same plans without a lie. */
static void test_the_same_plans_run_to_their_end_without_lies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct sim_options o = options_of(lies[i].sets);
        struct sim *s = sim_new(&o);

        sim_run(s, HOUR_US);
        expect_completed(s);
        sim_free(s);
    }
}

/* --- sizes --- */

static void resize(struct wire_msg *m, void *owner)
{
    static uint8_t longer[BLOB_MAX];
    const int by = *(const int *)owner;

    memcpy(longer, m->broadcast.gradient.data, m->broadcast.gradient.n);
    m->broadcast.gradient.data = longer;
    m->broadcast.gradient.n += (size_t)by;
}

static void test_another_size_is_refused(void **state)
{
    static const char *const sets[][SETS] = {
        {MASKED_PBM}, {CLEAR_FLOAT}, {REFRESHED, CLEAR, "protocol.encoding=lattice"}};
    static int sizes[] = {-4, 4, -12};

    (void)state;
    for (size_t k = 0; k < 9; k++) {
        struct sim_options o = options_of(sets[k / 3]);
        struct sim *s = sim_new(&o);

        sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                      .from = SIM_SERVER,
                                      .party = 1,
                                      .kind = WIRE_BROADCAST,
                                      .nth = 2,
                                      .alter = resize,
                                      .owner = &sizes[k % 3]});
        sim_run(s, HOUR_US);
        expect_found_out(s, "another size", "wrong size", ROWS);
        sim_free(s);
    }
}

/* --- replays --- */

static void spoil_replay(struct wire_msg *m, void *owner)
{
    struct liar *l = owner;
    struct down d;

    down_of(&d, &l->sim->plan);
    assert_true(m->replay.gradient.n <= BLOB_MAX);
    memcpy(l->blob, m->replay.gradient.data, m->replay.gradient.n);
    l->lie->spoil(l->blob, &d);
    m->replay.gradient.data = l->blob;
    l->told = true;
}

/* p2 died after it had closed a step, and is replayed what it never was sent. */
static void test_a_replay_is_looked_at_like_a_broadcast(void **state)
{
    static const size_t which[] = {0, 1, 2, 4, 7, 9, 12, 14, 18, 20};

    (void)state;
    for (size_t i = 0; i < sizeof which / sizeof *which; i++) {
        struct sim_options o = options_of(lies[which[i]].sets);
        struct liar l = {.lie = &lies[which[i]]};

        o.checkpoint_rounds = 50;
        l.sim = sim_new(&o);
        sim_rule(l.sim, (struct sim_rule){.act = SIM_KILL,
                                          .from = 1,
                                          .kind = WIRE_UPLOAD,
                                          .nth = 3,
                                          .how = {.down_us = 1000}});
        sim_rule(l.sim, (struct sim_rule){.act = SIM_ALTER,
                                          .from = SIM_SERVER,
                                          .party = 1,
                                          .kind = WIRE_REPLAY,
                                          .alter = spoil_replay,
                                          .owner = &l});
        sim_run(l.sim, HOUR_US);
        assert_true(l.told);
        /* The one that could not leave is counted. */
        expect_found_out(l.sim, lies[which[i]].name, lies[which[i]].words, 3 * ROWS);
        sim_free(l.sim);
    }
}

/* --- one party is shown something else that could be --- */

static void one_bit(uint8_t *blob, const struct down *d)
{
    blob[4 * down_head_at(d, ROWS)] ^= 1;
}

static void no_sums(uint8_t *blob, const struct down *d)
{
    memset(shown_in(blob, d), 0, down_shown_bytes(d, ROWS));
}

/* 48 each, in 6 bits. */
static void full_sums(uint8_t *blob, const struct down *d)
{
    uint32_t sum[ROWS * WIDTH];

    for (size_t i = 0; i < ROWS * WIDTH; i++)
        sum[i] = 48;
    bits_pack32(shown_in(blob, d), sum, ROWS * WIDTH, 6);
}

/* Whether a sum could be with the own code is not looked at: a refusal would tell the code.  What
 * comes of such a sum hides itself, for the masks of two who were shown different things do not
 * cancel. */
static void test_what_could_be_is_noise_when_it_is_shown_to_one_party_alone(void **state)
{
    static const struct lie plausible[] = {
        {"a bit of the head", {MASKED_PBM}, one_bit, NULL},
        {"sums below the own codes", {MASKED_PBM}, no_sums, NULL},
        {"sums above the others' most", {MASKED_PBM}, full_sums, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof plausible / sizeof *plausible; i++) {
        struct sim *s = run_with_lie(&plausible[i]);

        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_FAILED);
        assert_int_equal(sim_server_end(s)->error.status, STATUS_INTEGRITY);
        assert_true(sim_server_report(s)->integrity_failures > 0);
        sim_free(s);
    }
}

/* --- lies of a party --- */

struct forged {
    const char *name, *kind;
    size_t at;
    float value;     /* at 0: the scale, or under top-k behind the index */
    uint8_t or_byte; /* instead, when not 0 */
    int more;        /* instead, when not 0: so many bytes */
    bool fine;       /* it is bounded, and goes through */
};

static const struct forged forgeries[] = {
    {"NaN scale", "e8", 0, NAN, 0, 0, false},
    {"infinite scale", "lattice", 0, INFINITY, 0, 0, false},
    {"scale below 0", "scalar", 0, -1, 0, 0, false},
    {"padding", "scalar", 7, 0, 0x80, 0, false}, /* 27 bits of nine codes */
    {"a column too many", "topk", 0, 0, 3, 0, false},
    {"NaN behind the index", "topk", 1, NAN, 0, 0, false},
    {"a byte less", "e8", 0, 0, 0, -1, false},
    {"a byte more", "topk", 0, 0, 0, 1, false},
    {"a scale beyond all", "e8", 0, 3e38f, 0, 0, false},
    {"a scale beyond the clip", "e8", 0, 1e6f, 0, 0, true},
    {"a component beyond all", "topk", 1, -3e38f, 0, 0, true},
};

static void forge(struct wire_msg *m, void *owner)
{
    static uint8_t payload[256];
    const struct forged *f = owner;

    memcpy(payload, m->upload.payload.data, m->upload.payload.n);
    if (f->or_byte != 0)
        payload[f->at] |= f->or_byte;
    else if (f->more == 0)
        put_float(payload + f->at, f->value);
    m->upload.payload.data = payload;
    m->upload.payload.n += (size_t)f->more;
}

static struct sim *after_forgery(const struct forged *f, const char *straggler)
{
    static char kind[64];
    const char *const sets[SETS] = {CLEAR, kind, straggler, "protocol.bits=3"};
    struct sim_options o;
    struct sim *s;

    snprintf(kind, sizeof kind, "protocol.encoding=%s", f->kind);
    o = options_of(sets);
    s = sim_new(&o);
    sim_rule(s, (struct sim_rule){.act = SIM_ALTER,
                                  .from = 1,
                                  .kind = WIRE_UPLOAD,
                                  .nth = 2,
                                  .alter = forge,
                                  .owner = (void *)(uintptr_t)f});
    sim_run(s, HOUR_US);
    return s;
}

static void test_an_upload_that_no_compressor_makes_drops_its_party(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        const struct forged *f = &forgeries[i];
        struct sim *s = after_forgery(f, "protocol.straggler=wait");
        const struct sim_end *liar = sim_party_end(s, 1);

        if (f->fine) {
            expect_completed(s);
            for (uint32_t k = 0; k < 15; k++) /* weights of the bottom's first layer */
                assert_true(isfinite(party_session_bottom(s->party[1].session)->layer[0].w[k % 8]));
            sim_free(s);
            continue;
        }
        if (liar->outcome != OUTCOME_FAILED || status_kind(liar->error.status) != STATUS_KIND_PEER)
            fail_msg("%s: not refused: %s", f->name, liar->error.text);
        if (strstr(liar->error.text, f->more != 0 ? "bytes" : "what no compressor makes") == NULL)
            fail_msg("%s: \"%s\"", f->name, liar->error.text);
        assert_non_null(strstr(sim_server_end(s)->error.text, "p2"));
        assert_int_equal(status_kind(sim_server_end(s)->error.status), STATUS_KIND_NET);
        sim_free(s);
        s = after_forgery(f, "protocol.straggler=drop"); /* the others go on */
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(sim_party_end(s, 1)->outcome, OUTCOME_FAILED);
        sim_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_no_server_can_show_is_refused_in_one_line),
        cmocka_unit_test(test_the_same_plans_run_to_their_end_without_lies),
        cmocka_unit_test(test_another_size_is_refused),
        cmocka_unit_test(test_a_replay_is_looked_at_like_a_broadcast),
        cmocka_unit_test(test_what_could_be_is_noise_when_it_is_shown_to_one_party_alone),
        cmocka_unit_test(test_an_upload_that_no_compressor_makes_drops_its_party),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
