/* test_log.c -- what the log says does not depend on anybody's records, nor on keys, masks and
 * noise: line for line it is the same with others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "tests/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t HOUR_US = 3600000000ull;
enum { TEXT_MAX = 1 << 20 };

struct said {
    char text[TEXT_MAX];
};

/* Every line without its time. */
static void read_back(struct said *out, FILE *from)
{
    char line[4096];
    size_t n = 0;

    rewind(from);
    out->text[0] = 0;
    while (fgets(line, sizeof line, from) != NULL) {
        const char *words = strchr(line, ' ');

        CHECK(words != NULL && n + strlen(words) < TEXT_MAX);
        n += (size_t)sprintf(out->text + n, "%s", words);
    }
}

static void other_records(struct sim *s, float by)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct table *t = sim_party_train(s, i);

        for (size_t k = 0; k < t->rows * t->cols; k++)
            t->x[k] = 0.9f * t->x[k] + by;
    }
}

/* All that a run says at level debug; p3 is lost once on the way. */
static void run(struct said *out, const struct sim_options *o, float by)
{
    FILE *log = tmpfile();
    int terminal = dup(STDERR_FILENO);
    struct sim *s;

    CHECK(log != NULL && terminal >= 0);
    setenv("SIM_LOG", "1", 1);
    fflush(stderr);
    CHECK(dup2(fileno(log), STDERR_FILENO) >= 0);
    s = sim_new(o);
    if (by != 0)
        other_records(s, by);
    sim_rule(s,
             (struct sim_rule){.act = SIM_CUT_BEFORE, .from = 2, .kind = WIRE_CONFIRM, .nth = 1});
    sim_run(s, HOUR_US);
    sim_free(s);
    fflush(stderr);
    CHECK(dup2(terminal, STDERR_FILENO) >= 0);
    close(terminal);
    read_back(out, log);
    fclose(log);
}

static void says_the_same(struct sim_options o)
{
    static struct said once, again, others;

    o.parties = 3;
    o.train_rows = 12;
    o.quiet = o.unseeded = true;
    run(&once, &o, 0);
    run(&again, &o, 0);
    run(&others, &o, 0.05f);
    assert_non_null(strstr(once.text, "p3 lost in phase confirm"));
    assert_non_null(strstr(once.text, "rows leave (train)"));
    assert_string_equal(once.text, again.text);
    assert_string_equal(once.text, others.text);
}

static void test_the_log_says_nothing_of_records_and_keys(void **state)
{
    (void)state;
    says_the_same((struct sim_options){.sets = {"protocol.aggregation=masked"}});
    says_the_same((struct sim_options){.sets = {"protocol.aggregation=coded"}});
    says_the_same((struct sim_options){.sets = {"protocol.aggregation=clear"}});
    says_the_same(
        (struct sim_options){.sets = {"protocol.aggregation=fedvs", "training.batch=2"},
                             .party_sets = {"model.layers=[]", "model.polynomial.degree=1"}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_log_says_nothing_of_records_and_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
