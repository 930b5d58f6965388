/* test_bounded.c -- what a server can do to a bottom by the gradient that it shows: no more than
 * policy.gradient_clip lets it; under dp, whatever it shows, the noise is there, as much as
 * model.noise says, in every weight and bias.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "tests/sim/misbehave.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;
enum { PARTIES = 3, BATCH = 4, BLOB_MAX = 1 << 14, PARAMS_MAX = 1 << 13 };

/* Everybody is shown the same gradient, all its values `value`, or of bytes 0x7f: nearly the
 * largest number of float32 and bfloat16.  And what the bottoms were when they were first shown
 * one. */
struct shown {
    float value;
    bool largest;
    bool seen[PARTIES];
    float before[PARTIES][PARAMS_MAX];
};

static size_t params_of(const struct nn_net *net, float *out)
{
    size_t n = 0;

    for (size_t k = 0; k < net->spec.layers; k++) {
        const struct nn_layer *l = &net->layer[k];

        CHECK(n + (size_t)l->in * l->out + l->out <= PARAMS_MAX);
        memcpy(out + n, l->w, (size_t)l->in * l->out * sizeof *out);
        n += (size_t)l->in * l->out;
        memcpy(out + n, l->b, l->out * sizeof *out);
        n += l->out;
    }
    return n;
}

static void show(struct sim *s, struct flight *f, void *owner)
{
    static float blob[BLOB_MAX];
    struct shown *g = owner;
    struct wire_msg msg;

    if (f->up)
        return;
    msg = mis_unpack(&f->frame);
    if (msg.kind != WIRE_BROADCAST || !msg.broadcast.closes)
        return;
    if (!g->seen[f->party])
        (void)params_of(party_session_bottom(s->party[f->party].session), g->before[f->party]);
    g->seen[f->party] = true;
    CHECK(msg.broadcast.gradient.n <= sizeof blob);
    for (size_t i = 0; i < BLOB_MAX; i++)
        blob[i] = g->value;
    if (g->largest)
        memset(blob, 0x7f, sizeof blob);
    msg.broadcast.gradient.data = (const uint8_t *)blob;
    mis_pack(&f->frame, &msg);
}

static struct sim *run(const struct sim_options *o, struct shown *g)
{
    struct sim *s = sim_new(o);

    s->tap = (struct sim_tap){show, g};
    sim_run(s, HOUR_US);
    return s;
}

/* --- gradient_clip --- */

enum { STEPS = 3 };

/* Rate 1, one linear layer behind C tanh, C = 1: a step moves W by no more than sum_r |x_r| |g_r|.
 * Returns how far all bottoms went, over how far they may. */
static double moved(const char *clip)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = STEPS * BATCH,
                            .test_rows = 1,
                            .quiet = true,
                            .sets = {"training.epochs=1", "training.batch=4",
                                     "training.learning_rate=1", "protocol.aggregation=clear",
                                     "protocol.encoding=float32"},
                            .party_sets = {"model.layers=[]", "policy.max_learning_rate=1", clip}};
    static struct shown g;
    static float after[PARAMS_MAX];
    double worst = 0;
    struct sim *s;

    g = (struct shown){.value = 1e6f};
    s = run(&o, &g);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < PARTIES; i++) {
        const struct table *t = &s->party[i].train;
        size_t n = params_of(party_session_bottom(s->party[i].session), after);
        double may = 0, square = 0;

        for (size_t r = 0; r < t->rows; r++) {
            double norm = 1; /* the bias */

            for (size_t c = 0; c < t->cols; c++)
                norm += (double)t->x[r * t->cols + c] * t->x[r * t->cols + c];
            may += 0.5 * sqrt(norm);
        }
        for (size_t k = 0; k < n; k++)
            square += pow((double)after[k] - g.before[i][k], 2);
        worst = fmax(worst, sqrt(square) / may);
    }
    sim_free(s);
    return worst;
}

static void
test_a_gradient_of_any_length_moves_a_bottom_no_further_than_its_policy_lets(void **state)
{
    double clipped = moved("policy.gradient_clip=0.5");

    (void)state;
    assert_true(clipped > 1e-3 && clipped <= 1.0001);
    assert_true(moved("policy.gradient_clip=0") > 100);
}

