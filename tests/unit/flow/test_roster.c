/* test_roster.c -- who is admitted, what a mistake in the file is called, who may collude.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/flow/roster.h"

#include "common/base/mem.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/golden/flow.h"

/* Keys: 32 bytes counting up from the one named, as in gen_flow.py. */
#define KEY_1 "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
#define KEY_40 "28292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f4041424344454647"
#define KEY_80 "505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f"
#define KEY_120 "78797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f9091929394959697"
#define ZERO "0000000000000000000000000000000000000000000000000000000000000000"

#define SERVER "server: {name: srv, key: " KEY_1 ", operator: hub}\n"
#define P1 "  - {name: p1, key: " KEY_40 ", operator: bank}\n"
#define P2 "  - {name: p2, key: " KEY_80 "}\n"
#define P3 "  - {name: p3, key: " KEY_120 ", operator: bank}\n"
#define GOOD SERVER "parties:\n" P1 P2 P3

static void expect_loaded(struct roster *r, const char *text)
{
    struct error err = {0};

    if (roster_load(r, scratch_write_text("roster.yaml", text), &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* The text is refused with PATH:message. */
static void expect_refused(const char *text, const char *message)
{
    const char *path = scratch_write_text("roster.yaml", text);
    char expected[ERROR_TEXT_MAX];
    struct error err = {0};
    struct roster r;

    snprintf(expected, sizeof expected, "%s:%s", path, message);
    assert_int_equal(roster_load(&r, path, &err), STATUS_CONFIG);
    assert_string_equal(err.text, expected);
    assert_int_equal(err.status, STATUS_CONFIG);
    assert_int_equal(roster_load(&r, path, NULL), STATUS_CONFIG);
}

static void test_a_roster_is_read_in_the_order_of_its_file(void **state)
{
    struct roster r;

    (void)state;
    memset(&r, 0xa5, sizeof r);
    expect_loaded(&r, GOOD);
    assert_int_equal(r.n, 3);
    assert_string_equal(r.server.name, "srv");
    assert_string_equal(r.server.operator_name, "hub");
    assert_string_equal(r.party[0].name, "p1");
    assert_string_equal(r.party[2].name, "p3");
    assert_string_equal(r.party[2].operator_name, "bank");
    for (int i = 0; i < ROSTER_KEY_BYTES; i++) {
        assert_int_equal(r.server.key[i], 1 + i);
        assert_int_equal(r.party[1].key[i], 80 + i);
    }
}

static void test_who_names_no_operator_is_its_own(void **state)
{
    struct roster r;

    (void)state;
    expect_loaded(&r, "parties:\n" P2 "server: {key: " KEY_1 ", name: srv}\n");
    assert_string_equal(r.server.operator_name, "srv");
    assert_string_equal(r.party[0].operator_name, "p2");
}

static void test_the_digest_is_that_of_the_canonical_lines(void **state)
{
    struct roster r;

    (void)state;
    expect_loaded(&r, GOOD);
    assert_memory_equal(r.digest, GOLDEN_ROSTER_DIGEST, sizeof r.digest);
    /* Not of how the file is written. */
    expect_loaded(&r,
                  "# ours\nparties:\n" P1 "  - key: " KEY_80 "\n    name: 'p2'\n" P3 "\n" SERVER);
    assert_memory_equal(r.digest, GOLDEN_ROSTER_DIGEST, sizeof r.digest);
}

static void test_the_digest_changes_with_every_field_and_the_order(void **state)
{
    static const char *const others[] = {
        SERVER "parties:\n" P1 P3 P2,
        SERVER "parties:\n" P1 P2,
        SERVER "parties:\n" P1 P2 "  - {name: p4, key: " KEY_120 ", operator: bank}\n",
        SERVER "parties:\n" P1 P2 "  - {name: p3, key: " KEY_120 ", operator: banc}\n",
        SERVER "parties:\n" P1 P2 "  - {name: p3, key: " KEY_120 "}\n",
        "server: {name: srw, key: " KEY_1 ", operator: hub}\nparties:\n" P1 P2 P3,
        "server: {name: srv, key: " KEY_1 "}\nparties:\n" P1 P2 P3,
    };
    struct roster r;

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        expect_loaded(&r, others[i]);
        assert_memory_not_equal(r.digest, GOLDEN_ROSTER_DIGEST, sizeof r.digest);
    }
    expect_loaded(&r, GOOD);
    r.party[1].key[31] ^= 1;
    roster_seal(&r);
    assert_memory_not_equal(r.digest, GOLDEN_ROSTER_DIGEST, sizeof r.digest);
    r.party[1].key[31] ^= 1;
    roster_seal(&r);
    assert_memory_equal(r.digest, GOLDEN_ROSTER_DIGEST, sizeof r.digest);
}

static void test_a_mistake_in_the_shape_is_named_with_its_line(void **state)
{
    static const char entry[] = "a roster entry is {name: ..., key: ..., operator: ...}";
    static const char root[] = "1: a roster has the keys server and parties";
    char text[ERROR_TEXT_MAX];

    (void)state;
    expect_refused("", root);
    expect_refused("- a\n", root);
    expect_refused("words\n", root);
    expect_refused(SERVER, root);
    expect_refused("parties:\n" P1, root);
    expect_refused(SERVER "parties: p1\n", "2: parties: a list expected");
    expect_refused(SERVER "parties: {}\n", "2: parties: a list expected");
    expect_refused(SERVER "parties: []\n", "2: parties: nobody is listed");
    snprintf(text, sizeof text, "1: %s", entry);
    expect_refused("server: srv\nparties:\n" P1, text);
    snprintf(text, sizeof text, "4: %s", entry);
    expect_refused(SERVER "parties:\n" P1 "  - p2\n", text);
    snprintf(text, sizeof text, "5: %s", entry);
    expect_refused(SERVER "parties:\n" P1 "  - key: " KEY_80 "\n    name: [p2]\n", text);
    expect_refused(SERVER "parties:\n" P1 "notes: none\n",
                   "4: unknown key in a roster; known: server, parties");
    expect_refused(SERVER "parties:\n" P1 "  - {name: p2, key: " KEY_80 ", operater: x}\n",
                   "4: unknown key in a roster entry; known: name, key, operator");
    expect_refused("\"server\\0\": {name: srv, key: " KEY_1 "}\nparties:\n" P1,
                   "1: a text of several lines, or with control characters");
}

static void test_what_is_given_twice_is_refused(void **state)
{
    (void)state;
    expect_refused(GOOD SERVER, "6: server: repeated, first on line 1");
    expect_refused(GOOD "parties:\n" P1, "6: parties: repeated, first on line 2");
    expect_refused(SERVER "parties:\n  - {name: p1, key: " KEY_40 ", name: p2}\n",
                   "3: parties.name: repeated, first on line 3");
    expect_refused(SERVER "parties:\n  - {name: p1, key: " KEY_40 ", key: " KEY_80 "}\n",
                   "3: parties.key: repeated, first on line 3");
    expect_refused(SERVER "parties:\n  - {operator: a, name: p1, key: " KEY_40 ", operator: b}\n",
                   "3: parties.operator: repeated, first on line 3");
    expect_refused(GOOD "---\n" GOOD, "6: a second document is not accepted");
    expect_refused(SERVER "parties:\n" P1 "  - {name: p1, key: " KEY_80 "}\n",
                   "4: two entries of one name");
    expect_refused(SERVER "parties:\n" P1 "  - {name: srv, key: " KEY_80 "}\n",
                   "4: two entries of one name");
    expect_refused(SERVER "parties:\n" P1 "  - {name: p2, key: " KEY_40 "}\n",
                   "4: two entries of one key");
    expect_refused(SERVER "parties:\n" P1 "  - {name: p2, key: " KEY_1 "}\n",
                   "4: two entries of one key");
    expect_refused(SERVER "parties:\n  - &a {name: p1, key: " KEY_40 "}\n  - *a\n",
                   "3: parties: anchors are not accepted");
}

static void test_an_entry_needs_a_name_and_a_key_of_64_digits(void **state)
{
    static const char digits[] =
        "3: key: 64 hexadecimal digits expected (see `deploy/vfl pki fingerprint`)";
    static const char needs[] = "3: a roster entry needs name and key";

    (void)state;
    expect_refused(SERVER "parties:\n  - {name: p1}\n", needs);
    expect_refused(SERVER "parties:\n  - {key: " KEY_40 "}\n", needs);
    expect_refused(SERVER "parties:\n  - {}\n", needs);
    expect_refused(SERVER "parties:\n  - {name: p1, key: " KEY_40 "0}\n", digits);
    expect_refused(SERVER "parties:\n  - {name: p1, key: 0102}\n", digits);
    expect_refused(SERVER "parties:\n  - {name: p1, key: g" KEY_40 "}\n", digits);
    expect_refused(SERVER "parties:\n  - {name: p1, key: " ZERO "}\n", digits);
    expect_refused(SERVER "parties:\n  - {name: p1, key: ''}\n", digits);
}

static void test_a_comment_hides_no_member(void **state)
{
    static const char said[] = "a control character, or one that ends a line or turns it round "
                               "unseen: refused, since a comment could hide keys";
    char three[128], four[128];

    (void)state;
    snprintf(three, sizeof three, "3: %s", said);
    snprintf(four, sizeof four, "4: %s", said);
    expect_refused(SERVER "parties:\n" P1 "# checked by telephone\xe2\x80\xa8" P2, four);
    expect_refused(SERVER "parties:\n# checked\xc2\x85" P2 P1, three);
    expect_refused(SERVER "parties:\n" P1 "# checked\r" P2, four);
}

static void test_names_and_operators_are_words_of_63_letters_at_most(void **state)
{
    static const char words[] =
        "3: a name or operator is none: 1 to 63 letters, digits, '.', '_' and '-' expected, "
        "neither '.' nor '-' in front";
    static const char control[] =
        "3: parties.name: a text of several lines, or with control characters";
    char text[1024], name[WIRE_NAME_MAX + 2];
    struct roster r;

    (void)state;
    memset(name, 'n', sizeof name);
    name[WIRE_NAME_MAX] = 0;
    snprintf(text, sizeof text, SERVER "parties:\n  - {name: %s, key: " KEY_40 ", operator: %s}\n",
             name, name);
    expect_loaded(&r, text);
    assert_string_equal(r.party[0].name, name);
    assert_string_equal(r.party[0].operator_name, name);
    name[WIRE_NAME_MAX] = 'n';
    name[WIRE_NAME_MAX + 1] = 0;
    snprintf(text, sizeof text, SERVER "parties:\n  - {name: %s, key: " KEY_40 "}\n", name);
    expect_refused(text, words);
    snprintf(text, sizeof text, SERVER "parties:\n  - {name: a, key: " KEY_40 ", operator: %s}\n",
             name);
    expect_refused(text, words);
    expect_refused(SERVER "parties:\n  - {name: a b, key: " KEY_40 "}\n", words);
    expect_refused(SERVER "parties:\n  - {name: \"a\\tb\", key: " KEY_40 "}\n", control);
    expect_refused(SERVER "parties:\n  - {name: \"a\\0b\", key: " KEY_40 "}\n", control);
    expect_refused(SERVER "parties:\n  - {name: \"\\u00e9\", key: " KEY_40 "}\n", words);
    expect_refused(SERVER "parties:\n  - {name: '', key: " KEY_40 "}\n", words);
    for (const char *c = "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~"; *c != 0; c++) {
        snprintf(text, sizeof text, SERVER "parties:\n  - {name: 'a%s%cb', key: " KEY_40 "}\n",
                 *c == '\'' ? "'" : "", *c);
        expect_refused(text, words);
        snprintf(text, sizeof text,
                 SERVER "parties:\n  - {name: a, key: " KEY_40 ", operator: 'a%s%cb'}\n",
                 *c == '\'' ? "'" : "", *c);
        expect_refused(text, words);
    }
    expect_refused(SERVER "parties:\n  - {name: -a, key: " KEY_40 "}\n", words);
    expect_refused(SERVER "parties:\n  - {name: .a, key: " KEY_40 "}\n", words);
}

static void test_what_is_printed_is_read_back_as_the_same_roster(void **state)
{
    static struct roster r, again;
    struct buf text;

    (void)state;
    buf_init(&text, 4096);
    expect_loaded(&r, GOOD);
    assert_int_equal(roster_print(&r, &text), STATUS_OK);
    assert_int_equal(buf_append(&text, "", 1), STATUS_OK);
    assert_non_null(strstr((const char *)text.data, "server: {name: srv, key: " KEY_1));
    assert_non_null(strstr((const char *)text.data, ", operator: bank}\n"));
    expect_loaded(&again, (const char *)text.data);
    assert_memory_equal(&again, &r, sizeof r);
    buf_deinit(&text);
}

/* Brackets within brackets, as many as fit: libyaml alone took seconds over them.  The reason says
 * that nobody went through them. */
static void test_what_is_nested_is_refused_at_the_first_level_too_deep(void **state)
{
    static const struct {
        const char *unit, *said;
    } nests[] = {{"[", "1: nested too deeply"},
                 {"{", "1: a key is a single name"},
                 {"{a: ", "1: a.a.a.a: nested too deeply"},
                 {"- ", "1: nested too deeply"},
                 {"? ", "1: a key is a single name"}};
    enum { FILE_MAX = 120000 };
    char *text = mem_alloc(FILE_MAX + 64, 1);

    (void)state;
    for (size_t i = 0; i < sizeof nests / sizeof nests[0]; i++) {
        const size_t n = strlen(nests[i].unit);

        for (size_t at = 0; at + n <= FILE_MAX; at += n)
            memcpy(text + at, nests[i].unit, n + 1);
        expect_refused(text, nests[i].said);
    }
    mem_free(text);
}

static void test_a_roster_has_no_more_entries_than_a_run_has_parties(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    assert_int_equal(buf_printf(&text, SERVER "parties:\n"), STATUS_OK);
    for (int i = 0; i < 700; i++)
        assert_int_equal(buf_printf(&text, "  - {name: q%d, key: %062d%02x}\n", i, i, i % 256),
                         STATUS_OK);
    assert_int_equal(buf_append(&text, "", 1), STATUS_OK);
    expect_refused((const char *)text.data, "415: parties: more entries than there may be");
    buf_deinit(&text);
}

static void test_what_is_no_yaml_or_no_file_says_so(void **state)
{
    char *vast = mem_alloc(1 << 18, 1);
    struct error err = {0};
    struct roster r;

    (void)state;
    expect_refused(SERVER "parties: [\n",
                   "3: did not find expected node content while parsing a flow node");
    expect_refused(GOOD "- a\n", "6: did not find expected key while parsing a block mapping");
    assert_int_equal(roster_load(&r, "/nonexistent/r.yaml", &err), STATUS_CONFIG);
    assert_string_equal(err.text, "roster: /nonexistent/r.yaml: No such file or directory");
    assert_int_equal(err.status, STATUS_CONFIG);
    assert_int_equal(roster_load(&r, "/nonexistent/r.yaml", NULL), STATUS_CONFIG);
    assert_non_null(vast);
    memset(vast, '\n', (1 << 18) - 1);
    assert_int_equal(roster_load(&r, scratch_write_text("vast.yaml", vast), &err), STATUS_CONFIG);
    assert_non_null(strstr(err.text, "larger than"));
    mem_free(vast);
}

static void test_256_parties_are_admitted_and_not_one_more(void **state)
{
    struct error err = {0};
    struct roster r;

    (void)state;
    for (unsigned n = WIRE_MEMBERS_MAX; n <= WIRE_MEMBERS_MAX + 1; n++) {
        struct buf text;
        const char *path;

        buf_init(&text, 1 << 18);
        assert_int_equal(buf_printf(&text, SERVER "parties:\n"), STATUS_OK);
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(buf_printf(&text, "  - {name: party-%u, key: \"%064x\"}\n", i, i + 1),
                             STATUS_OK);
        path = scratch_write("many.yaml", text.data, text.len);
        buf_deinit(&text);
        if (n <= WIRE_MEMBERS_MAX) {
            assert_int_equal(roster_load(&r, path, NULL), STATUS_OK);
            assert_int_equal(r.n, n);
        } else {
            assert_int_equal(roster_load(&r, path, &err), STATUS_CONFIG);
            assert_non_null(strstr(err.text, ":259: more than 256 parties"));
        }
    }
}

static void test_parties_are_found_by_name_and_key_and_strangers_are_not(void **state)
{
    uint8_t stranger[ROSTER_KEY_BYTES];
    struct roster r;

    (void)state;
    expect_loaded(&r, GOOD);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(roster_find_name(&r, r.party[i].name), i);
        assert_int_equal(roster_find_key(&r, r.party[i].key), i);
        for (int k = 0; k < ROSTER_KEY_BYTES; k++) {
            memcpy(stranger, r.party[i].key, sizeof stranger);
            stranger[k] ^= 0x80;
            assert_int_equal(roster_find_key(&r, stranger), -1);
        }
    }
    assert_int_equal(roster_find_name(&r, "srv"), -1); /* no party */
    assert_int_equal(roster_find_key(&r, r.server.key), -1);
    assert_int_equal(roster_find_name(&r, "p"), -1);
    assert_int_equal(roster_find_name(&r, "p11"), -1);
}

/* A roster whose operators are single letters: the server's first, then each party's. */
static void operators(struct roster *r, const char *letters)
{
    memset(r, 0, sizeof *r);
    r->server.operator_name[0] = letters[0];
    for (r->n = 0; letters[r->n + 1] != 0; r->n++)
        r->party[r->n].operator_name[0] = letters[r->n + 1];
}

static void test_parties_of_one_operator_count_as_many_colluders(void **state)
{
    static const uint8_t all[] = {0, 1, 2, 3, 4, 5}, some[] = {0, 2, 4};
    struct roster r;

    (void)state;
    operators(&r, "Sabcdef");
    assert_int_equal(roster_colluders(&r, all, 6, 0), 1);
    operators(&r, "Sabbbcc");
    assert_int_equal(roster_colluders(&r, all, 6, 0), 3);  /* b */
    assert_int_equal(roster_colluders(&r, all, 6, 1), 2);  /* b is self: c */
    assert_int_equal(roster_colluders(&r, some, 3, 0), 1); /* only members count */
    operators(&r, "Saaaaaa");
    assert_int_equal(roster_colluders(&r, all, 6, 3), 1); /* all its own: still one */
}

static void test_parties_of_the_servers_operator_collude_always(void **state)
{
    static const uint8_t all[] = {0, 1, 2, 3, 4, 5}, some[] = {0, 2, 4};
    struct roster r;

    (void)state;
    operators(&r, "SaSScde");
    assert_int_equal(roster_colluders(&r, all, 6, 0), 3); /* two of S, and one of another */
    assert_int_equal(roster_colluders(&r, some, 3, 0), 2);
    operators(&r, "SaSSccS");
    assert_int_equal(roster_colluders(&r, all, 6, 0), 5);
    operators(&r, "SaSSSSS");
    assert_int_equal(roster_colluders(&r, all, 6, 0), 5);
    operators(&r, "SSSSccb"); /* who belongs to the server fears others only */
    assert_int_equal(roster_colluders(&r, all, 6, 0), 2);
}

/* The same by trying every operator. */
static uint32_t colluders_by_trial(const char *letters, const uint8_t *members, size_t n,
                                   uint32_t self)
{
    char own = letters[1 + self], server = letters[0];
    uint32_t most = 0;

    for (char o = 'a'; o <= 'e'; o++) {
        uint32_t count = 0;

        for (size_t i = 0; i < n; i++) {
            char of = letters[1 + members[i]];
            count += of != own && (of == o || of == server);
        }
        most = count > most ? count : most;
    }
    return most > 1 ? most : 1;
}

static void test_colluders_are_as_counted_by_trying_every_operator(void **state)
{
    struct roster r;

    (void)state;
    srand(1);
    for (int trial = 0; trial < 20000; trial++) {
        char letters[10] = {0};
        uint8_t members[8];
        size_t n = 0;
        uint32_t self;

        for (int i = 0; i < 9; i++)
            letters[i] = (char)('a' + rand() % 5);
        operators(&r, letters);
        for (uint8_t i = 0; i < 8; i++) {
            if (rand() % 3 > 0)
                members[n++] = i;
        }
        if (n == 0)
            continue;
        self = members[(size_t)rand() % n];
        assert_int_equal(roster_colluders(&r, members, n, self),
                         colluders_by_trial(letters, members, n, self));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_roster_is_read_in_the_order_of_its_file),
        cmocka_unit_test(test_who_names_no_operator_is_its_own),
        cmocka_unit_test(test_the_digest_is_that_of_the_canonical_lines),
        cmocka_unit_test(test_the_digest_changes_with_every_field_and_the_order),
        cmocka_unit_test(test_a_mistake_in_the_shape_is_named_with_its_line),
        cmocka_unit_test(test_what_is_given_twice_is_refused),
        cmocka_unit_test(test_an_entry_needs_a_name_and_a_key_of_64_digits),
        cmocka_unit_test(test_a_comment_hides_no_member),
        cmocka_unit_test(test_names_and_operators_are_words_of_63_letters_at_most),
        cmocka_unit_test(test_what_is_printed_is_read_back_as_the_same_roster),
        cmocka_unit_test(test_what_is_nested_is_refused_at_the_first_level_too_deep),
        cmocka_unit_test(test_a_roster_has_no_more_entries_than_a_run_has_parties),
        cmocka_unit_test(test_what_is_no_yaml_or_no_file_says_so),
        cmocka_unit_test(test_256_parties_are_admitted_and_not_one_more),
        cmocka_unit_test(test_parties_are_found_by_name_and_key_and_strangers_are_not),
        cmocka_unit_test(test_parties_of_one_operator_count_as_many_colluders),
        cmocka_unit_test(test_parties_of_the_servers_operator_collude_always),
        cmocka_unit_test(test_colluders_are_as_counted_by_trying_every_operator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
