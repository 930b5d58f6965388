/* test_addr.c -- host:port.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/addr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_host_and_port_are_split(void **state)
{
    static const char *const good[][3] = {{"127.0.0.1:5512", "127.0.0.1", "5512"},
                                          {"server.bank.example:1", "server.bank.example", "1"},
                                          {"[::1]:65535", "::1", "65535"},
                                          {"localhost:0", "localhost", "0"}};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct addr_parts p;
        assert_int_equal(addr_split(&p, good[i][0], NULL), STATUS_OK);
        assert_string_equal(p.host, good[i][1]);
        assert_string_equal(p.port, good[i][2]);
    }
}

static void test_anything_else_is_refused_with_its_text(void **state)
{
    static const char *const bad[] = {"",           "host",    "host:",    ":5512", "host:65536",
                                      "host:-1",    "host:1x", "::1:5512", "[]:1",  "host:123456",
                                      "[::1]:port", "[::1]",   "host: 12", "a:b:1"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct addr_parts p;
        struct error err = {0};
        assert_int_equal(addr_split(&p, bad[i], &err), STATUS_CONFIG);
        assert_non_null(strstr(err.text, bad[i]));
    }
}

static void test_overlong_host_is_refused(void **state)
{
    char text[ADDR_HOST_MAX + 8];
    struct addr_parts p;

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + ADDR_HOST_MAX - 1, ":1", 3);
    assert_int_equal(addr_split(&p, text, NULL), STATUS_OK);
    memset(text, 'a', sizeof text);
    memcpy(text + ADDR_HOST_MAX, ":1", 3);
    assert_int_equal(addr_split(&p, text, NULL), STATUS_CONFIG);
}

static struct sockaddr_storage number(const char *text)
{
    struct sockaddr_storage a;
    struct addr_parts p;

    assert_int_equal(addr_split(&p, text, NULL), STATUS_OK);
    assert_true(addr_from_number(&a, &p));
    return a;
}

static void test_numbers_are_written_as_they_were_read(void **state)
{
    static const char *const texts[] = {"10.1.2.3:80", "[2001:db8::7]:443"};
    struct addr_parts p;
    struct sockaddr_storage a;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char out[ADDR_TEXT_MAX];
        a = number(texts[i]);
        addr_format(out, &a);
        assert_string_equal(out, texts[i]);
    }
    assert_int_equal(addr_split(&p, "localhost:80", NULL), STATUS_OK);
    assert_false(addr_from_number(&a, &p));
}

static void test_one_host_is_one_address_or_one_prefix(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"10.1.2.3:80", "10.1.2.3:81", true},
        {"10.1.2.3:80", "10.1.2.4:80", false},
        {"[2001:db8::7]:1", "[2001:db8::ffff:8]:2", true},
        {"[2001:db8::7]:1", "[2001:db8:0:1::7]:1", false},
        {"[::ffff:10.1.2.3]:1", "[::ffff:10.1.2.3]:2", true},
        {"[::ffff:10.1.2.3]:1", "[::ffff:10.1.2.4]:1", false},
        {"10.1.2.3:80", "[2001:db8::7]:80", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sockaddr_storage a = number(cases[i].a), b = number(cases[i].b);
        assert_int_equal(addr_same_host(&a, &b), cases[i].same);
        assert_int_equal(addr_same_host(&b, &a), cases[i].same);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_and_port_are_split),
        cmocka_unit_test(test_anything_else_is_refused_with_its_text),
        cmocka_unit_test(test_overlong_host_is_refused),
        cmocka_unit_test(test_numbers_are_written_as_they_were_read),
        cmocka_unit_test(test_one_host_is_one_address_or_one_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
