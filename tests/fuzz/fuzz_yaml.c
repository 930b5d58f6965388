/* fuzz_yaml.c -- a configuration file as either kind: one clean line of refusal, or a struct that
 * survives being printed and read again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/check.h"
#include "common/config/config.h"
#include "common/config/config_keys.h"
#include "common/config/key_set.h"
#include "common/config/load.h"

#include <string.h>

enum { PRINTED_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

union any {
    struct config_server server;
    struct config_party party;
};

static bool read_text(const struct key_table *t, union any *c, const void *text, size_t n)
{
    struct load l = {.table = t, .base = c, .file = "f", .dir = "/d"};
    struct error err = {0};

    memset(c, 0, sizeof *c);
    key_set_defaults(t, c);
    if (load_text(&l, text, n, &err) == STATUS_OK)
        return true;
    CHECK(err.status == STATUS_CONFIG && err.text[0] == 'f');
    for (const char *at = err.text; *at != 0; at++)
        CHECK((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f);
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
    check_kind(&config_keys_server, data, size);
    check_kind(&config_keys_party, data, size);
    return 0;
}
