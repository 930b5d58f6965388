/* reference.c -- the tables for people.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/reference.h"

#include "common/config/layers.h"

#include "common/base/check.h"

#include <stdio.h>
#include <string.h>

static void describe_choices(const struct key *k, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; k->choices[i] != NULL; i++) {
        n += (size_t)snprintf(out + n, size - n, "%s`%s`", i == 0 ? "" : ", ", k->choices[i]);
        CHECK(n < size);
    }
}

/* What may stand behind the key, in words and ranges. */
static void describe(const struct key *k, char *out, size_t size)
{
    char range[96] = "", choices[192] = "";

    key_range(k, range, sizeof range);
    if (k->choices != NULL)
        describe_choices(k, choices, sizeof choices);
    switch (k->type) {
    case KEY_U32:
    case KEY_U64: snprintf(out, size, "whole number %s", range); return;
    case KEY_REAL: snprintf(out, size, "number %s", range); return;
    case KEY_AUTO: snprintf(out, size, "`auto` or a number %s", range); return;
    case KEY_BOOL: snprintf(out, size, "`true`, `false`"); return;
    case KEY_CHOICE: snprintf(out, size, "%s", choices); return;
    case KEY_SEED: snprintf(out, size, "`random` or a whole number below 2^64"); return;
    case KEY_PATH: snprintf(out, size, "path"); return;
    case KEY_SOURCE: snprintf(out, size, "path or server"); return;
    case KEY_SCALE: snprintf(out, size, "%s or a path", choices); return;
    case KEY_ADDRESS: snprintf(out, size, "host:port, port in [%.0f, 65535]", k->lo); return;
    case KEY_ALIGNMENT: snprintf(out, size, "the name of an alignment"); return;
    case KEY_COLUMN: snprintf(out, size, "the name of a column"); return;
    case KEY_TEXT: snprintf(out, size, "text"); return;
    case KEY_SHA256: snprintf(out, size, "64 lowercase hex digits"); return;
    case KEY_WIDTHS:
        snprintf(out, size, "list of %s whole numbers %s", k->items != NULL ? k->items : "up to 8",
                 range);
        return;
    case KEY_LAYERS: snprintf(out, size, "list of up to %.0f layers", k->hi); return;
    case KEY_NAMES: snprintf(out, size, "list of up to 16 names"); return;
    case KEY_COMMAND: snprintf(out, size, "list of a command and its arguments"); return;
    case KEY_SET: snprintf(out, size, "list out of %s", choices); return;
    case KEY_DELAY:
        snprintf(out, size,
                 "`none`, `const:S`, `exp:MEAN`, `fedvs:SCALE` or `S`, numbers %s (SCALE above 0)",
                 range);
        return;
    }
    CHECK(false);
}

enum status reference_table(const struct key_table *t, struct buf *out)
{
    enum status s = buf_printf(out,
                               "### Keys of a %s file\n\n| key | value | default | meaning |\n"
                               "| --- | --- | --- | --- |\n",
                               t->name);
    const struct key *k;
    size_t offset;

    for (size_t i = 0; s == STATUS_OK && (k = key_at(t, i, &offset)) != NULL; i++) {
        char value[320], fallback[64] = "required";

        describe(k, value, sizeof value);
        if (k->fallback != NULL)
            snprintf(fallback, sizeof fallback, k->fallback[0] == 0 ? "none%s" : "`%s`",
                     k->fallback);
        s = buf_printf(out, "| `%s` | %s | %s | %s |\n", k->path, value, fallback, k->help);
    }
    return s == STATUS_OK ? buf_append(out, "\n", 1) : s;
}
