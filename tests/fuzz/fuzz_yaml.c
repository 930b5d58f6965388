/* fuzz_yaml.c -- a text as a tree: refused in clean words, or within its limits.  The same as a
 * configuration file of either kind: one clean line of refusal, or a struct that survives being
 * printed and read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/config.h"
#include "common/config/config_keys.h"
#include "common/config/key_set.h"
#include "common/config/key_text.h"
#include "common/config/load.h"
#include "common/config/tree.h"
#include "tests/fuzz/feed.h"

#include <string.h>

enum { PRINTED_MAX = 1 << 20 };

union any {
    struct config_server server;
    struct config_party party;
};

static const struct tree_limits limits = {.bytes = 4096, .depth = 5, .nodes = 100, .text_max = 200};

/* How many nodes; lines only grow. */
static size_t check_node(const struct tree *t, int depth, int *line)
{
    size_t nodes = 1, n = 0;

    CHECK(t->line >= *line && t->value_line >= t->line);
    *line = t->value_line;
    if (t->kind == TREE_SCALAR) {
        CHECK(t->n == 0 && t->first == NULL && key_text_is_printable(t->text));
        CHECK(strlen(t->text) <= limits.text_max);
        return 1;
    }
    CHECK(depth < limits.depth && t->text == NULL);
    for (const struct tree *e = t->first; e != NULL; e = e->next, n++) {
        CHECK((e->name != NULL) == (t->kind == TREE_MAP));
        for (const struct tree *before = t->first; e->name != NULL && before != e;
             before = before->next)
            CHECK(strcmp(before->name, e->name) != 0);
        nodes += check_node(e, depth + 1, line) + (e->name != NULL);
    }
    CHECK(n == t->n);
    return nodes;
}

static void check_tree(const uint8_t *data, size_t size)
{
    const struct tree *root;
    struct tree_fault f;
    struct arena a;
    int line = 1;

    if (tree_read(&root, &a, (const char *)data, size, &limits, &f) != STATUS_OK) {
        CHECK(root == NULL);
        feed_check_words(f.reason);
        if (f.path[0] != 0)
            feed_check_words(f.path);
    } else if (root != NULL) {
        CHECK(check_node(root, 0, &line) <= limits.nodes && size <= limits.bytes);
    }
    arena_deinit(&a);
}

static bool read_text(const struct key_table *t, union any *c, const void *text, size_t n)
{
    struct load l = {.table = t, .base = c, .file = "f", .dir = "/d"};
    struct error err = {0};

    memset(c, 0, sizeof *c);
    key_set_defaults(t, c);
    if (load_text(&l, text, n, &err) == STATUS_OK)
        return true;
    CHECK(err.status == STATUS_CONFIG && err.text[0] == 'f');
    feed_check_words(err.text);
    return false;
}

static void check_kind(const struct key_table *t, const uint8_t *data, size_t size)
{
    static union any c, back;
    struct buf out;

    if (!read_text(t, &c, data, size))
        return;
    buf_init(&out, PRINTED_MAX);
    CHECK((t == &config_keys_server ? config_print_server(&c.server, &out)
                                    : config_print_party(&c.party, &out)) == STATUS_OK);
    CHECK(read_text(t, &back, out.data, out.len));
    CHECK(memcmp(&c, &back, sizeof c) == 0);
    buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_tree(data, size);
    check_kind(&config_keys_server, data, size);
    check_kind(&config_keys_party, data, size);
    return 0;
}
