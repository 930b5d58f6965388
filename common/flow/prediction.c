/* prediction.c -- the text of a job of predictions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/prediction.h"

#include "common/config/aggregation.h"
#include "common/config/encoding.h"
#include "common/config/key_text.h"
#include "common/crypto/cert_name.h"
#include "common/crypto/digest.h"
#include "common/data/table.h"
#include "common/data/text.h"
#include "common/wire/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the text --- */

static enum status print_digest(struct buf *out, const uint8_t *digest)
{
    char hex[DIGEST_HEX_CHARS + 1];

    digest_hex(hex, digest, WIRE_DIGEST_BYTES);
    return buf_printf(out, "%s", hex);
}

static enum status print_run(const struct prediction *p, struct buf *out)
{
    return buf_printf(out, "%s", p->run);
}

static bool read_run(struct prediction *p, const char *value)
{
    const size_t n = strlen(value);

    if (n == 0 || n > PREDICTION_RUN_MAX ||
        strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-") != n)
        return false;
    memcpy(p->run, value, n + 1);
    return true;
}

static enum status print_plan(const struct prediction *p, struct buf *out)
{
    return print_digest(out, p->plan);
}

static bool read_plan(struct prediction *p, const char *value)
{
    return digest_from_hex(p->plan, sizeof p->plan, value);
}

static enum status print_trail(const struct prediction *p, struct buf *out)
{
    return print_digest(out, p->trail);
}

static bool read_trail(struct prediction *p, const char *value)
{
    return digest_from_hex(p->trail, sizeof p->trail, value);
}

static enum status print_rows(const struct prediction *p, struct buf *out)
{
    return buf_printf(out, "%u", p->rows);
}

static bool read_rows(struct prediction *p, const char *value)
{
    p->rows = (uint32_t)strtoul(value, NULL, 10);
    return p->rows >= 1 && p->rows <= PREDICTION_ROWS_MAX;
}

static enum status print_batch(const struct prediction *p, struct buf *out)
{
    return buf_printf(out, "%u", p->batch);
}

static bool read_batch(struct prediction *p, const char *value)
{
    p->batch = (uint32_t)strtoul(value, NULL, 10);
    return p->batch >= 1 && p->batch <= p->rows;
}

static enum status print_absent(const struct prediction *p, struct buf *out)
{
    enum status s = STATUS_OK;
    bool any = false;

    for (unsigned i = 0; i < WIRE_MEMBERS_MAX && s == STATUS_OK; i++) {
        if (!p->absent[i])
            continue;
        s = buf_printf(out, "%s%u", any ? "," : "", i);
        any = true;
    }
    return s;
}

static bool read_absent(struct prediction *p, const char *value)
{
    for (const char *at = value; *at >= '0' && *at <= '9'; at += *at == ',') {
        char *end;
        const unsigned long i = strtoul(at, &end, 10);

        if (i < WIRE_MEMBERS_MAX)
            p->absent[i] = true;
        at = end;
    }
    return true;
}

static enum status print_by(const struct prediction *p, struct buf *out)
{
    return buf_printf(out, "%s", p->by);
}

static bool read_by(struct prediction *p, const char *value)
{
    const size_t n = strlen(value);

    if (!cert_name_is(value, n))
        return false;
    memcpy(p->by, value, n + 1);
    return true;
}

static enum status print_open(const struct prediction *p, struct buf *out)
{
    return buf_printf(out, "%d", p->open);
}

static bool read_open(struct prediction *p, const char *value)
{
    p->open = value[0] == '1';
    return true;
}

static enum status print_alignment(const struct prediction *p, struct buf *out)
{
    enum status s;

    if (!prediction_is_placed(p))
        return STATUS_OK;
    s = buf_printf(out, "%s,", p->alignment);
    return s == STATUS_OK ? print_digest(out, p->places) : s;
}

static bool read_alignment(struct prediction *p, const char *value)
{
    const size_t n = strcspn(value, ",");

    if (value[0] == 0)
        return true;
    if (n >= sizeof p->alignment)
        return false;
    memcpy(p->alignment, value, n);
    p->alignment[n] = 0;
    return key_text_is_alignment(p->alignment) && value[n] == ',' &&
           digest_from_hex(p->places, sizeof p->places, value + n + 1);
}

/* Its lines, in their order.  A reader may take more than a printer writes: what is not printed
 * alike again is no text of this kind. */
static const struct line {
    const char *key;
    enum status (*print)(const struct prediction *p, struct buf *out);
    bool (*read)(struct prediction *p, const char *value);
} lines[] = {
    {"run", print_run, read_run},
    {"plan", print_plan, read_plan},
    {"trail", print_trail, read_trail},
    {"rows", print_rows, read_rows},
    {"batch", print_batch, read_batch},
    {"absent", print_absent, read_absent},
    {"by", print_by, read_by},
    {"open", print_open, read_open},
    {"alignment", print_alignment, read_alignment},
};
enum { LINES = sizeof lines / sizeof *lines };

enum status prediction_print(const struct prediction *p, struct buf *out)
{
    enum status s = STATUS_OK;

    for (size_t i = 0; i < LINES && s == STATUS_OK; i++) {
        s = buf_printf(out, "%s=", lines[i].key);
        if (s == STATUS_OK)
            s = lines[i].print(p, out);
        if (s == STATUS_OK)
            s = buf_printf(out, "\n");
    }
    return s;
}

/* The value of the line that begins with key, into out; where the next line begins, or NULL. */
static const char *take(const char *at, const char *key, char *out, size_t size)
{
    const size_t k = strlen(key);
    const char *end = strchr(at, '\n');

    if (end == NULL || strncmp(at, key, k) != 0 || at[k] != '=' || (size_t)(end - at) - k > size)
        return NULL;
    snprintf(out, size, "%.*s", (int)((size_t)(end - at) - k - 1), at + k + 1);
    return end + 1;
}

static bool read_text(struct prediction *p, const char *text)
{
    char value[WIRE_MEMBERS_MAX * 4 + 1];

    for (size_t i = 0; i < LINES; i++) {
        text = take(text, lines[i].key, value, sizeof value);
        if (text == NULL || !lines[i].read(p, value))
            return false;
    }
    return true;
}

enum status prediction_parse(struct prediction *p, const uint8_t *text, size_t n, struct error *err)
{
    char copy[WIRE_JOB_TEXT_MAX + 1];
    struct buf again;
    bool same = false;

    *p = (struct prediction){0};
    if (n < sizeof copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
        buf_init(&again, sizeof copy);
        same = strlen(copy) == n && read_text(p, copy) &&
               prediction_print(p, &again) == STATUS_OK && again.len == n &&
               memcmp(again.data, copy, n) == 0;
        buf_deinit(&again);
    }
    return same ? STATUS_OK : error_set(err, STATUS_PROTOCOL, "no text of a job of predictions");
}

bool prediction_leaves_out(const struct prediction *p)
{
    for (size_t i = 0; i < WIRE_MEMBERS_MAX; i++)
        if (p->absent[i])
            return true;
    return false;
}

/* --- its rounds --- */

enum { PREDICTION_BITS_MAX = 24 }; /* of protocol.fixed.bits */

enum status prediction_plan(struct plan *out, const struct plan *of, double reach,
                            struct error *err)
{
    *out = *of;
    out->protocol.straggler = STRAGGLER_WAIT;
    if (!aggregation_of(of)->polynomial)
        return STATUS_OK;
    if (!(reach > 0))
        return error_set(err, STATUS_CONFIG,
                         "the model's package does not say how far its embeddings reach: its run "
                         "was gone on with after the last round");
    out->protocol.aggregation = AGGREGATION_MASKED;
    out->protocol.encoding = ENCODING_FIXED;
    out->protocol.clip = reach;
    out->protocol.fixed.bits = PREDICTION_BITS_MAX;
    while ((uint64_t)of->shape.parties << out->protocol.fixed.bits > UINT64_C(1) << 31)
        out->protocol.fixed.bits--;
    return STATUS_OK;
}

uint32_t prediction_batch_max(const struct plan *p)
{
    return wire_evaluate_rows(p);
}

bool prediction_is_exact(const struct plan *p)
{
    return !aggregation_of(p)->plaintext && !encoding_of(p)->noisy;
}

uint32_t prediction_ids(const struct wire_bytes *ids)
{
    uint32_t n = 0;

    for (size_t i = 0; i < ids->n; i++)
        n += ids->data[i] == '\n';
    return n;
}

size_t prediction_next_id(const struct wire_bytes *ids, size_t *at)
{
    const uint8_t *from = ids->data + *at, *end;
    size_t n;

    if (*at >= ids->n)
        return 0;
    end = memchr(from, '\n', ids->n - *at);
    n = end == NULL ? 0 : (size_t)(end - from);
    if (!text_is_plain((const char *)from, n, TABLE_ID_MAX))
        return 0;
    *at += n + 1;
    return n;
}
