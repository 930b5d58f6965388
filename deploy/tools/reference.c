/* reference.c -- vfl-reference: prints the tables of docs/configuration.md from the program's own
 * tables.
 *
 * The part of docs/configuration.md between its markers is this output; a unit test compares them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/config/plan_matrix.h"

#include <stdio.h>

enum { REFERENCE_BYTES_MAX = 1 << 20 };

int main(void)
{
    struct buf out;
    enum status s;

    buf_init(&out, REFERENCE_BYTES_MAX);
    s = config_reference(&out);
    if (s == STATUS_OK)
        s = plan_matrix(&out);
    if (s == STATUS_OK && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0))
        s = STATUS_IO;
    if (s != STATUS_OK)
        fprintf(stderr, "vfl-reference: %s\n", status_words(s));
    buf_deinit(&out);
    return status_exit_code(s);
}
