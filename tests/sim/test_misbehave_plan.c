/* test_misbehave_plan.c -- plans that nobody can mean: every key at the ends of its range, beyond
 * them, and in every spelling that is not its own; texts that are no plan; products beyond all
 * memory.  p2 is told so in its first offer: it refuses, or says its hello to a plan that the
 * others do not have.  Either way it sends and spends nothing, and nothing of it takes long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/misbehave_scripts.h"

#include "common/base/check.h"
#include "common/config/plan_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { VALUE_MAX = 128, CHANGES_MAX = 4 };

/* Values of some keys, "protocol.clip=2". */
struct absurd {
    const char *set[CHANGES_MAX];
    bool skipped; /* that is what the plan says anyway */
};

/* The line of this key gets this value; false: it has it. */
static bool change_line(char *plan, size_t size, const char *set)
{
    size_t key_n = (size_t)(strchr(set, '=') - set) + 1;
    char *at = plan, *end;
    char rest[PLAN_TEXT_MAX + VALUE_MAX];

    while (strncmp(at, set, key_n) != 0) {
        at = strchr(at, '\n');
        CHECK(at != NULL);
        at++;
    }
    end = strchr(at, '\n');
    if ((size_t)(end - at) == strlen(set) && strncmp(at, set, strlen(set)) == 0)
        return false;
    snprintf(rest, sizeof rest, "%s", end);
    snprintf(at, size - (size_t)(at - plan), "%s%s", set, rest);
    return true;
}

static void set_text(struct flight *f, const char *plan, size_t n)
{
    struct wire_msg msg = mis_unpack(&f->frame);
    static uint8_t members[MIS_PARTIES] = {0, 1, 2};

    msg.offer.job.text = (struct wire_bytes){(const uint8_t *)plan, n};
    msg.offer.members = (struct wire_bytes){members, sizeof members};
    mis_pack(&f->frame, &msg);
}

static void get_text(char plan[PLAN_TEXT_MAX + VALUE_MAX], const struct flight *f)
{
    const struct wire_msg msg = mis_unpack(&f->frame);

    CHECK(msg.offer.job.text.n < PLAN_TEXT_MAX);
    memcpy(plan, msg.offer.job.text.data, msg.offer.job.text.n);
    plan[msg.offer.job.text.n] = 0;
}

static void set_values(struct mis *m, struct flight *f)
{
    const struct absurd *a = m->owner;
    char plan[PLAN_TEXT_MAX + VALUE_MAX];

    get_text(plan, f);
    for (size_t i = 0; i < CHANGES_MAX && a->set[i] != NULL; i++)
        m->skipped |= !change_line(plan, sizeof plan, a->set[i]);
    if (!m->skipped)
        set_text(f, plan, strlen(plan));
}

/* p2 is offered a plan in its first offer. */
static void try_offer(struct mis_tally *t, void (*act)(struct mis *, struct flight *), void *owner,
                      const char *name)
{
    struct mis m = {.act = act, .owner = owner, .taken = true, .mute = true};

    while (t->script->at[m.at].kind != WIRE_OFFER)
        m.at++;
    snprintf(m.name, sizeof m.name, "%.100s", name);
    mis_expect(t, &m, MIS(REFUSED) | MIS(POLICY) | MIS(DATA));
}

static void try_value(struct mis_tally *t, const char *path, const char *value)
{
    char set[KEY_PATH_MAX + VALUE_MAX];
    struct absurd a = {.set = {set}};

    snprintf(set, sizeof set, "%s=%s", path, value);
    try_offer(t, set_values, &a, set);
}

/* --- by type --- */

static bool takes_reals(const struct key *k)
{
    return k->type == KEY_REAL || k->type == KEY_AUTO;
}

