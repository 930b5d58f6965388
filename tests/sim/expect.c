/* expect.c -- assertions over a whole run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/sim/expect.h"

#include "tests/sim/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void expect_completed(const struct sim *s)
{
    assert_string_equal(sim_server_end(s)->error.text, "");
    assert_int_equal(sim_server_end(s)->outcome, OUTCOME_COMPLETED);
    for (uint32_t i = 0; i < s->options.parties; i++) {
        assert_string_equal(sim_party_end(s, i)->error.text, "");
        assert_true(sim_party_end(s, i)->over);
        assert_int_equal(sim_party_end(s, i)->outcome, OUTCOME_COMPLETED);
    }
}

size_t expect_count(const struct sim *s, const char *line)
{
    size_t n = 0;

    for (const char *at = sim_transcript(s); (at = strstr(at, line)) != NULL; at++)
        n++;
    return n;
}

void expect_until(struct sim *s, const char *line, size_t times)
{
    uint64_t us = 100;

    while (expect_count(s, line) < times && us < 5000000) {
        const uint64_t before = sim_now_us(s);
        sim_run(s, us);
        us = sim_now_us(s) == before ? us + 100 : 100;
    }
    assert_int_equal(expect_count(s, line), times);
}

void expect_other_upload(struct wire_msg *m, void *owner)
{
    uint8_t *at = (uint8_t *)(uintptr_t)m->upload.payload.data;
    const uint8_t *last = at + m->upload.payload.n - 1;

    (void)owner;
    while (at < last && *at == 0)
        at++;
    *at = *at == 0 ? 1 : (uint8_t)(*at & (*at - 1));
}
