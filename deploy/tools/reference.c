/* reference.c -- vfl-reference: prints the tables of docs/configuration.md, or with the argument
 * `phases` that of docs/protocol.md, from the program's own tables.
 *
 * The parts of the two pages between their markers are this output; unit tests compare them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/config/plan_matrix.h"
#include "common/flow/phase.h"

#include <stdio.h>
#include <string.h>

enum { REFERENCE_BYTES_MAX = 1 << 20 };

int main(int argc, char **argv)
{
    bool phases = argc == 2 && strcmp(argv[1], "phases") == 0;
    struct buf out;
    enum status s;

    if (argc > 1 && !phases) {
        fprintf(stderr, "usage: vfl-reference [phases]\n");
        return 2;
    }
    buf_init(&out, REFERENCE_BYTES_MAX);
    s = phases ? phase_print(&out) : config_reference(&out);
    if (s == STATUS_OK && !phases)
        s = plan_matrix(&out);
    if (s == STATUS_OK && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0))
        s = STATUS_IO;
    if (s != STATUS_OK)
        fprintf(stderr, "vfl-reference: %s\n", status_words(s));
    buf_deinit(&out);
    return status_exit_code(s);
}
