/* speech.h -- what a daemon and the program that computes a part of the model say to each other:
 * messages of one size over a socket that keeps them apart, values and states in memory that both
 * see.
 *
 * The daemon asks, the program answers with the same kind and number, one question at a time. Which
 * values a kind has is a table (speech.c), which packing and unpacking walk: what a kind does not
 * have is zeros.  docs/programs.md is the same for who writes a program.
 *
 *   byte  0  "CLND"                 8  number of the question    24  13 values of 8 bytes,
 *         4  version, 2 bytes      16  0 question, 1 answer, 2 no answer       whole, or IEEE 754
 *         6  kind, 2 bytes         20  zeros                        all of it little-endian
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMMON_PROGRAM_SPEECH_H
#define COLONNADE_COMMON_PROGRAM_SPEECH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPEECH_VERSION = 1, SPEECH_BYTES = 128, SPEECH_VALUES = 13 };

enum speech_kind {
    SPEECH_HELLO = 1, /* are you there, and of this version? */
    SPEECH_INIT,      /* a job's shapes; with the memory for rows */
    SPEECH_ROOM,      /* memory for states, as large as INIT was answered */
    SPEECH_FORWARD,   /* rows of a step of training to embeddings, or outputs */
    SPEECH_EVALUATE,  /* other rows */
    SPEECH_STEP,      /* the gradient of the last FORWARD, to one step */
    SPEECH_SAVE,      /* the state into its memory */
    SPEECH_LOAD,      /* and out of it */
    SPEECH_END,       /* the job is over; no answer */
    SPEECH_BACK,      /* of a head: the gradient of the last FORWARD, to that of its rows */
    SPEECH_KINDS
};

/* Where a kind has its values. */
enum { INIT_INPUTS, INIT_OUTPUTS, INIT_ROWS, INIT_SHAPE, INIT_SEED = INIT_SHAPE + 3 };
enum {
    INIT_CLIP = INIT_SEED + 1,
    INIT_OPTIMIZER,
    INIT_DECAY,
    INIT_ITERATIONS,
    INIT_STATE_MAX,
    INIT_HEAD
};
enum { ROWS_N, STEP_RATE };
enum { STATE_BYTES }; /* of INIT's and SAVE's answers, of ROOM and LOAD */

enum speech_part { SPEECH_ASKS, SPEECH_ANSWERS, SPEECH_FAILS };

struct speech {
    enum speech_kind kind;
    enum speech_part part;
    uint64_t number;
    union {
        uint64_t whole;
        double real;
    } value[SPEECH_VALUES];
};

/* "init" */
const char *speech_name(enum speech_kind kind);
/* The name of a value of a question or an answer, which ends with '*' where it is a real number;
 * NULL: there are no more. */
const char *speech_value_name(enum speech_kind kind, enum speech_part part, size_t i);

void speech_pack(uint8_t out[SPEECH_BYTES], const struct speech *s);
/* What came, which may be anything.  False: it is no message of this version; *why says so. */
bool speech_unpack(struct speech *s, const uint8_t *in, size_t n, const char **why);

#endif
