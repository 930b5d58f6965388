/* speaker.h -- programs of bottoms (common/program/program.h) that do something wrong at a certain
 * question: processes of the test, started as a party's keeper would start one.
 *
 * What they compute when they do well is y = x W, with a step W -= rate x' dy; W is their state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_UNIT_PROGRAM_SPEAKER_H
#define COLONNADE_TESTS_UNIT_PROGRAM_SPEAKER_H

#include "common/program/program.h"
#include "common/program/speech.h"

#include <sys/types.h>

enum speaker_deed {
    SPEAKER_WELL,
    SPEAKER_CRASHES,
    SPEAKER_HANGS,
    SPEAKER_SAYS_NAN,
    SPEAKER_SAYS_INFINITY,
    SPEAKER_LEAVES_OUT, /* an embedding's last value */
    SPEAKER_CANNOT,     /* says so */
    SPEAKER_SHORT,      /* a message of too few bytes */
    SPEAKER_LONG,
    SPEAKER_MAGIC, /* or of something else */
    SPEAKER_VERSION,
    SPEAKER_KIND, /* of no kind that there is */
    SPEAKER_OTHER_KIND,
    SPEAKER_NUMBER, /* an answer to another question */
    SPEAKER_ASKS,
    SPEAKER_PART,
    SPEAKER_MORE,  /* values where the kind has none */
    SPEAKER_SIZE,  /* a state of 2^63 bytes */
    SPEAKER_LARGE, /* of one byte more than there is room for */
    SPEAKER_DEEDS
};

/* At the nth question (from 1) of this kind to one process. */
struct speaker {
    enum speaker_deed deed;
    enum speech_kind at;
    uint32_t nth;
    uint64_t slow_us, now_us; /* its clock, by which each question takes so long */
    uint32_t started;         /* processes so far */
    pid_t pid;                /* 0: none */
};

/* For program_new_with; s has to stay. */
struct program_starter speaker_starter(struct speaker *s);
/* Can a message of this kind go wrong in this way? */
bool speaker_can(enum speaker_deed deed, enum speech_kind at);

#endif
