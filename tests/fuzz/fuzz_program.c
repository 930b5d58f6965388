/* fuzz_program.c -- what a program of a bottom may answer, and what may stand in the place of its
 * state.
 *
 * Input: the bytes of a message; and the same bytes as floats.
 *
 * Laws: a message that is taken packs to the very same bytes; floats that are taken as a state are
 * those that its bytes pack to.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/nn/outside.h"
#include "common/program/speech.h"
#include "tests/fuzz/feed.h"

enum { FLOATS_MAX = 64 };

static void check_message(const uint8_t *data, size_t size)
{
    uint8_t again[SPEECH_BYTES];
    struct speech s;
    const char *why = NULL;

    if (speech_unpack(&s, data, size, &why)) {
        speech_pack(again, &s);
        CHECK(size == sizeof again && memcmp(again, data, sizeof again) == 0);
    } else {
        CHECK(why != NULL);
    }
}

static void check_state(const uint8_t *data, size_t size)
{
    const size_t floats = size / sizeof(float) < FLOATS_MAX ? size / sizeof(float) : FLOATS_MAX;
    float w[FLOATS_MAX], again[FLOATS_MAX];
    uint8_t bytes[3 * FLOATS_MAX];
    size_t n = 0;
    bool lost = false;

    memcpy(w, data, floats * sizeof *w);
    if (!outside_unpack(bytes, sizeof bytes, &n, &lost, w, floats) || lost)
        return;
    CHECK(n <= 3 * floats && floats >= outside_floats(n));
    outside_pack(again, floats, bytes, n);
    for (size_t i = 0; i < outside_floats(n) - (n % 3 > 0); i++)
        CHECK(!(again[i] < w[i]) && !(again[i] > w[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_message(data, size);
    check_state(data, size);
    return 0;
}
