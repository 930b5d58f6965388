/* run.c -- a run's id and its command.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "deploy/tools/grid/run.h"

#include "common/base/file.h"
#include "common/crypto/digest.h"
#include "deploy/tools/grid/idkey.h"
#include "deploy/tools/grid/keys.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    FILES_MAX = 64,
    CHUNK = 1 << 16,
    DIGEST_SHOWN = 8,
    ID_WORDS_MAX = GRID_ID_MAX - 64, /* room for the seed, a dot and the digest */
};

/* --- what is in files --- */

struct content {
    char path[PATH_MAX];
    uint8_t digest[DIGEST_BYTES];
};

/* Each file is read once. */
static struct content seen[FILES_MAX];
static size_t seen_n;

static enum status digest_file(struct content *c, struct error *err)
{
    static uint8_t chunk[CHUNK];
    struct digest d;
    int file;
    enum status s = file_open(&file, c->path, err);
    ssize_t n;

    if (s != STATUS_OK)
        return err->status = STATUS_CONFIG;
    digest_begin(&d);
    while ((n = read(file, chunk, sizeof chunk)) > 0)
        digest_update(&d, chunk, (size_t)n);
    digest_final(&d, c->digest);
    if (n < 0)
        s = error_set(err, STATUS_CONFIG, "%s: cannot be read", c->path);
    close(file);
    digest_deinit(&d);
    return s;
}

static enum status add_file(struct digest *d, const struct grid *g, const char *path, size_t n,
                            struct error *err)
{
    uint8_t said[DIGEST_BYTES];
    size_t i = 0;
    enum status s;

    if (n >= PATH_MAX)
        return error_set(err, STATUS_CONFIG, "%.100s...: too long", path);
    while (i < seen_n && (strncmp(seen[i].path, path, n) != 0 || seen[i].path[n] != 0))
        i++;
    if (i == seen_n) {
        i = seen_n < FILES_MAX ? seen_n : 0;
        snprintf(seen[i].path, sizeof seen[i].path, "%.*s", (int)n, path);
        s = digest_file(&seen[i], err);
        if (s != STATUS_OK)
            return s;
        seen_n = i + 1 > seen_n ? i + 1 : seen_n;
    }
    s = idkey_digest(said, g, seen[i].digest);
    if (s != STATUS_OK)
        return error_set(err, s, "%s", status_words(s));
    digest_update(d, said, sizeof said);
    return STATUS_OK;
}

/* Where files are does not matter, what is in them does. */
static enum status add_files(struct digest *d, const struct grid *g, const struct setting *of,
                             struct error *err)
{
    const char *at = of->value;
    enum status s = STATUS_OK;

    if (!keys_take_files(of->key))
        return add_file(d, g, at, strlen(at), err);
    while (s == STATUS_OK && *at != 0) {
        const size_t n = strcspn(at, ",");

        s = add_file(d, g, at, n, err);
        at += n + (at[n] == ',');
    }
    return s;
}

/* --- the id --- */

static void add_text(struct digest *d, const char *text)
{
    digest_update(d, text, strlen(text) + 1);
}

static enum status digest_run(struct digest *d, const struct run *r, const struct grid *g,
                              struct error *err)
{
    char seed[32];

    digest_begin(d);
    for (size_t i = 0; i < r->settings; i++) {
        const struct setting *s = r->setting[i];
        enum status st;

        if (s->kind == SETTING_LABEL)
            continue;
        add_text(d, s->kind == SETTING_CLUSTER ? "cluster"
                    : s->kind == SETTING_SET   ? "set"
                                               : s->who);
        add_text(d, s->key);
        if (!s->file) {
            add_text(d, s->value);
            continue;
        }
        st = add_files(d, g, s, err);
        if (st != STATUS_OK)
            return st;
    }
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->seed);
    add_text(d, seed);
    return STATUS_OK;
}

