/* test_augment.c -- images that are moved and mirrored.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/augment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { C = 2, H = 4, W = 5, N = C * H * W };

static const struct augment_shape shape = {C, H, W};

static void fill(float x[N])
{
    for (int i = 0; i < N; i++)
        x[i] = (float)(i + 1);
}

/* Value by value: what stood there before the picture came. */
static float expected(const float x[N], int c, int y, int at, const struct augment_move *m)
{
    const int from_y = y - m->down, from_x = at - m->right;

    if (from_y < 0 || from_y >= H || from_x < 0 || from_x >= W)
        return 0;
    return x[c * H * W + from_y * W + (m->mirror ? W - 1 - from_x : from_x)];
}

static void test_a_picture_comes_to_its_place_and_zeros_come_in(void **state)
{
    float x[N], to[N];

    (void)state;
    fill(x);
    for (int k = 0; k < 2 * 11 * 13; k++) {
        const struct augment_move m = {k / 2 % 11 - 5, k / 22 - 6, k % 2 == 1};

        memset(to, 0x7f, sizeof to);
        augment_image(to, x, &shape, &m);
        for (int i = 0; i < N; i++)
            assert_true(to[i] == expected(x, i / (H * W), i / W % H, i % W, &m));
    }
}

static void test_who_looks_into_two_mirrors_sees_what_is_there(void **state)
{
    const struct augment_move stays = {0, 0, false}, mirrors = {0, 0, true};
    float x[N], to[N], back[N];

    (void)state;
    fill(x);
    augment_image(to, x, &shape, &stays);
    assert_memory_equal(to, x, sizeof x);
    augment_image(to, x, &shape, &mirrors);
    assert_memory_not_equal(to, x, sizeof x);
    augment_image(back, to, &shape, &mirrors);
    assert_memory_equal(back, x, sizeof x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_picture_comes_to_its_place_and_zeros_come_in),
        cmocka_unit_test(test_who_looks_into_two_mirrors_sees_what_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
