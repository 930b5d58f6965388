/* test_ids.c -- neighbours compare their ids: who differs is named and nothing is released; who
 * may have tried a guess is counted, and shut out in the end.
 *
 * Signatures, keys and elements are real here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/parts.h"
#include "tests/sim/misbehave.h"
#include "tests/sim/world.h"

#include "common/base/check.h"
#include "party/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HOUR_US 3600000000ull

enum { PARTIES = 4 };

static const struct sim_options four = {
    .parties = PARTIES, .quiet = true, .sets = {"protocol.patience_ms=2000"}};

static uint64_t all_counted(const struct sim *s)
{
    uint64_t n = 0;

    for (int who = SIM_SERVER; who < (int)s->options.parties; who++) {
        for (int other = SIM_SERVER; other < (int)s->options.parties; other++)
            n += compared_between(s, who, other);
    }
    return n;
}

static void expect_nothing_sent(const struct sim *s)
{
    for (uint32_t i = 0; i < s->options.parties; i++) {
        assert_int_equal(sim_uploaded(s, i), 0);
        assert_int_equal(sim_charged(s, i), 0);
    }
}

/* --- equal, and not --- */

static void test_equal_ids_leave_no_count(void **state)
{
    static const char *const how[][2] = {
        {"protocol.aggregation=masked", NULL},
        {"protocol.aggregation=clear", NULL},
        {"protocol.aggregation=clear", "protocol.straggler=async"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct sim_options o = four;
        struct sim *s;

        o.sets[1] = how[i][0];
        o.sets[2] = how[i][1];
        s = sim_new(&o);
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
        assert_int_equal(all_counted(s), 0);
        sim_free(s);
    }
}

static void test_a_set_of_one_compares_with_the_server_alone(void **state)
{
    struct sim_options o = {.parties = 1,
                            .quiet = true,
                            .sets = {"protocol.aggregation=clear"},
                            .party_sets = {"policy.min_parties=1"}};

    (void)state;
    for (int other = 0; other < 2; other++) {
        struct sim *s = sim_new(&o);

        if (other)
            sim_party_train(s, 0)->id_text[0] = '9';
        sim_run(s, HOUR_US);
        assert_int_equal(sim_server_end(s)->outcome, other ? OUTCOME_FAILED : OUTCOME_COMPLETED);
        assert_int_equal(compared_between(s, SIM_SERVER, 0), other);
        assert_int_equal(compared_between(s, 0, SIM_SERVER), other);
        sim_free(s);
    }
}

/* `odd` has another id, in one split or the other; SIM_SERVER: the labels have. */
static struct sim *differing(const struct sim_options *o, int odd, bool test)
{
    struct sim *s = sim_new(o);

    if (odd == SIM_SERVER)
        (test ? &s->test : &s->train)->id_text[0] = '9';
    else
        (test ? &s->party[odd].test : &s->party[odd].train)->id_text[0] = '9';
    sim_run(s, HOUR_US);
    return s;
}

static void expect_named(const struct sim *s, int odd)
{
    const struct sim_end *end = sim_server_end(s);
    char words[32];

    snprintf(words, sizeof words, "ids of p%d are", odd < 0 ? 1 : odd + 1);
    assert_int_equal(end->outcome, OUTCOME_FAILED);
    assert_int_equal(status_exit_code(end->error.status), 2);
    assert_non_null(strstr(end->error.text, words));
    assert_non_null(strstr(end->error.text, "6 training and 3 test"));
    expect_nothing_sent(s);
}

static void test_whoever_has_another_id_is_named_before_anything_is_released(void **state)
{
    (void)state;
    for (int odd = SIM_SERVER; odd < PARTIES; odd++) {
        for (int test = 0; test < 2; test++) {
            struct sim *s = differing(&four, odd, test);

            expect_named(s, odd);
            for (int i = 0; i < PARTIES; i++)
                assert_int_equal(status_exit_code(sim_party_end(s, (uint32_t)i)->error.status), 2);
            sim_free(s);
        }
    }
}

/* Of p1 .. p4 and the server before them: only who compared and differed. */
static void test_only_neighbours_who_differ_are_counted(void **state)
{
    (void)state;
    for (int odd = SIM_SERVER; odd < PARTIES; odd++) {
        struct sim *s = differing(&four, odd, false);

        for (int who = SIM_SERVER; who < PARTIES; who++) {
            for (int other = SIM_SERVER; other < PARTIES; other++) {
                const bool neighbours = who - other == 1 || other - who == 1;

                assert_int_equal(compared_between(s, who, other),
                                 neighbours && (who == odd || other == odd));
            }
        }
        sim_free(s);
    }
}

/* Every element that lands. */
struct elements {
    uint8_t element[64][EQUALITY_BYTES];
    size_t n;
};

static void add_element(struct elements *e, const uint8_t *element)
{
    static const uint8_t none[EQUALITY_BYTES];

    if (memcmp(element, none, sizeof none) == 0)
        return;
    CHECK(e->n < sizeof e->element / sizeof *e->element);
    memcpy(e->element[e->n++], element, EQUALITY_BYTES);
}

static void collect(struct sim *s, struct flight *f, void *owner)
{
    struct wire_msg msg;

    (void)s;
    if (f->end)
        return;
    msg = mis_unpack(&f->frame);
    if (msg.kind == WIRE_HELLO) {
        add_element(owner, msg.hello.elements);
        add_element(owner, msg.hello.elements + EQUALITY_BYTES);
    } else if (msg.kind == WIRE_OFFER && f->party == 0) {
        add_element(owner, msg.offer.element);
    }
}

static size_t times(const struct elements *e, const uint8_t *element)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n; i++)
        n += memcmp(e->element[i], element, EQUALITY_BYTES) == 0;
    return n;
}

