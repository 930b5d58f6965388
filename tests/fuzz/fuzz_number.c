/* fuzz_number.c -- any text as a number of a file, a command line or a plan: refused, or the number
 * that the C library reads, whose shortest text is read as the same again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/config/number.h"
#include "tests/fuzz/feed.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { TEXT_MAX = 400 };

static void check_whole(const char *text, uint64_t v)
{
    char again[NUMBER_TEXT_MAX];

    snprintf(again, sizeof again, "%" PRIu64, v);
    CHECK(strcmp(again, text) == 0);
}

static void check_real(const char *text, double v)
{
    char shortest[NUMBER_TEXT_MAX], once_more[NUMBER_TEXT_MAX];
    double back;
    char *end;

    CHECK(isfinite(v) && strtod(text, &end) == v && *end == 0);
    number_print(shortest, v);
    CHECK(number_real(&back, shortest) && memcmp(&back, &v, sizeof v) == 0);
    number_print(once_more, back);
    CHECK(strcmp(shortest, once_more) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed f = {data, size};
    char text[TEXT_MAX];
    uint64_t whole;
    double real;

    if (!feed_text(&f, text, sizeof text))
        return 0;
    if (number_whole(&whole, text)) {
        check_whole(text, whole);
        CHECK(number_real(&real, text) && real == (double)whole);
    }
    if (number_real(&real, text))
        check_real(text, real);
    return 0;
}
