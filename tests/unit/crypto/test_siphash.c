/* test_siphash.c -- the hash of tables is SipHash-2-4, and hangs on its key.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/crypto/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Appendix A of the paper: key and text are 0, 1, 2, ... */
static void test_the_vector_of_the_paper(void **state)
{
    uint8_t key[SIPHASH_KEY_BYTES], text[15];

    (void)state;
    for (uint8_t i = 0; i < sizeof key; i++)
        key[i] = i;
    for (uint8_t i = 0; i < sizeof text; i++)
        text[i] = i;
    assert_true(siphash_of(key, text, sizeof text) == UINT64_C(0xa129ca6149be45e5));
    key[15] ^= 1;
    assert_true(siphash_of(key, text, sizeof text) != UINT64_C(0xa129ca6149be45e5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_vector_of_the_paper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