/* So a neighbour sees that it is compared with the same list once more, and with nothing else. */
static void test_an_end_has_one_element_for_each_neighbour_as_long_as_its_list_is_one(void **state)
{
    struct sim *s = sim_new(&four);
    struct elements all = {.n = 0};

    (void)state;
    s->tap = (struct sim_tap){collect, &all};
    sim_rule(
        s,
        (struct sim_rule){
            .act = SIM_CUT_AFTER, .from = SIM_SERVER, .party = 2, .kind = WIRE_CONFIRMS, .nth = 1});
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_sent(s, 1, WIRE_HELLO), 2);
    assert_int_equal(all.n, 2 * (2 * PARTIES)); /* one of either end of each pair */
    for (size_t i = 0; i < all.n; i++)
        assert_int_equal(times(&all, all.element[i]), 2);
    assert_int_equal(all_counted(s), 0);
    sim_free(s);
}

/* --- who deviates --- */

static struct wire_hello hellos[PARTIES];
static struct wire_confirm confirms[PARTIES];
static struct agree_hello made_hello;
static struct agree_confirm made_confirm;
static uint8_t made_elements[WIRE_ELEMENTS_BYTES];

/* Member m's hello with other elements, by its own hand. */
static void say_elements(struct sim *s, struct wire_msg *msg, uint32_t m)
{
    CHECK(msg->hellos.n == PARTIES);
    memcpy(hellos, msg->hellos.hello, sizeof hellos);
    msg->hellos.hello = hellos;
    mis_say_elements(&hellos[m], &s->party[m].key, made_elements, &made_hello);
}

/* What p1 is told otherwise than it was. */
struct told {
    enum wire_kind kind;
    void (*how)(struct sim *s, struct wire_msg *msg);
};

static void landed(struct sim *s, struct flight *f, void *owner)
{
    const struct told *t = owner;
    struct wire_msg msg;

    if (f->up || f->end || f->party != 0)
        return;
    msg = mis_unpack(&f->frame);
    if (msg.kind != t->kind)
        return;
    t->how(s, &msg);
    mis_pack(&f->frame, &msg);
}

