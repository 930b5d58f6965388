/* options.c -- the command line of `vfl pki`.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/pki/options.h"

#include "common/config/key_text.h"
#include "common/crypto/cert_name.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[OPTION_N] = {
    [OPTION_CA] = "ca",         [OPTION_NAME] = "name",       [OPTION_DAYS] = "days",
    [OPTION_START] = "start",   [OPTION_KEY] = "key",         [OPTION_CSR] = "csr",
    [OPTION_ROLE] = "role",     [OPTION_OUT] = "out",         [OPTION_SERVER] = "server",
    [OPTION_ROSTER] = "roster", [OPTION_ADDRESS] = "address", [OPTION_PLAN] = "plan",
    [OPTION_UNITS] = "units",   [OPTION_PARTIES] = "parties",
};

/* A word of `known`. */
static bool is_known(const char *known, const char *name)
{
    const size_t n = strlen(name);

    while (*known != 0) {
        const size_t word = strcspn(known, " ");

        if (word == n && memcmp(known, name, n) == 0)
            return true;
        known += word + (known[word] == ' ');
    }
    return false;
}

enum status options_number(long *out, const char *what, const char *text, long lo, long hi,
                           struct error *err)
{
    const size_t n = strlen(text);
    const bool is = n > 0 && n <= 9 && strspn(text, "0123456789") == n;

    *out = is ? strtol(text, NULL, 10) : -1;
    if (is && *out >= lo && *out <= hi)
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG, "%s: expected a whole number from %ld to %ld", what, lo,
                     hi);
}

enum status options_check_name(const char *name, struct error *err)
{
    if (cert_name_is(name, strlen(name)))
        return STATUS_OK;
    return error_set(err, STATUS_CONFIG, "name '%.80s': " CERT_NAME_RULE,
                     key_text_is_printable(name) ? name : "(with control characters)");
}

static enum status take_list(const char **list, size_t *n, const char *value, struct error *err)
{
    if (*n == OPTIONS_OPERATORS_MAX)
        return error_set(err, STATUS_CONFIG, "more than %d of one option", OPTIONS_OPERATORS_MAX);
    list[(*n)++] = value;
    return STATUS_OK;
}

static enum status take(struct options *o, const char *name, const char *value, struct error *err)
{
    if (strcmp(name, "operator") == 0)
        return take_list(o->operators, &o->operators_n, value, err);
    if (strcmp(name, "allow") == 0)
        return take_list(o->allow, &o->allow_n, value, err);
    for (size_t i = 0; i < OPTION_N; i++) {
        if (strcmp(names[i], name) != 0)
            continue;
        if (o->text[i] != NULL)
            return error_set(err, STATUS_CONFIG, "--%s is given twice", name);
        o->text[i] = value;
        return i == OPTION_DAYS ? options_number(&o->days, "--days", value, 1, 36500, err)
                                : STATUS_OK;
    }
    return error_set(err, STATUS_FAULT, "--%s", name);
}

enum status options_read(struct options *o, int argc, char **argv, const char *known,
                         struct error *err)
{
    bool files_only = false;
    enum status s = STATUS_OK;

    memset(o, 0, sizeof *o);
    for (int i = 0; s == STATUS_OK && i < argc; i++) {
        const char *word = argv[i];

        if (files_only || word[0] != '-' || word[1] == 0) {
            if (o->files_n == OPTIONS_FILES_MAX)
                return error_set(err, STATUS_CONFIG, "more than %d files", OPTIONS_FILES_MAX);
            o->file[o->files_n++] = word;
        } else if (strcmp(word, "--") == 0) {
            files_only = true;
        } else if (strcmp(word, "--quiet") == 0) {
            o->quiet = true;
        } else if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            o->help = true;
            return STATUS_OK;
        } else if (strncmp(word, "--", 2) != 0 || !is_known(known, word + 2)) {
            s = error_set(err, STATUS_CONFIG, "unknown option %.80s",
                          key_text_is_printable(word) ? word : "(with control characters)");
        } else if (++i == argc) {
            s = error_set(err, STATUS_CONFIG, "%s needs a value", word);
        } else {
            s = take(o, word + 2, argv[i], err);
        }
    }
    return s;
}

enum status options_need(const struct options *o, enum options_name name, struct error *err)
{
    return o->text[name] != NULL && o->text[name][0] != 0
               ? STATUS_OK
               : error_set(err, STATUS_CONFIG, "--%s is missing", names[name]);
}
