/* test_noise.c -- without --insecure-seed nobody can know the noise: two runs on the same records
 * with bottoms that give the same draw it anew; with a seed, every party has its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "party/core.h"
#include "party/train/parts.h"
#include "tests/sim/misbehave.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;
enum { PARTIES = 3, FIRST_MAX = 64 };

/* Everybody's first upload. */
struct first {
    uint8_t payload[PARTIES][FIRST_MAX];
    size_t n[PARTIES];
};

static void keep(struct sim *s, struct flight *f, void *owner)
{
    struct first *first = owner;
    struct wire_msg msg;

    (void)s;
    if (!f->up || first->n[f->party] > 0)
        return;
    msg = mis_unpack(&f->frame);
    if (msg.kind != WIRE_UPLOAD)
        return;
    CHECK(msg.upload.payload.n <= FIRST_MAX);
    memcpy(first->payload[f->party], msg.upload.payload.data, msg.upload.payload.n);
    first->n[f->party] = msg.upload.payload.n;
}

/* Records of zeros have embeddings of zeros, whatever the weights are: what is uploaded is the
 * noise. */
static struct first uploads(bool seeded)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 10,
                            .quiet = true,
                            .unseeded = !seeded,
                            .sets = {"protocol.aggregation=clear", "training.batch=10"}};
    struct sim *s = sim_new(&o);
    struct first first = {0};

    for (uint32_t i = 0; i < PARTIES; i++) {
        struct table *t = sim_party_train(s, i);
        memset(t->x, 0, t->rows * t->cols * sizeof *t->x);
    }
    s->tap = (struct sim_tap){keep, &first};
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
    return first;
}

static void test_noise_is_new_in_every_run_and_of_no_other_party(void **state)
{
    struct first once = uploads(false), again = uploads(false);

    (void)state;
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(once.n[i], 10 * 4 * 5 / 8);
        assert_memory_not_equal(once.payload[i], again.payload[i], once.n[i]);
        assert_memory_not_equal(once.payload[i], once.payload[(i + 1) % PARTIES], once.n[i]);
    }
}

static void test_a_seed_says_the_noise_of_each_party(void **state)
{
    struct first once = uploads(true), again = uploads(true);

    (void)state;
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_memory_equal(once.payload[i], again.payload[i], once.n[i]);
        assert_memory_not_equal(once.payload[i], once.payload[(i + 1) % PARTIES], once.n[i]);
    }
}

/* Noise that was sent could be taken off its upload by whoever finds the key that drew it in this
 * process later: nothing of it is left.  Half of every buffer would be unread else. */
static void expect_forgotten(const struct rng *r)
{
    static const uint8_t nothing[sizeof r->buffer];

    assert_int_equal(r->left, 0);
    assert_memory_equal(r->buffer, nothing, sizeof nothing);
}

static void test_what_drew_the_noise_is_gone_after_each_round(void **state)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = 10,
                            .quiet = true,
                            .unseeded = true,
                            .party_sets = {"model.train=dp", "model.clip=1", "model.noise=2"},
                            .sets = {"training.epochs=3"}};
    struct sim *s = sim_new(&o);
    const struct party_train *p;

    (void)state;
    for (uint64_t us = 100; sim_server_report(s)->steps < 2 && us < HOUR_US; us += 100)
        sim_run(s, us);
    assert_int_equal(sim_server_report(s)->steps, 2);
    for (uint32_t i = 0; i < PARTIES; i++) {
        p = s->party[i].session->state;
        assert_true(p->count.rounds > 0);
        expect_forgotten(&p->round.noise);
        expect_forgotten(&p->learner.bottom.dp.rng);
    }
    sim_run(s, HOUR_US);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    sim_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_is_new_in_every_run_and_of_no_other_party),
        cmocka_unit_test(test_what_drew_the_noise_is_gone_after_each_round),
        cmocka_unit_test(test_a_seed_says_the_noise_of_each_party),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
