/* test_rng_shortage.c -- a system that gives no random bytes: nothing goes on without them.
 *
 * The library's own function is hidden by the one here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/rng.h"
#include "common/crypto/sealed.h"
#include "tests/lib/aborts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int gives = 1;

int RAND_bytes(unsigned char *out, int n);

int RAND_bytes(unsigned char *out, int n)
{
    if (gives == 1)
        memset(out, 7, (size_t)n);
    return gives;
}

static void init(void *arg)
{
    struct rng r = {0};

    (void)arg;
    if (rng_init_system(&r) == STATUS_OK)
        rng_deinit(&r);
}

static void seal(void *arg)
{
    static const uint8_t key[SEALED_KEY_BYTES] = {1};

    (void)arg;
    (void)!sealed_write("/nonexistent/folder/file", key, "label", "text", 4, NULL);
}

static void test_without_random_bytes_nothing_goes_on(void **state)
{
    (void)state;
    for (gives = -1; gives <= 0; gives++) { /* "not supported", and failed */
        assert_true(aborts(init, NULL));
        assert_true(aborts(seal, NULL));
    }
    assert_int_equal(gives, 1);
    assert_false(aborts(init, NULL));
    assert_false(aborts(seal, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_random_bytes_nothing_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
