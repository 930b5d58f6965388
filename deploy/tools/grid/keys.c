/* keys.c -- the daemons' own tables, asked about one key.
 *
 * Rules between keys are the daemons' business: a combination that they refuse is a run that fails.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/keys.h"

#include "common/config/config.h"
#include "common/config/config_keys.h"
#include "common/config/key_set.h"
#include "common/config/number.h"

#include <stdio.h>
#include <string.h>

/* What `vfl cluster` writes itself. */
static const char *const taken_server[] = {"listen",    "identity.", "roster",         "state",
                                           "state_key", "labels.",   "insecure_peers", NULL};
static const char *const taken_party[] = {"server",    "identity.",      "roster",
                                          "state",     "state_key",      "data.train",
                                          "data.test", "insecure_peers", NULL};

static bool is_taken(bool party, const char *key)
{
    for (const char *const *t = party ? taken_party : taken_server; *t != NULL; t++) {
        size_t n = strlen(*t);

        if ((*t)[n - 1] == '.' ? strncmp(key, *t, n) == 0 : strcmp(key, *t) == 0)
            return true;
    }
    return false;
}

bool keys_is_server(const char *key)
{
    return key_find(&config_keys_server, key) >= 0 || key_is_section(&config_keys_server, key);
}

bool keys_check(bool party, const char *key, const struct tree *value, bool *file,
                char reason[KEYS_REASON_MAX])
{
    static struct config_server server; /* large; what is stored is not looked at */
    static struct config_party of_party;
    const struct key_table *table = party ? &config_keys_party : &config_keys_server;
    char *base = party ? (char *)&of_party : (char *)&server;
    struct key_set_fault bad;
    struct key_value v = {0};
    const struct key *k;
    const char *why;
    size_t offset;
    int i = key_find(table, key), line;

    if (i < 0 && key_is_section(table, key)) {
        snprintf(reason, KEYS_REASON_MAX, "is a section: name one of its keys");
        return false;
    }
    if (i < 0) {
        key_unknown(table, key, reason, KEYS_REASON_MAX);
        return false;
    }
    if (is_taken(party, key)) {
        snprintf(reason, KEYS_REASON_MAX, "is written by vfl cluster itself");
        return false;
    }
    if (!key_value_read(&v, value, &line, &why)) {
        snprintf(reason, KEYS_REASON_MAX, "%s", why);
        return false;
    }
    k = key_at(table, (size_t)i, &offset);
    if (!key_set(k, base + offset, &v, NULL, &bad)) {
        snprintf(reason, KEYS_REASON_MAX, "%s is not %s", bad.value, bad.want);
        return false;
    }
    *file = k->type == KEY_PATH || k->type == KEY_SOURCE;
    if (k->type == KEY_SCALE) {
        *file = true;
        for (const char *const *c = k->choices; *c != NULL; c++)
            *file = *file && strcmp(value->text, *c) != 0;
    }
    return true;
}

/* --- options of vfl cluster --- */

static bool refuse(char reason[KEYS_REASON_MAX], const char *words)
{
    snprintf(reason, KEYS_REASON_MAX, "%s", words);
    return false;
}

static bool check_flag(const struct tree *v, char reason[KEYS_REASON_MAX])
{
    if (v->kind == TREE_SCALAR && (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0))
        return true;
    return refuse(reason, "takes true or false");
}

/* Does a key of these words take several files? */
static bool begins(const char *key, const char *word)
{
    const size_t n = strlen(word);

    return strncmp(key, word, n) == 0 &&
           (strcmp(key + n, "_train") == 0 || strcmp(key + n, "_test") == 0);
}

bool keys_take_files(const char *key)
{
    return begins(key, "idx") || begins(key, "npy") || begins(key, "cifar");
}

static bool check_batches(const struct tree *v, char reason[KEYS_REASON_MAX])
{
    const struct tree *one = v->kind == TREE_LIST ? v->first : NULL;

    while (one != NULL && one->kind == TREE_SCALAR)
        one = one->next;
    if (one == NULL && v->kind != TREE_MAP && !tree_is_empty(v))
        return true;
    return refuse(reason, "takes a file, or several: [BATCH, BATCH]");
}

/* IMAGES and LABELS. */
static bool check_pair(const struct tree *v, char reason[KEYS_REASON_MAX])
{
    if (v->kind == TREE_LIST && v->n == 2 && v->first->kind == TREE_SCALAR &&
        v->first->next->kind == TREE_SCALAR)
        return true;
    return refuse(reason, "takes two files: [IMAGES, LABELS]");
}

static bool check_parties(const struct tree *v, char reason[KEYS_REASON_MAX])
{
    uint64_t n;

    if (v->kind == TREE_SCALAR && number_whole(&n, v->text) && n >= 1 && n <= PLAN_PARTIES_MAX)
        return true;
    return refuse(reason, "takes a whole number from 1 to 256");
}

/* Options of vfl cluster that take any text. */
static bool is_text(const char *key)
{
    static const char *const texts[] = {"data",       "columns",  "label_map", "label",
                                        "id",         "positive", "group",     "time",
                                        "test_share", "test_by",  "delimiter", NULL};

    for (const char *const *t = texts; *t != NULL; t++) {
        if (strcmp(key, *t) == 0)
            return true;
    }
    return false;
}

bool keys_check_cluster(const char *key, const struct tree *value, bool *file,
                        char reason[KEYS_REASON_MAX])
{
    *file = strcmp(key, "train") == 0 || strcmp(key, "test") == 0 || strcmp(key, "schema") == 0;
    if (is_text(key) || *file)
        return (value->kind == TREE_SCALAR && value->text[0] != 0) ||
               refuse(reason, "takes a single text");
    if (keys_take_files(key)) {
        *file = true;
        return begins(key, "cifar") ? check_batches(value, reason) : check_pair(value, reason);
    }
    if (strcmp(key, "parties") == 0)
        return check_parties(value, reason);
    if (strcmp(key, "netns") == 0 || strcmp(key, "strict_policy") == 0)
        return check_flag(value, reason);
    if (strcmp(key, "netns_link") == 0)
        return (value->kind == TREE_SCALAR && value->text[0] != 0) ||
               refuse(reason, "takes a single text, as behind --link");
    return refuse(
        reason,
        "unknown here; known are data, train, test, idx_train, idx_test, npy_train, "
        "npy_test, cifar_train, cifar_test, parties, "
        "columns, label_map, label, id, positive, group, time, test_share, test_by, schema, "
        "delimiter, netns, netns_link, "
        "strict_policy");
}
