/* program.c -- the head's program, for a job.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/program.h"

enum status server_program_begin(struct server_program *s, struct program *program,
                                 const struct program_shape *shape, struct error *err)
{
    enum status st;

    if (program == NULL)
        return STATUS_OK;
    st = program_begin(program, shape, err);
    if (st != STATUS_OK)
        return st;
    *s = (struct server_program){
        program, program_job(program), {program_outside(program), program_floats(program)}};
    return STATUS_OK;
}

void server_program_end(struct server_program *s)
{
    if (s->program != NULL)
        program_end(s->program, s->job);
    *s = (struct server_program){0};
}
