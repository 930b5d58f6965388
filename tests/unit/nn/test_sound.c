/* test_sound.c -- one value that is not finite costs its row, and no other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/sound.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void test_a_row_is_sound_when_all_of_it_is_finite(void **state)
{
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    uint32_t sound[3];
    float x[3 * 37];

    (void)state;
    for (size_t at = 0; at < 37; at++) {
        for (size_t i = 0; i < 3; i++)
            for (size_t k = 0; k < 37; k++)
                x[i * 37 + k] = FLT_MAX;
        x[37 + at] = strange[at % 3];
        sound_begin(sound, 3);
        sound_look(sound, x, 3, 37);
        assert_true(sound[0] == UINT32_MAX && sound[1] == 0 && sound[2] == UINT32_MAX);
        assert_int_equal(sound_lost(sound, 3), 1);
        sound_keep(x, sound, 3, 37);
        for (size_t k = 0; k < 37; k++)
            assert_true(x[k] == FLT_MAX && x[37 + k] == 0 && x[74 + k] == FLT_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_row_is_sound_when_all_of_it_is_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
