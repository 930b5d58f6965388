/* words.c -- JSON of requests and answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/serve/words.h"

#include "common/base/mem.h"
#include "common/data/table.h"
#include "common/data/text.h"

#include <string.h>

/* --- any answer --- */

void words_answer(struct http_answer *out, unsigned status, json_t *body)
{
    const size_t n = body == NULL ? 0 : json_dumpb(body, NULL, 0, JSON_INDENT(1));
    char *text = n == 0 ? NULL : mem_alloc(n + 1, 1);

    out->status = status;
    if (text == NULL || json_dumpb(body, text, n, JSON_INDENT(1)) != n) {
        out->status = 500;
    } else {
        text[n] = '\n';
        if (buf_append(&out->body, text, n + 1) != STATUS_OK)
            out->status = 500;
    }
    mem_free(text);
    json_decref(body);
}

void words_refuse(struct http_answer *out, unsigned status, const char *why)
{
    out->retry_s = status == 429 || status == 503 ? 1 : 0;
    words_answer(out, status, json_pack("{s:s}", "error", why));
}

/* --- what is asked --- */

static enum status no_request(struct error *err)
{
    return error_set(err, STATUS_DATA,
                     "no request: {\"ids\": [...]} of 1 to %d texts, and deadline_ms, if any, a "
                     "number of milliseconds",
                     WAITING_CALL_ROWS_MAX);
}

static enum status take_ids(struct waiting_call **out, const json_t *ids, struct error *err)
{
    const size_t n = json_array_size(ids);
    struct waiting_call *c;
    size_t bytes = 0;
    char *text;

    for (size_t i = 0; i < n; i++) {
        if (!json_is_string(json_array_get(ids, i)))
            return no_request(err);
        bytes += json_string_length(json_array_get(ids, i));
    }
    if (n == 0 || n > WAITING_CALL_ROWS_MAX)
        return no_request(err);
    c = waiting_call_new((uint32_t)n, bytes);
    if (c == NULL)
        return error_set(err, STATUS_MEMORY, "no memory for a request");
    text = waiting_call_text(c);
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_array_get(ids, i);

        c->row[i].id = text;
        c->row[i].n = json_string_length(id);
        memcpy(text, json_string_value(id), c->row[i].n);
        text += c->row[i].n;
    }
    *out = c;
    return STATUS_OK;
}

/* As many parts as ids may be, and no more: what a parser makes of a body full of commas takes ten
 * times as long, and the loop waits for it. */
static bool has_few_parts(const uint8_t *body, size_t n)
{
    size_t commas = 0;
    bool in_text = false;

    for (size_t i = 0; i < n; i++) {
        if (in_text && body[i] == '\\')
            i++;
        else if (body[i] == '"')
            in_text = !in_text;
        else if (!in_text && body[i] == ',')
            commas++;
    }
    return commas <= WAITING_CALL_ROWS_MAX; /* one is before deadline_ms */
}

enum status words_read(struct words_asked *out, const uint8_t *body, size_t n,
                       uint32_t deadline_max, struct error *err)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
    json_t *from = has_few_parts(body, n) ? json_loadb((const char *)body, n, flags, NULL) : NULL;
    json_t *ids = NULL;
    json_int_t deadline = 0;
    enum status s;

    out->call = NULL;
    if (from == NULL ||
        json_unpack(from, "{s:o, s?I !}", "ids", &ids, "deadline_ms", &deadline) != 0 ||
        !json_is_array(ids) || deadline < 0) {
        json_decref(from);
        return no_request(err);
    }
    out->deadline_ms = deadline == 0 || deadline > deadline_max ? deadline_max : (uint32_t)deadline;
    s = take_ids(&out->call, ids, err);
    json_decref(from);
    return s;
}

/* --- what is answered --- */

