/* test_rng_shortage.c -- a system that gives no random bytes: nothing goes on without them.
 *
 * The library's own function is hidden by the one here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/rng.h"
#include "common/crypto/sealed.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int gives = 1;

int RAND_bytes(unsigned char *out, int n);

int RAND_bytes(unsigned char *out, int n)
{
    if (gives == 1)
        memset(out, 7, (size_t)n);
    return gives;
}

static enum status seal(const char *path)
{
    static const uint8_t key[SEALED_KEY_BYTES] = {1};

    return sealed_write(path, key, "label", "text", 4, NULL);
}

static void test_without_random_bytes_nothing_goes_on(void **state)
{
    const char *path = scratch_path("sealed");
    struct rng r;

    (void)state;
    for (gives = -1; gives <= 0; gives++) { /* "not supported", and failed */
        memset(&r, 7, sizeof r);
        assert_int_equal(rng_init_system(&r), STATUS_CRYPTO);
        rng_deinit(&r); /* nothing there, and safe */
        assert_int_equal(seal(path), STATUS_CRYPTO);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(gives, 1);
    assert_int_equal(rng_init_system(&r), STATUS_OK);
    rng_deinit(&r);
    assert_int_equal(seal(path), STATUS_OK);
    assert_int_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_random_bytes_nothing_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
