/* packages.h -- a small bottom and a small head, as packages, for tests of what reads them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TESTS_UNIT_DAEMON_PACKAGES_H
#define COLONNADE_TESTS_UNIT_DAEMON_PACKAGES_H

#include "common/daemon/package.h"

struct packages {
    struct arena arena;
    struct nn_net bottom, head;
};

/* Two parties, embeddings of 2, two classes; the bottom has three columns, the second of which has
 * a name that JSON has to escape. */
void packages_init(struct packages *s);
void packages_deinit(struct packages *s);
/* To package_deinit. */
void packages_bottom(struct package *p);
void packages_head(struct package *p);

#endif