/* Words for a folder's name; what does not fit is in the digest all the same. */
static size_t add_word(char *id, size_t n, const char *word)
{
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+";

    if (n > 0 && n < ID_WORDS_MAX)
        id[n++] = '_';
    for (bool gap = false; *word != 0 && n < ID_WORDS_MAX; word++) {
        if (strchr(kept, *word) != NULL) {
            id[n++] = *word;
            gap = false;
        } else if (!gap && word[1] != 0 && n > 0 && id[n - 1] != '_') {
            id[n++] = '-';
            gap = true;
        }
    }
    return n;
}

/* `trials-16` for protocol.pbm.trials, `lattice` for an axis of names. */
static size_t add_choice(char *id, size_t n, const struct axis *axis, const char *text)
{
    const char *dot = strrchr(axis->name, '.');
    char word[256];

    if (dot == NULL && strchr(axis->name, ':') == NULL)
        return add_word(id, n, text);
    snprintf(word, sizeof word, "%s-%s", dot == NULL ? axis->name : dot + 1, text);
    return add_word(id, n, word);
}

enum status run_name(struct run *r, const struct grid *g, struct error *err)
{
    uint8_t sum[DIGEST_BYTES];
    char hex[DIGEST_HEX_CHARS + 1];
    struct digest d;
    size_t n = 0;
    enum status s = digest_run(&d, r, g, err);

    if (s == STATUS_OK)
        digest_final(&d, sum);
    digest_deinit(&d);
    if (s != STATUS_OK)
        return s;
    digest_hex(hex, sum, sizeof sum);
    if (r->of->name != NULL)
        n = add_word(r->id, n, r->of->name);
    for (size_t i = 0; i < r->axes; i++)
        n = add_choice(r->id, n, r->axis[i], r->pick[i]->text);
    snprintf(r->id + n, sizeof r->id - n, "%ss%llu.%.*s", n > 0 ? "_" : "",
             (unsigned long long)r->seed, DIGEST_SHOWN, hex);
    if (r->id[0] == '.') /* a folder that everybody sees */
        r->id[0] = '_';
    return STATUS_OK;
}

/* --- the command --- */

static void print_one(const char *text, bool words, FILE *out)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "@%+=:,./-_";

    if (!words) {
        fprintf(out, "\t%s", text);
        return;
    }
    if (text[0] != 0 && strspn(text, plain) == strlen(text)) {
        fprintf(out, " %s", text);
        return;
    }
    fputs(" '", out);
    for (; *text != 0; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            putc(*text, out);
    }
    putc('\'', out);
}

static void print_links(const char *value, bool words, FILE *out)
{
    char one[256];

    for (; *value != 0; value += strspn(value, " ")) {
        size_t n = strcspn(value, " ");

        snprintf(one, sizeof one, "%.*s", (int)n, value);
        print_one("--link", words, out);
        print_one(one, words, out);
        value += n;
    }
}

static void print_cluster(const struct setting *s, bool words, FILE *out)
{
    char option[64];

    if (strcmp(s->key, "netns_link") == 0) {
        print_links(s->value, words, out);
        return;
    }
    if (strcmp(s->value, "false") == 0)
        return;
    snprintf(option, sizeof option, "--%s", s->key);
    for (char *c = option; *c != 0; c++)
        *c = *c == '_' ? '-' : *c;
    print_one(option, words, out);
    if (strcmp(s->value, "true") != 0)
        print_one(s->value, words, out);
}

void run_print_arguments(const struct run *r, bool words, FILE *out)
{
    char text[2 * PATH_MAX + 256];

    for (size_t i = 0; i < r->settings; i++) {
        const struct setting *s = r->setting[i];

        if (s->kind == SETTING_CLUSTER) {
            print_cluster(s, words, out);
        } else if (s->kind == SETTING_SET) {
            snprintf(text, sizeof text, "%s=%s", s->key, s->value);
            print_one("--set", words, out);
            print_one(text, words, out);
        } else if (s->kind == SETTING_PARTY) {
            snprintf(text, sizeof text, "%s:%s=%s", s->who, s->key, s->value);
            print_one("--party", words, out);
            print_one(text, words, out);
        }
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)r->seed);
    print_one("--seed", words, out);
    print_one(text, words, out);
}