static void try_number(struct mis_tally *t, const struct key *k)
{
    static const char *const strange[] = {
        "",
        "-1",
        "-0",
        "nan",
        "NaN",
        "-nan",
        "inf",
        "-inf",
        "1e999",
        "1e-999",
        "0x10",
        "0x1p4",
        "1e2",
        "+1",
        " 1",
        "1 ",
        "01",
        "1,5",
        "1.5",
        "4294967296",
        "1_0",
        "1k",
        "18446744073709551615",
        "18446744073709551616",
        "340282366920938463463374607431768211456",
        "0.1000000000000000000000000000000000000000000000000000000000000000000000001"};
    char value[VALUE_MAX];
    const double ends[] = {k->lo, k->hi, k->lo - 1, k->hi + 1, -k->hi, 2 * k->hi, k->hi * 1e9};

    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        try_value(t, k->path, strange[i]);
    if (k->type == KEY_AUTO)
        try_value(t, k->path, "auto");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(value, sizeof value, takes_reals(k) ? "%.17g" : "%.0f", ends[i]);
        try_value(t, k->path, value);
    }
    if (!takes_reals(k))
        return;
    snprintf(value, sizeof value, "%.17g", k->hi * (1 + 1e-15));
    try_value(t, k->path, value);
    snprintf(value, sizeof value, "%.17g", k->lo == 0 ? -4.9e-324 : k->lo * (1 - 1e-15));
    try_value(t, k->path, value);
    try_value(t, k->path, "4.9406564584124654e-324");
}

static void try_choice(struct mis_tally *t, const struct key *k)
{
    char upper[VALUE_MAX];

    for (size_t i = 0; k->choices != NULL && k->choices[i] != NULL; i++)
        try_value(t, k->path, k->choices[i]);
    snprintf(upper, sizeof upper, "%s", k->choices[0]);
    upper[0] = (char)(upper[0] - 'a' + 'A');
    try_value(t, k->path, upper);
    try_value(t, k->path, "");
    try_value(t, k->path, "0");
    try_value(t, k->path, "nothing of this kind");
}

static void try_texts(struct mis_tally *t, const struct key *k, const char *const *values)
{
    for (size_t i = 0; values[i] != NULL; i++)
        try_value(t, k->path, values[i]);
}

static void try_key(struct mis_tally *t, const struct key *k)
{
    static const char *const bools[] = {"true", "false", "yes", "1", "0", "", "TRUE", NULL};
    static const char *const lists[] = {"[]",
                                        "",
                                        "[",
                                        "[0]",
                                        "[1]",
                                        "[65536]",
                                        "[65537]",
                                        "[-1]",
                                        "[1,1]",
                                        "[1, 1]",
                                        "[1, 1, 1, 1, 1, 1, 1, 1]",
                                        "[1, 1, 1, 1, 1, 1, 1, 1, 1]",
                                        "[65536, 65536, 65536, 65536, 65536, 65536, 65536, 65536]",
                                        "[batchnorm]",
                                        "[8,batchnorm,relu]",
                                        "[{groupnorm: {groups: 65536}}]",
                                        "[{conv2d: {out: 65536, kernel: 255, stride: 1, padding: "
                                        "254, groups: 1, bias: 1}}]",
                                        "[{conv2d: {out: 65536",
                                        "[{lstm: {units: 16384, whole: 1}}]",
                                        "[residual]",
                                        "[add]",
                                        "[shortcut]",
                                        "[[1]]",
                                        "[1]]",
                                        "[nan]",
                                        NULL};
    static const char *const seeds[] = {
        "random", "-1", "18446744073709551615", "18446744073709551616", "", "7x", NULL};

    static const char *const names[] = {"0123456789abcdef",  "0123456789abcdef-2",
                                        "0123456789abcde",   "served",
                                        "../../etc/passwd",  "[0123456789abcdef]",
                                        " 0123456789abcdef", "\"0123456789abcdef\"",
                                        "\x1b[2J",           NULL};
    static const char *const digests[] = {
        "0101010101010101010101010101010101010101010101010101010101010101",
        "01010101010101010101010101010101010101010101010101010101010101", "0", "[]", NULL};

    if (k->type == KEY_U32 || k->type == KEY_U64 || takes_reals(k))
        try_number(t, k);
    else if (k->choices != NULL)
        try_choice(t, k);
    else if (k->type == KEY_BOOL)
        try_texts(t, k, bools);
    else if (k->type == KEY_LAYERS)
        try_texts(t, k, lists);
    else if (k->type == KEY_SEED)
        try_texts(t, k, seeds);
    else if (k->type == KEY_TEXT)
        try_texts(t, k, names);
    else if (k->type == KEY_SHA256)
        try_texts(t, k, digests);
    else
        fail_msg("%s: a type that no plan has", k->path);
}

