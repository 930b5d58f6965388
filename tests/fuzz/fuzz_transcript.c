/* fuzz_transcript.c -- any lines as a transcript of a plan's server, to whoever audits it.
 *
 * Input: byte 0 which plan, and whether the parties' seed is known; the rest is the lines after the
 * plan's.
 *
 * Laws: refused in words; or every release that is counted was a line's, of a row that there is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/audit/seen.h"
#include "tests/fuzz/feed.h"

enum { LINES_MAX = 1 << 16, PLANS = 4 };

static struct plan plan_of(uint8_t choice)
{
    struct plan p;

    plan_defaults(&p);
    p.shape.parties = 2;
    p.shape.train_rows = 5;
    p.shape.test_rows = 3;
    p.shape.outputs = 1;
    p.model.embedding = 2;
    p.model.head.n = 0;
    p.training.batch = 4;
    p.training.seed_given = true;
    p.training.weight_decay_given = true;
    p.privacy.delta_given = true;
    if (choice % PLANS == 1) {
        p.protocol.aggregation = AGGREGATION_CLEAR;
        p.protocol.encoding = ENCODING_FLOAT32;
    } else if (choice % PLANS == 2) {
        p.model.fusion = FUSION_MEAN;
    } else if (choice % PLANS == 3) {
        p.model.fusion = FUSION_CONCAT;
        p.protocol.aggregation = AGGREGATION_CLEAR;
        p.protocol.encoding = ENCODING_FLOAT32;
    }
    return p;
}

/* The line of a plan, made once. */
static const struct buf *line_of(uint8_t choice)
{
    static struct buf lines[PLANS];
    struct buf *out = &lines[choice % PLANS], text;
    const struct plan p = plan_of(choice);
    struct error err = {0};
    struct plan again;

    if (out->len > 0)
        return out;
    buf_init(out, LINES_MAX);
    buf_init(&text, LINES_MAX);
    CHECK(plan_print(&p, &text) == STATUS_OK);
    CHECK(plan_parse(&again, (const char *)text.data, text.len, &err) == STATUS_OK);
    CHECK(buf_printf(out, "{\"kind\":\"plan\",\"text\":\"") == STATUS_OK);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\n')
            CHECK(buf_printf(out, "\\n") == STATUS_OK);
        else
            CHECK(buf_append(out, &text.data[i], 1) == STATUS_OK);
    }
    CHECK(buf_printf(out, "\"}\n") == STATUS_OK);
    buf_deinit(&text);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t known = 7;
    struct feed f = {data, size};
    const uint8_t choice = feed_byte(&f);
    const struct buf *plan = line_of(choice);
    char path[FEED_PATH_MAX];
    struct error err = {0};
    struct seen s;
    struct buf text;
    size_t lines = 0;
    int fd;

    if (f.left > LINES_MAX / 2)
        return 0;
    buf_init(&text, LINES_MAX);
    CHECK(buf_append(&text, plan->data, plan->len) == STATUS_OK);
    CHECK(buf_append(&text, f.at, f.left) == STATUS_OK);
    for (size_t i = 0; i < f.left; i++)
        lines += f.at[i] == '\n';
    fd = feed_file(path, text.data, text.len);
    if (seen_read(&s, path, choice / PLANS % 2 > 0 ? &known : NULL, &err) == STATUS_OK) {
        CHECK(s.rows == 8 && s.times != NULL && s.sum != NULL);
        for (size_t i = 0; i < s.rows; i++)
            CHECK(s.times[i] <= (lines + 1) * s.rows);
        CHECK(s.arrivals <= lines + 1);
        for (size_t i = 0; i < s.arrivals; i++)
            CHECK(s.arrival[i].row + s.arrival[i].rows <= s.arrived_rows &&
                  s.arrival[i].rows <= s.rows);
        for (size_t i = 0; i < s.rows && (s.clear || choice / PLANS % 2 > 0); i++)
            (void)seen_value(&s, i, 1, 0);
    } else {
        CHECK(err.status == STATUS_DATA || err.status == STATUS_CONFIG ||
              err.status == STATUS_PROTOCOL);
        feed_check_words(err.text);
    }
    seen_deinit(&s);
    close(fd);
    buf_deinit(&text);
    return 0;
}
