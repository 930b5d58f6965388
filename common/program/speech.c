/* speech.c -- the table of messages, to bytes and back.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/speech.h"

#include "common/base/check.h"
#include "common/base/le.h"

#include <string.h>

struct row {
    const char *name;
    const char *asks[SPEECH_VALUES], *answers[SPEECH_VALUES];
};

/* A name that ends with '*' is a real number's. */
static const struct row rows[SPEECH_KINDS] = {
    [SPEECH_HELLO] = {"hello", {NULL}, {NULL}},
    [SPEECH_INIT] = {"init",
                     {"inputs", "outputs", "rows_max", "shape_0", "shape_1", "shape_2", "seed",
                      "clip*", "optimizer", "weight_decay*", "local_iterations", "state_max",
                      "head"},
                     {"state_bytes"}},
    [SPEECH_ROOM] = {"room", {"state_bytes"}, {NULL}},
    [SPEECH_FORWARD] = {"forward", {"rows"}, {NULL}},
    [SPEECH_EVALUATE] = {"evaluate", {"rows"}, {NULL}},
    [SPEECH_STEP] = {"step", {"rows", "rate*"}, {NULL}},
    [SPEECH_SAVE] = {"save", {NULL}, {"bytes"}},
    [SPEECH_LOAD] = {"load", {"bytes"}, {NULL}},
    [SPEECH_END] = {"end", {NULL}, {NULL}},
    [SPEECH_BACK] = {"back", {"rows"}, {NULL}},
};

enum { MAGIC = 4 };
static const char magic[MAGIC] = {'C', 'L', 'N', 'D'};

const char *speech_name(enum speech_kind kind)
{
    CHECK(kind >= SPEECH_HELLO && kind < SPEECH_KINDS);
    return rows[kind].name;
}

const char *speech_value_name(enum speech_kind kind, enum speech_part part, size_t i)
{
    CHECK(kind >= SPEECH_HELLO && kind < SPEECH_KINDS);
    if (i >= SPEECH_VALUES || part == SPEECH_FAILS)
        return NULL;
    return part == SPEECH_ASKS ? rows[kind].asks[i] : rows[kind].answers[i];
}

static bool is_real(const char *name)
{
    return name[strlen(name) - 1] == '*';
}

void speech_pack(uint8_t out[SPEECH_BYTES], const struct speech *s)
{
    uint8_t *at = out;
    const char *name;

    memset(out, 0, SPEECH_BYTES);
    memcpy(at, magic, MAGIC);
    at = le_put(at + MAGIC, SPEECH_VERSION, 2);
    at = le_put(at, (uint64_t)s->kind, 2);
    at = le_put(at, s->number, 8);
    at = le_put(at, (uint64_t)s->part, 8);
    for (size_t i = 0; (name = speech_value_name(s->kind, s->part, i)) != NULL; i++) {
        uint64_t bits = s->value[i].whole;

        if (is_real(name))
            memcpy(&bits, &s->value[i].real, sizeof bits);
        at = le_put(at, bits, 8);
    }
}

static bool take_values(struct speech *s, const uint8_t *at)
{
    for (size_t i = 0; i < SPEECH_VALUES; i++) {
        const uint64_t bits = le_take(&at, 8);
        const char *name = speech_value_name(s->kind, s->part, i);

        if (name == NULL) {
            if (bits != 0)
                return false;
        } else if (is_real(name)) {
            memcpy(&s->value[i].real, &bits, sizeof bits);
        } else {
            s->value[i].whole = bits;
        }
    }
    return true;
}

bool speech_unpack(struct speech *s, const uint8_t *in, size_t n, const char **why)
{
    const uint8_t *at = in + MAGIC;
    uint64_t version, kind, part;

    *s = (struct speech){.number = 0};
    *why = "is no message of docs/programs.md";
    if (n != SPEECH_BYTES || memcmp(in, magic, MAGIC) != 0)
        return false;
    version = le_take(&at, 2);
    kind = le_take(&at, 2);
    s->number = le_take(&at, 8);
    part = le_take(&at, 8);
    if (version != SPEECH_VERSION) {
        *why = "is of another version of docs/programs.md";
        return false;
    }
    if (kind < SPEECH_HELLO || kind >= SPEECH_KINDS || part > SPEECH_FAILS)
        return false;
    s->kind = (enum speech_kind)kind;
    s->part = (enum speech_part)part;
    return take_values(s, at);
}
