/* want.h -- the command line of vfl-report.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_TOOLS_REPORT_WANT_H
#define COLONNADE_TOOLS_REPORT_WANT_H

#include "common/base/status.h"
#include "deploy/tools/report/fold.h"

struct want {
    struct fold_want fold;
    const char *plots; /* folder for gnuplot's data and script; NULL: none */
    const char *html;  /* the page; it takes the pictures that are in `plots` */
    const char *csv;
    const char *scores;  /* one table of scores with labels, and no folder; NULL: none */
    const char *title;   /* of the page; NULL: the first run's */
    const char *command; /* how the report was asked for, for the page */
    bool quiet;
    size_t folders;
    char **folder;
};

/* STATUS_CONFIG with a line for people. */
enum status want_read(struct want *w, int argc, char **argv, struct error *err) MUST_USE;

#endif
