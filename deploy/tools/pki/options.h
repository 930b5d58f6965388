/* options.h -- the command line of `vfl pki`.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_DEPLOY_PKI_OPTIONS_H
#define COLONNADE_DEPLOY_PKI_OPTIONS_H

#include "common/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { OPTIONS_OPERATORS_MAX = 257, OPTIONS_FILES_MAX = 4096 };

enum options_name {
    OPTION_CA,
    OPTION_NAME,
    OPTION_DAYS,
    OPTION_START,
    OPTION_KEY,
    OPTION_CSR,
    OPTION_ROLE,
    OPTION_OUT,
    OPTION_SERVER,
    OPTION_ROSTER,
    OPTION_ADDRESS,
    OPTION_PLAN,
    OPTION_UNITS,
    OPTION_PARTIES,
    OPTION_N
};

struct options {
    const char *text[OPTION_N]; /* NULL: not given */
    long days;                  /* 0: not given */
    bool quiet, help;
    const char *operators[OPTIONS_OPERATORS_MAX]; /* "NAME=OPERATOR" */
    size_t operators_n;
    const char *allow[OPTIONS_OPERATORS_MAX];
    size_t allow_n;
    const char *file[OPTIONS_FILES_MAX];
    size_t files_n;
};

/* The words behind the command, in any order; `known` lists the options it takes, "ca name ...".
 * STATUS_CONFIG: another option, one without its value, or one that is given twice. */
enum status options_read(struct options *o, int argc, char **argv, const char *known,
                         struct error *err) MUST_USE;
/* "--NAME is missing" unless it was given. */
enum status options_need(const struct options *o, enum options_name name,
                         struct error *err) MUST_USE;

/* A whole number of at most nine digits from lo to hi. */
enum status options_number(long *out, const char *what, const char *text, long lo, long hi,
                           struct error *err) MUST_USE;
/* cert_name.h */
enum status options_check_name(const char *name, struct error *err) MUST_USE;

#endif
