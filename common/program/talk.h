/* talk.h -- questions to a process, answers in time, and the first reason why there are no more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_COMMON_PROGRAM_TALK_H
#define COLONNADE_COMMON_PROGRAM_TALK_H

#include "common/program/program.h"
#include "common/program/speech.h"

enum { TALK_FAILED_MAX = 200 };

/* In messages: which key the program is of, what it gives, what is zeros without it. */
struct talk_part {
    const char *key, *gives, *zeros;
};
const struct talk_part *talk_part(enum program_part part);

struct talk {
    enum program_part part;
    struct program_starter starter;
    int fd;                       /* -1: no process */
    bool greeted, used;           /* it has said hello; it has had a job */
    bool tried;                   /* in a job: on zeros; what fails now is told to nobody else */
    uint32_t limit_ms;            /* of a job: for one answer */
    uint32_t work_ms;             /* of a job: for all answers of one piece of work */
    uint64_t spent_us;            /* of it, in this one */
    uint64_t asked;               /* questions so far */
    char failed[TALK_FAILED_MAX]; /* "": not */
};

/* The process is ended, and nothing is asked any more; "it " goes before the reason.  The first one
 * stands.  Returns false. */
bool talk_fail(struct talk *k, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool talk_over(const struct talk *k);

/* s becomes the answer; with: a descriptor that goes along, -1: none.  False: it is over. */
bool talk_ask(struct talk *k, struct speech *s, int with, uint32_t limit_ms);
/* With one number, within the job's limit; what is answered is not looked at. */
bool talk_ask_about(struct talk *k, enum speech_kind kind, uint64_t value);

void talk_end(struct talk *k);   /* the job is over, and so is the process */
void talk_close(struct talk *k); /* this side's end */

#endif