static void expect_p1(enum wire_kind kind, void (*how)(struct sim *, struct wire_msg *),
                      const char *words, enum status status, uint64_t p2_counted,
                      uint64_t server_counted)
{
    struct sim *s = sim_new(&four);
    struct told t = {kind, how};

    s->tap = (struct sim_tap){landed, &t};
    sim_run(s, HOUR_US);
    assert_int_equal(sim_party_end(s, 0)->outcome, OUTCOME_FAILED);
    if (strstr(sim_party_end(s, 0)->error.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", sim_party_end(s, 0)->error.text, words);
    assert_int_equal(sim_party_end(s, 0)->error.status, status);
    assert_int_equal(compared_between(s, 0, 1), p2_counted);
    assert_int_equal(compared_between(s, 0, SIM_SERVER), server_counted);
    assert_int_equal(sim_uploaded(s, 0), 0);
    sim_free(s);
}

static void identity(struct sim *s, struct wire_msg *msg)
{
    memset(made_elements, 0, EQUALITY_BYTES);
    say_elements(s, msg, 1);
}

static void not_canonical(struct sim *s, struct wire_msg *msg)
{
    memset(made_elements, 0xff, EQUALITY_BYTES);
    say_elements(s, msg, 1);
}

/* The server in the middle, with an element of its own: p2 has not signed it. */
static void element_of_the_server(struct sim *s, struct wire_msg *msg)
{
    static const uint8_t anything[EQUALITY_RANDOM_BYTES] = {1};
    static uint8_t body[WIRE_HELLO_MAX];
    struct equality own;
    struct wire_hello *h;

    (void)s;
    CHECK(equality_begin(&own, "of its own", "", 0, anything) == STATUS_OK);
    memcpy(hellos, msg->hellos.hello, sizeof hellos);
    msg->hellos.hello = hellos;
    h = &hellos[1];
    memcpy(body, h->body.data, h->body.n);
    memcpy(body + h->body.n - WIRE_ELEMENTS_BYTES, own.element, sizeof own.element);
    h->body.data = body;
}

static void test_what_is_no_element_is_refused(void **state)
{
    (void)state;
    expect_p1(WIRE_HELLOS, identity, "the element of p2: none", STATUS_AUTH, 0, 0);
    expect_p1(WIRE_HELLOS, not_canonical, "the element of p2: none", STATUS_AUTH, 0, 0);
}

static void test_a_server_cannot_stand_between_two_neighbours(void **state)
{
    (void)state;
    expect_p1(WIRE_HELLOS, element_of_the_server, "bad signature", STATUS_AUTH, 0, 0);
}

static void say_proofs(struct sim *s, struct wire_msg *msg, const uint8_t *proof)
{
    memcpy(confirms, msg->confirms.confirm, sizeof confirms);
    msg->confirms.confirm = confirms;
    agree_keep_confirm(&made_confirm, &confirms[1]);
    memcpy(made_confirm.proofs, proof, WIRE_PROOF_BYTES);
    CHECK(agree_sign_confirm(&made_confirm, &s->party[1].key) == STATUS_OK);
    confirms[1] = agree_show_confirm(&made_confirm, msg->confirms.generation);
}

/* p2 has no list, and shows what it was shown; what both mark; what it shows p3. */
static void own_proof(struct sim *s, struct wire_msg *msg)
{
    say_proofs(s, msg, msg->confirms.confirm[0].proofs + WIRE_PROOF_BYTES);
}

static void own_mark(struct sim *s, struct wire_msg *msg)
{
    say_proofs(s, msg, msg->confirms.confirm[0].marks + WIRE_PROOF_BYTES);
}

static void proof_for_p3(struct sim *s, struct wire_msg *msg)
{
    say_proofs(s, msg, msg->confirms.confirm[1].proofs + WIRE_PROOF_BYTES);
}

/* The server's, of p1: likewise. */
static void own_proof_from_the_server(struct sim *s, struct wire_msg *msg)
{
    (void)s;
    msg->confirms.proof = msg->confirms.confirm[0].proofs;
}

static void test_a_proof_that_is_not_the_neighbours_for_this_party_is_none(void **state)
{
    (void)state;
    expect_p1(WIRE_CONFIRMS, own_proof, "the ids of p2 are not this side's", STATUS_DATA, 1, 0);
    expect_p1(WIRE_CONFIRMS, own_mark, "the ids of p2 are not this side's", STATUS_DATA, 1, 0);
    expect_p1(WIRE_CONFIRMS, proof_for_p3, "the ids of p2 are not this side's", STATUS_DATA, 1, 0);
    expect_p1(WIRE_CONFIRMS, own_proof_from_the_server, "the ids of server are not this side's",
              STATUS_DATA, 0, 1);
}

/* --- counting --- */

static void rename_rows(struct compared *c, const struct roster *was, const struct roster *now)
{
    for (size_t i = 0; i < c->n; i++) {
        const int party = roster_find_key(was, c->row[i].key);

        if (party >= 0)
            memcpy(c->row[i].key, now->party[party].key, WIRE_KEY_BYTES);
    }
}

/* Some time later; a simulation makes its parties' keys anew, and here they are to be the same. */
static struct sim *later(struct sim *s)
{
    struct sim *next = sim_resume(s);

    rename_rows(&next->disk.compared, &s->roster, &next->roster);
    for (uint32_t i = 0; i < s->options.parties; i++)
        rename_rows(&next->party[i].disk.compared, &s->roster, &next->roster);
    assert_int_equal(all_counted(next), all_counted(s));
    sim_free(s);
    return next;
}

/* Who hears no answer cannot tell what the other end has learnt. */
static void test_a_comparison_that_never_ends_counts_until_one_does(void **state)
{
    struct sim *s = sim_new(&four);

    (void)state;
    sim_rule(s,
             (struct sim_rule){
                 .act = SIM_SWALLOW, .from = SIM_SERVER, .party = SIM_ANY, .kind = WIRE_CONFIRMS});
    sim_run(s, HOUR_US);
    assert_int_not_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(compared_between(s, 1, 0), 1);
    assert_int_equal(compared_between(s, 1, 2), 1);
    assert_int_equal(compared_between(s, 0, SIM_SERVER), 1);
    s = later(s);
    assert_true(all_counted(s) > 0);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(all_counted(s), 0);
    sim_free(s);
}

/* p3 has this digit first; p2 answers it, and has counted so many lists of it then. */
static struct sim *guess(struct sim *s, char digit, uint64_t count)
{
    sim_party_train(s, 2)->id_text[0] = digit;
    sim_run(s, HOUR_US);
    expect_named(s, 2);
    assert_int_equal(sim_sent(s, 1, WIRE_CONFIRM), 1);
    assert_int_equal(compared_between(s, 1, 2), count);
    return later(s);
}

/* As often as it likes with one list, which tells it nothing new, but with so many lists only: even
 * the right one is refused then, as it would be a guess. */
static void test_who_guesses_is_shut_out(void **state)
{
    struct sim_options o = four;
    struct sim *s;

    (void)state;
    o.party_sets[0] = "policy.max_id_mismatches=3";
    s = sim_new(&o);
    s = guess(s, '7', 1);
    s = guess(s, '7', 1);
    s = guess(s, '8', 2);
    s = guess(s, '9', 3);
    s = guess(s, '9', 3);
    sim_run(s, HOUR_US);
    assert_int_equal(sim_sent(s, 1, WIRE_CONFIRM), 0);
    assert_int_equal(sim_sent(s, 3, WIRE_CONFIRM), 0);
    expect_nothing_sent(s);
    assert_int_equal(compared_between(s, 1, 2), 3);
    assert_int_equal(status_exit_code(sim_party_end(s, 1)->error.status), 5);
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "policy.max_id_mismatches"));
    assert_non_null(strstr(sim_party_end(s, 1)->error.text, "p3"));
    sim_free(s);
}

