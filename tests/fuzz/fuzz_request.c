/* fuzz_request.c -- any bytes as a request for predictions: refused in words that can be printed,
 * or a call within its bounds, whose answer, whatever became of each row, is JSON that names every
 * id as it was asked.
 *
 * Input: byte 0 what becomes of the rows; the rest is the request's body.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/mem.h"
#include "common/data/table.h"
#include "common/data/text.h"
#include "server/serve/words.h"
#include "tests/fuzz/feed.h"

#include <jansson.h>

enum { DEADLINE_MAX = 10000, OUTPUTS = 2 };

static const struct roster *roster(void)
{
    static struct roster r;

    r.n = 3;
    for (size_t i = 0; i < r.n; i++)
        snprintf(r.party[i].name, sizeof r.party[i].name, "p%zu", i + 1);
    return &r;
}

/* As waiting.c leaves them. */
static void settle(struct waiting_call *c, uint8_t how)
{
    c->kind = (struct waiting_kind){how & 16 ? NN_LOSS_SIGMOID : NN_LOSS_SOFTMAX, OUTPUTS};
    c->scores = mem_alloc((size_t)c->n * OUTPUTS, sizeof *c->scores);
    CHECK(c->scores != NULL);
    snprintf(c->run, sizeof c->run, "abc-2");
    for (uint32_t i = 0; i < c->n; i++) {
        struct waiting_row *r = &c->row[i];

        r->settled = true;
        r->fault = (enum waiting_fault)((how + i) % (FAULT_STOPPED + 1));
        if (!text_is_plain(r->id, r->n, TABLE_ID_MAX) && r->fault == FAULT_NONE)
            r->fault = FAULT_ID; /* of what is no id there are no scores */
        r->without = how & 1;
        r->missing[0] = how >> 1 & 7;
        c->scores[i * OUTPUTS] = (float)i / 7;
    }
}

static void check_answer(const struct waiting_call *c)
{
    struct buf out;
    json_t *said, *rows;

    buf_init(&out, 1 << 24);
    CHECK(words_print(&out, c, roster()) == STATUS_OK);
    CHECK(words_status(c) >= 200 && words_status(c) < 600);
    said = json_loadb((const char *)out.data, out.len, JSON_ALLOW_NUL, NULL);
    rows = json_object_get(said, "scores");
    CHECK(json_array_size(rows) == c->n);
    for (uint32_t i = 0; i < c->n; i++) {
        const json_t *row = json_array_get(rows, i), *id = json_object_get(row, "id");

        CHECK(json_string_length(id) == c->row[i].n &&
              memcmp(json_string_value(id), c->row[i].id, c->row[i].n) == 0);
        CHECK((json_object_get(row, "scores") != NULL) == (c->row[i].fault == FAULT_NONE));
        CHECK((json_object_get(row, "error") != NULL) == (c->row[i].fault != FAULT_NONE));
    }
    json_decref(said);
    buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    const uint8_t how = feed_byte(&f);
    struct words_asked asked;
    struct error err = {0};
    const enum status s = words_read(&asked, f.at, f.left, DEADLINE_MAX, &err);

    if (s != STATUS_OK) {
        CHECK(s == STATUS_DATA && err.text[0] != 0 && asked.call == NULL);
        return 0;
    }
    CHECK(asked.call->n >= 1 && asked.call->n <= WAITING_CALL_ROWS_MAX);
    CHECK(asked.deadline_ms >= 1 && asked.deadline_ms <= DEADLINE_MAX);
    settle(asked.call, how);
    check_answer(asked.call);
    waiting_call_free(asked.call);
    return 0;
}
