/* status.h -- what went wrong, of which kind, and the one line that says so.
 *
 * Every operation that can fail in the field returns an `enum status`.  Its *kind* decides policy
 * (whose fault, which exit code); the text in `struct error` is for people.  Programmers' mistakes
 * are not statuses: they abort in CHECK (check.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COLONNADE_BASE_STATUS_H
#define COLONNADE_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>

/* Whose fault it is.  status_exit_code() maps a kind to a process exit code. */
enum status_kind {
    STATUS_KIND_NONE,   /* exit 0 */
    STATUS_KIND_CONFIG, /* configuration or data of this side: exit 2 */
    STATUS_KIND_PEER,   /* a peer broke the protocol: exit 3 */
    STATUS_KIND_NET,    /* network or patience: exit 4 */
    STATUS_KIND_POLICY, /* policy or privacy budget refused: exit 5 */
    STATUS_KIND_LOCAL,  /* local I/O, memory, this program itself: exit 6 */
};

/* X(name, kind, words) */
#define STATUS_LIST(X)                                                                             \
    X(OK, NONE, "ok")                                                                              \
    X(CONFIG, CONFIG, "bad configuration")                                                         \
    X(DATA, CONFIG, "bad data")                                                                    \
    X(IDENTITY, CONFIG, "bad identity")                                                            \
    X(PROTOCOL, PEER, "protocol violation")                                                        \
    X(LIMIT, PEER, "over a limit")                                                                 \
    X(AUTH, PEER, "authentication failed")                                                         \
    X(INTEGRITY, PEER, "integrity check failed")                                                   \
    X(REPLACED, PEER, "replaced by a newer connection")                                            \
    X(NET, NET, "network failure")                                                                 \
    X(PATIENCE, NET, "out of patience")                                                            \
    X(POLICY, POLICY, "refused by policy")                                                         \
    X(BUDGET, POLICY, "refused by privacy budget")                                                 \
    X(IO, LOCAL, "local I/O failure")                                                              \
    X(MEMORY, LOCAL, "out of memory")                                                              \
    X(CRYPTO, LOCAL, "cryptographic library failure")                                              \
    X(FAULT, LOCAL, "a fault of this program")

enum status {
#define X(name, kind, words) STATUS_##name,
    STATUS_LIST(X)
#undef X
};

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))

enum { ERROR_TEXT_MAX = 480 };

/* The first failure's status and a text that grows a prefix at each level on the way up.
 * Zero-initialised means "no error".  Functions that take `struct error *err` accept NULL. */
struct error {
    enum status status;
    char text[ERROR_TEXT_MAX];
};

enum status_kind status_kind(enum status s);
const char *status_words(enum status s);
int status_exit_code(enum status s);

/* Sets *err (if not NULL) to `s` and the formatted text, and returns `s`. */
enum status error_set(struct error *err, enum status s, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "prefix: " before the text of *err; returns err->status, so
 * `return error_wrap(...)` works where err is never NULL: with NULL there is no status to return
 * and it says STATUS_OK. */
enum status error_wrap(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