/* Keys whose path has `among` in it. */
static void every_key(enum mis_which which, const char *among, size_t least)
{
    struct mis_script *c = mis_script(which);
    struct mis_tally t = {.script = c, .what = "values of plans"};
    const struct key *k;
    size_t offset;

    mis_record(c);
    for (size_t i = 0; (k = key_at(&plan_keys_text, i, &offset)) != NULL; i++) {
        if (strstr(k->path, among) != NULL)
            try_key(&t, k);
    }
    mis_forget(c);
    mis_close(&t, least);
}

/* --- together too much --- */

static void products_beyond_all(enum mis_which which, size_t least)
{
    static const struct absurd products[] = {
        {.set = {"model.embedding=65536", "training.batch=65536"}},
        {.set = {"model.embedding=65536", "training.batch=257"}},
        {.set = {"model.embedding=65536", "training.batch=256"}},
        {.set = {"model.embedding=65536", "shape.train_rows=100000000"}},
        {.set = {"shape.train_rows=4294967295"}},
        {.set = {"training.batch=1024"}}, /* more than there are rows */
        {.set = {"shape.train_rows=100000000", "shape.test_rows=100000000"}},
        {.set = {"shape.parties=256", "model.embedding=65536", "model.fusion=concat"}},
        {.set = {"model.head=[65536, 65536, 65536, 65536, 65536, 65536, 65536, 65536]",
                 "protocol.gradient.form=factored", "model.embedding=65536"}},
        {.set = {"model.head=[65536, 65536]", "protocol.local_view=refreshed"}},
        {.set = {"model.head=[65536]", "model.embedding=65536", "protocol.local_view=refreshed"}},
        {.set = {"shape.outputs=4096", "model.task=multiclass", "model.embedding=65536"}},
        {.set = {"shape.outputs=4294967295"}},
        {.set = {"protocol.pbm.trials=1024", "protocol.coded.segments=256"}},
        {.set = {"protocol.coded.segments=256", "protocol.coded.privacy=256"}},
        {.set = {"protocol.fedvs.segments=256", "protocol.fedvs.privacy=256"}},
        {.set = {"protocol.fedvs.x_bits=20", "protocol.fedvs.w_bits=30", "protocol.fedvs.x_max=32",
                 "protocol.fedvs.w_max=1024"}},
        {.set = {"training.epochs=100000", "training.evaluate_every=4.9406564584124654e-324"}},
        {.set = {"training.epochs=100000", "training.batch=1", "protocol.local_iterations=10000"}},
        {.set = {"training.epochs=4.9406564584124654e-324", "training.batch=65536"}},
        {.set = {"training.epochs=1e-300"}},
        {.set = {"privacy.delta=4.9406564584124654e-324"}},
    };
    struct mis_script *c = mis_script(which);
    struct mis_tally t = {.script = c, .what = "plans beyond all memory"};

    mis_record(c);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        try_offer(&t, set_values, (void *)(uintptr_t)&products[i], products[i].set[0]);
    mis_forget(c);
    mis_close(&t, least);
}

/* --- texts that are no plan --- */