/* Whole, it is cut like any other.  Of two factors the product is no number, and a scale times a
 * level is none: nobody takes that, and the server is named. */
static void largest(const char *form, const char *type, bool taken)
{
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = STEPS * BATCH,
                            .test_rows = 1,
                            .quiet = true,
                            .sets = {form, type, "model.head=[8]", "training.batch=4",
                                     "model.embedding=4", "protocol.aggregation=clear"},
                            .party_sets = {"policy.gradient_clip=0.5"}};
    static struct shown g;
    static float after[PARAMS_MAX];
    struct sim *s;

    g = (struct shown){.largest = true};
    s = run(&o, &g);
    for (uint32_t i = 0; i < PARTIES; i++) {
        const struct sim_end *end = sim_party_end(s, i);
        size_t n = params_of(party_session_bottom(s->party[i].session), after);

        for (size_t k = 0; k < n; k++)
            assert_true(isfinite(after[k]));
        assert_int_equal(end->outcome == OUTCOME_COMPLETED, taken);
        if (taken)
            continue;
        assert_int_equal(end->error.status, STATUS_PROTOCOL);
        assert_non_null(strstr(end->error.text, "not finite"));
    }
    sim_free(s);
}

static void test_no_gradient_of_numbers_makes_a_model_of_none(void **state)
{
    (void)state;
    largest("protocol.gradient.form=full", "protocol.gradient.type=float32", true);
    largest("protocol.gradient.form=full", "protocol.gradient.type=bfloat16", true);
    largest("protocol.gradient.form=full", "protocol.gradient.type=int8", false);
    largest("protocol.gradient.form=factored", "protocol.gradient.type=float32", false);
    largest("protocol.gradient.form=factored", "protocol.gradient.type=bfloat16", false);
    largest("protocol.gradient.form=factored", "protocol.gradient.type=int8", false);
}

/* --- model.noise --- */

/* A gradient of zeros: all that moves a bottom is the noise of its steps, each of them
 * N(0, (rate sigma G / B)^2) in every weight and bias. */
static void test_the_noise_of_dp_is_there_whatever_is_shown(void **state)
{
    const double sigma = 2, clip = 0.25, rate = 0.5, rows = BATCH;
    struct sim_options o = {.parties = PARTIES,
                            .train_rows = STEPS * BATCH,
                            .test_rows = 1,
                            .columns = 20,
                            .unseeded = true,
                            .quiet = true,
                            .sets = {"training.epochs=1", "training.batch=4",
                                     "training.learning_rate=0.5", "protocol.aggregation=clear",
                                     "protocol.local_iterations=2", "protocol.encoding=float32"},
                            .party_sets = {"model.layers=[60]", "model.train=dp", "model.noise=2",
                                           "model.clip=0.25", "policy.max_learning_rate=1"}};
    static struct shown g;
    static float after[PARAMS_MAX];
    double square = 0, sum = 0, biases = 0, all = 0, all_biases = 0;
    const double one = pow(rate * sigma * clip / rows, 2) * STEPS * 2;
    struct sim *s;

    (void)state;
    g = (struct shown){.value = 0};
    s = run(&o, &g);
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < PARTIES; i++) {
        const struct nn_net *net = party_session_bottom(s->party[i].session);
        size_t n = params_of(net, after), first = (size_t)net->layer[0].in * net->layer[0].out;

        for (size_t k = 0; k < n; k++) {
            double d = (double)after[k] - g.before[i][k];
            bool bias = (k >= first && k < first + net->layer[0].out) || k + net->layer[1].out >= n;

            sum += d;
            square += d * d;
            all++;
            biases += bias ? d * d : 0;
            all_biases += bias;
        }
    }
    sim_free(s);
    /* Six deviations of each of these estimates. */
    assert_true(fabs(sum / all) < 6 * sqrt(one / all));
    assert_true(fabs(square / all / one - 1) < 6 * sqrt(2 / all));
    assert_true(fabs(biases / all_biases / one - 1) < 6 * sqrt(2 / all_biases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_a_gradient_of_any_length_moves_a_bottom_no_further_than_its_policy_lets),
        cmocka_unit_test(test_no_gradient_of_numbers_makes_a_model_of_none),
        cmocka_unit_test(test_the_noise_of_dp_is_there_whatever_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
