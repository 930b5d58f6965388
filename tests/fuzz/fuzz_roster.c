/* fuzz_roster.c -- any file: refused with a line and a reason, or a roster that keeps its own
 * rules.
 *
 * roster_load reads files, so the input becomes one in memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/roster.h"
#include "tests/fuzz/feed.h"

static void check_entry(const struct roster *r, const struct roster_entry *e)
{
    CHECK(e->name[0] != 0 && memchr(e->name, 0, sizeof e->name) != NULL);
    CHECK(e->operator_name[0] != 0 && memchr(e->operator_name, 0, sizeof e->operator_name) != NULL);
    for (const char *c = e->name; *c != 0; c++)
        CHECK(*c > 0x20 && *c < 0x7f);
    if (e == &r->server) {
        CHECK(roster_find_name(r, e->name) == -1 && roster_find_key(r, e->key) == -1);
    } else {
        CHECK(roster_find_name(r, e->name) == e - r->party);
        CHECK(roster_find_key(r, e->key) == e - r->party);
    }
}

static void check_roster(const struct roster *r)
{
    uint8_t members[WIRE_MEMBERS_MAX];

    CHECK(r->n >= 1 && r->n <= WIRE_MEMBERS_MAX);
    check_entry(r, &r->server);
    for (size_t i = 0; i < r->n; i++) {
        check_entry(r, &r->party[i]);
        members[i] = (uint8_t)i;
    }
    for (uint32_t self = 0; self < r->n; self++) {
        uint32_t colluders = roster_colluders(r, members, r->n, self);
        CHECK(colluders >= 1 && colluders <= r->n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct roster r, again;
    struct error err = {0};
    char path[FEED_PATH_MAX];
    const int fd = feed_file(path, data, size);

    if (roster_load(&r, path, &err) != STATUS_OK) {
        CHECK(err.status == STATUS_CONFIG && strncmp(err.text, path, strlen(path)) == 0);
        CHECK(err.text[strlen(path)] == ':');
    } else {
        check_roster(&r);
        CHECK(roster_load(&again, path, NULL) == STATUS_OK);
        CHECK(memcmp(again.digest, r.digest, sizeof r.digest) == 0);
    }
    close(fd);
    return 0;
}
