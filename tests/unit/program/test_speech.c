/* test_speech.c -- messages to bytes and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/speech.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Every bit of a message that says something is one that says something else, or none. */
static void test_a_message_comes_back_and_no_bit_of_it_is_idle(void **state)
{
    (void)state;
    for (int kind = SPEECH_HELLO; kind < SPEECH_KINDS; kind++)
        for (int part = SPEECH_ASKS; part <= SPEECH_FAILS; part++) {
            struct speech s = {.kind = (enum speech_kind)kind,
                               .part = (enum speech_part)part,
                               .number = 0x0102030405060708},
                          back;
            uint8_t bytes[SPEECH_BYTES], again[SPEECH_BYTES];
            const char *why;

            for (size_t i = 0; speech_value_name(s.kind, s.part, i) != NULL; i++)
                s.value[i].whole = 1000 + i;
            speech_pack(bytes, &s);
            assert_true(speech_unpack(&back, bytes, sizeof bytes, &why));
            speech_pack(again, &back);
            assert_memory_equal(again, bytes, sizeof bytes);
            for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
                bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
                if (speech_unpack(&back, bytes, sizeof bytes, &why)) {
                    speech_pack(again, &back);
                    assert_memory_equal(again, bytes, sizeof bytes);
                }
                bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1u << bit % 8);
            }
            assert_false(speech_unpack(&back, bytes, sizeof bytes - 1, &why));
            assert_false(speech_unpack(&back, bytes, sizeof bytes + 1, &why));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_comes_back_and_no_bit_of_it_is_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
