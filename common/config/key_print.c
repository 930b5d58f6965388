/* key_print.c -- values as text.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/key_print.h"

#include "common/base/check.h"
#include "common/config/config.h"
#include "common/config/key_text.h"
#include "common/config/number.h"

#include <inttypes.h>

bool key_print_needed(const struct key *k, const void *field)
{
    switch (k->type) {
    case KEY_PATH:
    case KEY_SOURCE:
    case KEY_SCALE:
    case KEY_ADDRESS:
    case KEY_COLUMN:
    case KEY_ALIGNMENT:
    case KEY_SHA256: return *(const char *)field != 0;
    case KEY_TEXT: return *(const char *)field != 0 || k->fallback[0] != 0;
    case KEY_AUTO:
    case KEY_SEED: return *(const bool *)((const char *)field + k->given);
    case KEY_U32:
    case KEY_U64:
    case KEY_REAL:
    case KEY_BOOL:
    case KEY_CHOICE:
    case KEY_WIDTHS:
    case KEY_LAYERS:
    case KEY_NAMES:
    case KEY_COMMAND:
    case KEY_SET:
    case KEY_DELAY: break;
    }
    return true;
}

static enum status print_real(double v, struct buf *out)
{
    char text[NUMBER_TEXT_MAX];

    number_print(text, v);
    return buf_printf(out, "%s", text);
}

/* Of printable characters these two alone need an escape. */
enum status key_print_quoted(const char *text, struct buf *out)
{
    enum status s;

    if (!key_text_is_printable(text))
        return STATUS_CONFIG;
    s = buf_append(out, "\"", 1);
    for (; s == STATUS_OK && *text != 0; text++) {
        if (*text == '"' || *text == '\\')
            s = buf_append(out, "\\", 1);
        if (s == STATUS_OK)
            s = buf_append(out, text, 1);
    }
    return s == STATUS_OK ? buf_append(out, "\"", 1) : s;
}

static enum status print_widths(const struct plan_widths *w, struct buf *out)
{
    enum status s = buf_append(out, "[", 1);

    for (size_t i = 0; s == STATUS_OK && i < w->n; i++)
        s = buf_printf(out, "%s%" PRIu32, i == 0 ? "" : ",", w->width[i]);
    return s == STATUS_OK ? buf_append(out, "]", 1) : s;
}

static enum status print_names(const struct config_names *names, struct buf *out)
{
    enum status s = buf_append(out, "[", 1);

    for (size_t i = 0; s == STATUS_OK && i < names->n; i++)
        s = buf_printf(out, "%s\"%s\"", i == 0 ? "" : ", ", names->name[i]);
    return s == STATUS_OK ? buf_append(out, "]", 1) : s;
}

static enum status print_command(const struct config_command *c, struct buf *out)
{
    enum status s = buf_append(out, "[", 1);

    for (size_t i = 0; s == STATUS_OK && i < c->n; i++) {
        if (i > 0)
            s = buf_append(out, ", ", 2);
        if (s == STATUS_OK)
            s = key_print_quoted(c->arg[i], out);
    }
    return s == STATUS_OK ? buf_append(out, "]", 1) : s;
}

static enum status print_set(const struct key *k, const bool *set, struct buf *out)
{
    enum status s = buf_append(out, "[", 1);
    const char *between = "";

    for (size_t i = 0; s == STATUS_OK && k->choices[i] != NULL; i++) {
        if (!set[i])
            continue;
        s = buf_printf(out, "%s%s", between, k->choices[i]);
        between = ", ";
    }
    return s == STATUS_OK ? buf_append(out, "]", 1) : s;
}

static enum status print_delay(const struct config_inject *inject, struct buf *out)
{
    static const char *const kinds[] = {
        [DELAY_CONST] = "const", [DELAY_EXP] = "exp", [DELAY_FEDVS] = "fedvs"};
    enum status s;

    if (inject->delay == DELAY_NONE)
        return buf_printf(out, "none");
    s = buf_printf(out, "%s:", kinds[inject->delay]);
    return s == STATUS_OK ? print_real(inject->delay_s, out) : s;
}

enum status key_print(const struct key *k, const void *field, struct buf *out)
{
    switch (k->type) {
    case KEY_U32: return buf_printf(out, "%" PRIu32, *(const uint32_t *)field);
    case KEY_U64: return buf_printf(out, "%" PRIu64, *(const uint64_t *)field);
    case KEY_REAL: return print_real(*(const double *)field, out);
    case KEY_AUTO:
        if (!key_print_needed(k, field))
            return buf_printf(out, "auto");
        return print_real(*(const double *)field, out);
    case KEY_BOOL: return buf_printf(out, "%s", *(const bool *)field ? "true" : "false");
    case KEY_CHOICE: return buf_printf(out, "%s", k->choices[*(const uint32_t *)field]);
    case KEY_SEED:
        if (!key_print_needed(k, field))
            return buf_printf(out, "random");
        return buf_printf(out, "%" PRIu64, *(const uint64_t *)field);
    case KEY_SCALE:
    case KEY_PATH:
    case KEY_SOURCE:
    case KEY_ADDRESS:
    case KEY_COLUMN:
    case KEY_ALIGNMENT:
    case KEY_TEXT:
    case KEY_SHA256: return key_print_quoted(field, out);
    case KEY_WIDTHS: return print_widths(field, out);
    case KEY_LAYERS: return layers_print(field, out);
    case KEY_NAMES: return print_names(field, out);
    case KEY_COMMAND: return print_command(field, out);
    case KEY_SET: return print_set(k, field, out);
    case KEY_DELAY: return print_delay(field, out);
    }
    CHECK(false);
    return STATUS_OK;
}