static const struct {
    const char *words;
    unsigned status; /* where no row of a call has scores, and one has this fault */
} faults[] = {
    [FAULT_NONE] = {"", 200},
    [FAULT_ID] = {"no id", 422},
    [FAULT_REFUSED] = {"a party does not answer for it", 422},
    [FAULT_SHARE] = {"this client has asked for all that it may today", 429},
    [FAULT_NUMBER] = {"the model's scores are no numbers", 422},
    [FAULT_LATE] = {"no answer in time", 504},
    [FAULT_AWAY] = {"the parties are not together", 503},
    [FAULT_FAILED] = {"the job was refused or has failed: the server's log says why", 503},
    [FAULT_STOPPED] = {"the server stops", 503},
};

unsigned words_status(const struct waiting_call *c)
{
    unsigned worst = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        const unsigned status = faults[c->row[i].fault].status;

        if (status == 200)
            return status;
        worst = status > worst ? status : worst;
    }
    return worst;
}

/* Ids that are ids need no quoting, and are most. */
static enum status print_id(struct buf *out, const struct waiting_row *r)
{
    json_t *text;
    enum status s = STATUS_MEMORY;
    size_t n;

    if (text_is_plain(r->id, r->n, TABLE_ID_MAX) && memchr(r->id, '\\', r->n) == NULL)
        return buf_printf(out, "\"%.*s\"", (int)r->n, r->id);
    text = json_stringn(r->id, r->n);
    n = text == NULL ? 0 : json_dumpb(text, NULL, 0, JSON_ENCODE_ANY);
    if (n > 0)
        s = buf_reserve(out, n);
    if (n > 0 && s == STATUS_OK) {
        (void)json_dumpb(text, (char *)out->data + out->len, n, JSON_ENCODE_ANY);
        out->len += n;
    }
    json_decref(text);
    return s;
}

static enum status print_scores(struct buf *out, const float *score, struct waiting_kind kind)
{
    enum status s = kind.loss == NN_LOSS_SIGMOID
                        ? buf_printf(out, "%.9g, ", 1 - (double)score[0]) /* both classes */
                        : STATUS_OK;

    for (uint32_t k = 0; k < kind.outputs && s == STATUS_OK; k++)
        s = buf_printf(out, "%s%.9g", k > 0 ? ", " : "", (double)score[k]);
    return s;
}

static enum status print_without(struct buf *out, const struct waiting_row *r,
                                 const struct roster *roster)
{
    enum status s = buf_printf(out, ", \"without\": [");
    bool any = false;

    for (size_t i = 0; i < roster->n && s == STATUS_OK; i++) {
        if (!(r->missing[i / 64] >> i % 64 & 1))
            continue;
        s = buf_printf(out, "%s\"%s\"", any ? ", " : "", roster->party[i].name);
        any = true;
    }
    return s == STATUS_OK ? buf_printf(out, "]") : s;
}

static enum status print_row(struct buf *out, const struct waiting_call *c, uint32_t i,
                             const struct roster *roster)
{
    const struct waiting_row *r = &c->row[i];
    enum status s = buf_printf(out, "%s\n  {\"id\": ", i > 0 ? "," : "");

    if (s == STATUS_OK)
        s = print_id(out, r);
    if (s == STATUS_OK && r->fault != FAULT_NONE)
        return buf_printf(out, ", \"error\": \"%s\"}", faults[r->fault].words);
    if (s == STATUS_OK)
        s = buf_printf(out, ", \"scores\": [");
    if (s == STATUS_OK)
        s = print_scores(out, c->scores + (size_t)i * c->kind.outputs, c->kind);
    if (s == STATUS_OK)
        s = buf_printf(out, "]");
    if (s == STATUS_OK && r->without)
        s = print_without(out, r, roster);
    return s == STATUS_OK ? buf_printf(out, "}") : s;
}

enum status words_print(struct buf *out, const struct waiting_call *c, const struct roster *roster)
{
    enum status s = buf_printf(out, "{\"model\": \"%s\", \"scores\": [", c->run);

    for (uint32_t i = 0; i < c->n && s == STATUS_OK; i++)
        s = print_row(out, c, i, roster);
    return s == STATUS_OK ? buf_printf(out, "]}\n") : s;
}