static void no_plan(struct mis *m, struct flight *f)
{
    static const struct {
        const char *from, *to;
    } edits[] = {
        {"\nprotocol.clip=", "\nprotocol.clap="},
        {"\nprotocol.clip=", "\n"},
        {"\nprotocol.clip=", "\n\nprotocol.clip="},
        {"\nprotocol.clip=", "\r\nprotocol.clip="},
        {"\nprotocol.clip=", "\n protocol.clip="},
        {
            "\nprotocol.clip=",
            "\nprotocol.clip =",
        },
        {"\nprotocol.clip=", "\n# a comment\nprotocol.clip="},
        {"\nprotocol.clip=", "\nprotocol.clip=1\nprotocol.clip="},
        {"\nprotocol.clip=", "\npolicy.min_parties=0\nprotocol.clip="},
        {"\nprotocol.clip=", "\nprotocol.clip=="},
        {"model.embedding=", "\xef\xbb\xbfmodel.embedding="},
        {"model.embedding=", "MODEL.EMBEDDING="},
    };
    char plan[PLAN_TEXT_MAX + VALUE_MAX], *at;
    char rest[PLAN_TEXT_MAX + VALUE_MAX];
    size_t which = *(const size_t *)m->owner, n = sizeof edits / sizeof *edits;

    get_text(plan, f);
    if (which < n) {
        at = strstr(plan, edits[which].from);
        CHECK(at != NULL);
        snprintf(rest, sizeof rest, "%s", at + strlen(edits[which].from));
        snprintf(at, sizeof plan - (size_t)(at - plan), "%s%s", edits[which].to, rest);
        set_text(f, plan, strlen(plan));
    } else if (which < n + 8) { /* cut off, from the last newline on */
        set_text(f, plan, strlen(plan) * (8 - (which - n)) / 8 - 1);
    } else if (which < n + 9) { /* something behind it */
        set_text(f, plan, strlen(plan) + 1);
    } else if (which < n + 10) {
        memset(plan, 'a', sizeof plan);
        set_text(f, plan, PLAN_TEXT_MAX);
    } else if (which < n + 11) {
        memset(plan, '\n', sizeof plan);
        set_text(f, plan, PLAN_TEXT_MAX);
    } else if (which < n + 12) {
        memset(plan, 0, sizeof plan);
        set_text(f, plan, PLAN_TEXT_MAX);
    } else {
        m->skipped = true;
    }
}

static void texts_that_are_no_plan(enum mis_which which, size_t least)
{
    struct mis_script *c = mis_script(which);
    struct mis_tally t = {.script = c, .what = "texts that are no plan"};
    char name[32];

    mis_record(c);
    for (size_t i = 0; i < 24; i++) {
        snprintf(name, sizeof name, "text %zu", i);
        try_offer(&t, no_plan, &i, name);
    }
    mis_forget(c);
    mis_close(&t, least);
}

/* --- */

static void test_no_key_of_a_plan_takes_what_it_cannot_mean_masked(void **state)
{
    (void)state;
    every_key(MIS_MASKED, "", 900);
}

static void test_no_key_of_a_plan_takes_what_it_cannot_mean_fedvs(void **state)
{
    (void)state;
    every_key(MIS_FEDVS, "fedvs.", 100);
}

static void test_no_plan_fills_the_memory(void **state)
{
    static const enum mis_which scripts[] = {MIS_MASKED, MIS_CODED, MIS_FEDVS, MIS_CLEAR};

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        products_beyond_all(scripts[i], 20);
}

static void test_a_plan_has_one_form(void **state)
{
    (void)state;
    texts_that_are_no_plan(MIS_MASKED, 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_key_of_a_plan_takes_what_it_cannot_mean_masked),
        cmocka_unit_test(test_no_key_of_a_plan_takes_what_it_cannot_mean_fedvs),
        cmocka_unit_test(test_no_plan_fills_the_memory),
        cmocka_unit_test(test_a_plan_has_one_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