static void test_a_server_that_is_guessed_at_ends_the_run(void **state)
{
    struct sim *s = sim_new(&four);

    (void)state;
    s->disk.compared.n = 1;
    memcpy(s->disk.compared.row[0].key, s->roster.party[0].key, WIRE_KEY_BYTES);
    s->disk.compared.row[0].count = s->id_mismatches - 1;
    sim_party_train(s, 0)->id_text[0] = '9';
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 2);
    s = later(s); /* p1 has mended its file, and still */
    sim_run(s, HOUR_US);
    assert_int_equal(status_exit_code(sim_server_end(s)->error.status), 5);
    assert_non_null(strstr(sim_server_end(s)->error.text, "limits.id_mismatches"));
    assert_int_equal(sim_sent(s, SIM_SERVER, WIRE_HELLOS), 0);
    sim_free(s);
}

static void test_what_cannot_be_counted_is_not_shown(void **state)
{
    struct sim *s = sim_new(&four);

    (void)state;
    s->party[1].disk.compared.full = true;
    sim_run(s, HOUR_US);
    assert_int_equal(sim_party_end(s, 1)->error.status, STATUS_IO);
    assert_int_equal(sim_sent(s, 1, WIRE_HELLO), 1);
    assert_int_equal(sim_sent(s, 1, WIRE_CONFIRM), 0);
    expect_nothing_sent(s);
    sim_free(s);
}

