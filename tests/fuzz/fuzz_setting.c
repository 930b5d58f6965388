/* fuzz_setting.c -- any lines as assignments of a command line (--set), for either daemon: refused
 * in words, or a configuration that is printed, and read again, as it is.
 *
 * Input: byte 0 which daemon; the rest is assignments, a line each.  What a configuration must have
 * is assigned before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/config.h"
#include "common/config/config_keys.h"
#include "tests/fuzz/feed.h"

enum { TEXT_MAX = 2048, LINES_MAX = 16, GIVEN_MAX = 8, NEEDED_MAX = 160, PRINTED_MAX = 1 << 20 };

union any {
    struct config_server server;
    struct config_party party;
};

static enum status load(union any *c, bool server, const char *file, const char *const *sets,
                        size_t n, struct error *err)
{
    return server ? config_load_server(&c->server, file, sets, n, err)
                  : config_load_party(&c->party, file, sets, n, err);
}

/* Every key without a default; how many. */
static size_t needed(const char *sets[GIVEN_MAX], bool server)
{
    static char text[GIVEN_MAX][NEEDED_MAX];
    const struct key *k;
    size_t offset, n = 0;

    for (size_t i = 0;
         (k = key_at(server ? &config_keys_server : &config_keys_party, i, &offset)) != NULL; i++) {
        if (k->fallback != NULL)
            continue;
        CHECK(n < GIVEN_MAX);
        snprintf(text[n], NEEDED_MAX, "%s=/x", k->path);
        sets[n] = text[n];
        n++;
    }
    return n;
}

/* The numbers of a refusal are those of keys, its words may be the assignment's own. */
static void check_refusal(const struct error *err, bool printable)
{
    CHECK(err->status == STATUS_CONFIG);
    if (printable)
        feed_check_words(err->text);
    else
        CHECK(err->text[0] != 0);
}

static void check_printed(const union any *c, bool server)
{
    static union any again;
    char path[FEED_PATH_MAX];
    struct error err = {0};
    struct buf out;
    int fd;

    buf_init(&out, PRINTED_MAX);
    CHECK((server ? config_print_server(&c->server, &out) : config_print_party(&c->party, &out)) ==
          STATUS_OK);
    fd = feed_file(path, out.data, out.len);
    if (load(&again, server, path, NULL, 0, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        CHECK(false);
    }
    CHECK(memcmp(c, &again, server ? sizeof c->server : sizeof c->party) == 0);
    close(fd);
    buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static union any c;
    const char *sets[GIVEN_MAX + LINES_MAX];
    struct feed f = {data, size};
    const bool server = feed_byte(&f) % 2 == 0;
    bool printable = true;
    char text[TEXT_MAX];
    struct error err = {0};
    size_t n = needed(sets, server);

    if (!feed_text(&f, text, sizeof text))
        return 0;
    for (char *at = text, *end; *at != 0 && n < GIVEN_MAX + LINES_MAX; at = end) {
        end = at + strcspn(at, "\n");
        if (*end != 0)
            *end++ = 0;
        sets[n++] = at;
        for (; *at != 0; at++)
            printable = printable && *at >= 0x20 && *at < 0x7f;
    }
    memset(&c, 0, sizeof c);
    if (load(&c, server, NULL, sets, n, &err) == STATUS_OK)
        check_printed(&c, server);
    else
        check_refusal(&err, printable);
    return 0;
}
