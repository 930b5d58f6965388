/* words.c -- errors as others may read them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "party/words.h"

#include "common/config/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A text without an end may end in the midst of a path. */
static bool own_alone(const struct error *e, const char *state)
{
    char folder[CONFIG_PATH_MAX + 1];

    snprintf(folder, sizeof folder, "%s/", state);
    return status_kind(e->status) == STATUS_KIND_LOCAL || strlen(e->text) == sizeof e->text - 1 ||
           strstr(e->text, folder) != NULL;
}

void words_for_server(char to[WIRE_TEXT_MAX + 1], const struct error *e, const char *state)
{
    const char *text = e->text;
    const bool budget = e->status == STATUS_BUDGET;

    if (own_alone(e, state) || (budget && strncmp(text, "policy.", 7) != 0))
        snprintf(to, WIRE_TEXT_MAX + 1, "%s", status_words(e->status));
    else if (budget)
        snprintf(to, WIRE_TEXT_MAX + 1, "%.*s: over its limit", (int)strcspn(text, ":"), text);
    else
        snprintf(to, WIRE_TEXT_MAX + 1, "%.*s", WIRE_TEXT_MAX, text);
}