/* Its third upload gets lost, and meanwhile somebody changes the file. */
static void another_id(struct sim *s, struct flight *f, void *owner)
{
    (void)owner;
    if (f->up && f->party == 2 && !f->end && sim_sent(s, 2, WIRE_UPLOAD) == 2)
        sim_party_train(s, 2)->id_text[0] = '9';
}

/* Under drop a party that comes back with another id is left out, and the others go on. */
static void test_under_drop_who_differs_is_left_out(void **state)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 12,
                            .quiet = true,
                            .sets = {"protocol.straggler=drop", "protocol.deadline_ms=500",
                                     "protocol.patience_ms=2000", "training.epochs=4"}};
    struct sim *s = sim_new(&o);

    (void)state;
    sim_rule(s, (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_UPLOAD, .nth = 3});
    s->tap = (struct sim_tap){another_id, NULL};
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    assert_int_equal(sim_party_end(s, 2)->outcome, OUTCOME_FAILED);
    assert_non_null(strstr(sim_party_end(s, 2)->error.text, "the ids of p3 are not those of p2"));
    for (uint32_t i = 0; i < PARTIES; i++) {
        if (i != 2)
            assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    }
    assert_true(compared_between(s, 1, 2) > 0 && compared_between(s, 3, 2) > 0);
    assert_int_equal(compared_between(s, 0, 1) + compared_between(s, 1, 0) +
                         compared_between(s, 0, SIM_SERVER),
                     0);
    sim_free(s);
}

static void look_for_the_list(struct sim *s, struct flight *f, void *owner)
{
    static const uint8_t none[WIRE_DIGEST_BYTES];
    static const struct ids_pair nobody;
    bool *looked = owner;

    if (!f->up || f->end || sim_sent(s, (int)f->party, WIRE_UPLOAD) == 0)
        return;
    assert_memory_equal(s->server->fed.agree.list, none, sizeof none);
    assert_memory_equal(&s->server->fed.agree.ids, &nobody, sizeof nobody);
    *looked = true;
}

static void test_what_ids_were_compared_by_is_forgotten_when_they_have_been(void **state)
{
    struct sim *s = sim_new(&four);
    bool looked = false;

    (void)state;
    s->tap = (struct sim_tap){look_for_the_list, &looked};
    sim_run(s, HOUR_US);
    assert_true(looked);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_ids_leave_no_count),
        cmocka_unit_test(test_a_set_of_one_compares_with_the_server_alone),
        cmocka_unit_test(test_whoever_has_another_id_is_named_before_anything_is_released),
        cmocka_unit_test(test_only_neighbours_who_differ_are_counted),
        cmocka_unit_test(test_an_end_has_one_element_for_each_neighbour_as_long_as_its_list_is_one),
        cmocka_unit_test(test_what_is_no_element_is_refused),
        cmocka_unit_test(test_a_server_cannot_stand_between_two_neighbours),
        cmocka_unit_test(test_a_proof_that_is_not_the_neighbours_for_this_party_is_none),
        cmocka_unit_test(test_a_comparison_that_never_ends_counts_until_one_does),
        cmocka_unit_test(test_who_guesses_is_shut_out),
        cmocka_unit_test(test_a_server_that_is_guessed_at_ends_the_run),
        cmocka_unit_test(test_what_cannot_be_counted_is_not_shown),
        cmocka_unit_test(test_under_drop_who_differs_is_left_out),
        cmocka_unit_test(test_what_ids_were_compared_by_is_forgotten_when_they_have_been),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
