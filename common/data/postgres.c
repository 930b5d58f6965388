/* postgres.c -- one SELECT, row by row.
 *
 * Memory is that of a row: libpq gives one at a time, and what a text may have at most is asked of
 * the server with each column, since libpq would take any row in before it can be looked at.
 *
 * Nothing waits without an end: not for the connection, not for an answer, not for a row.  Numbers
 * and times are taken as the server writes them for the types listed here; whatever has another
 * type is refused by name, and a view can make text of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/postgres.h"

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "common/data/place.h"
#include "common/data/when.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <postgresql/libpq-fe.h>

static const char KIND[] = "postgres:";

enum {
    CONNECT_MS = 30000,
    ROW_MS = 600000, /* a view may have to sort all before its first row */
    IDENTIFIER_MAX = 63,
    QUERY_MAX = 1 << 20
};

enum form { FORM_TEXT, FORM_NUMBER, FORM_BOOL, FORM_TIME, FORM_PLAIN };

/* By the numbers that the server's catalogue has had for them ever since (pg_type.dat). */
static const struct {
    Oid oid;
    enum form form;
} types[] = {
    {16, FORM_BOOL},     {20, FORM_NUMBER},  {21, FORM_NUMBER},  {23, FORM_NUMBER},
    {25, FORM_TEXT},     {700, FORM_NUMBER}, {701, FORM_NUMBER}, {1042, FORM_TEXT},
    {1043, FORM_TEXT},   {1082, FORM_TIME},  {1114, FORM_TIME},  {1184, FORM_TIME},
    {1700, FORM_NUMBER}, {2950, FORM_PLAIN},
};

struct postgres {
    PGconn *conn;
    PGresult *row;   /* what the present cells point into */
    enum form *form; /* by column */
    size_t text_max; /* characters of a text */
    int row_ms;
};

/* --- waiting --- */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until the socket can be read (or written, where `out`); false: not before `until`. */
static bool wait_for(const struct postgres *q, bool in, bool out, int64_t until)
{
    struct pollfd p = {.fd = PQsocket(q->conn),
                       .events = (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0))};
    int64_t left;
    int got;

    do {
        left = until - now_ms();
        got = left <= 0 ? 0 : poll(&p, 1, (int)left);
    } while (got < 0 && errno == EINTR);
    return got > 0;
}

static enum status lost(const struct source *s, struct error *err)
{
    const struct postgres *q = s->state;

    return source_foreign(s, "PostgreSQL", PQerrorMessage(q->conn), err);
}

/* Until there is an answer, or a row of one. */
static enum status settle(const struct source *s, struct error *err)
{
    const struct postgres *q = s->state;
    const int64_t until = now_ms() + q->row_ms;

    for (;;) {
        const int unsent = PQflush(q->conn);

        if (unsent < 0)
            return lost(s, err);
        if (unsent == 0 && !PQisBusy(q->conn))
            return STATUS_OK;
        if (!wait_for(q, true, unsent > 0, until))
            return source_fail(s, err, "no answer, or no further row, in %d ms", q->row_ms);
        if (PQconsumeInput(q->conn) == 0)
            return lost(s, err);
    }
}

/* --- what the server says --- */

/* Of the conditions whose words are of names, rights and means, and never of what is in a cell. */
static bool words_are_plain(const char *state)
{
    static const char *const classes[] = {"08", "25", "28", "3D", "3F", "42", "53", "55", "57"};

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strncmp(state, classes[i], 2) == 0)
            return true;
    return false;
}

static enum status refuse(const struct source *s, const PGresult *r, struct error *err)
{
    const struct postgres *q = s->state;
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

    if (state == NULL)
        return source_foreign(s, "PostgreSQL", PQerrorMessage(q->conn), err);
    if (words != NULL && words_are_plain(state))
        return source_foreign(s, "PostgreSQL", words, err);
    return source_foreign(s, "PostgreSQL gave it up (its words may have cells in them), SQLSTATE",
                          state, err);
}

/* One statement without rows, or the description of one; *r is the caller's to clear. */
static enum status answer(const struct source *s, bool sent, PGresult **r, struct error *err)
{
    const struct postgres *q = s->state;
    enum status status = sent ? settle(s, err) : lost(s, err);
    PGresult *more;

    *r = NULL;
    if (status != STATUS_OK)
        return status;
    *r = PQgetResult(q->conn);
    if (*r == NULL || PQresultStatus(*r) != PGRES_COMMAND_OK)
        status = refuse(s, *r, err);
    while (status == STATUS_OK && (status = settle(s, err)) == STATUS_OK &&
           (more = PQgetResult(q->conn)) != NULL) {
        if (PQresultStatus(more) != PGRES_COMMAND_OK)
            status = refuse(s, more, err);
        PQclear(more);
    }
    return status;
}

static enum status run(const struct source *s, const char *text, struct error *err)
{
    const struct postgres *q = s->state;
    PGresult *r;
    enum status status = answer(s, PQsendQuery(q->conn, text) == 1, &r, err);

    PQclear(r);
    return status;
}

/* --- the connection --- */

static void hear_nothing(void *unused, const PGresult *notice)
{
    (void)unused;
    (void)notice;
}

static enum status connected(const struct source *s, struct error *err)
{
    const struct postgres *q = s->state;
    const int64_t until = now_ms() + (q->row_ms < CONNECT_MS ? q->row_ms : CONNECT_MS);
    PostgresPollingStatusType want = PGRES_POLLING_WRITING;

    while (want != PGRES_POLLING_OK) {
        if (want == PGRES_POLLING_FAILED || PQstatus(q->conn) == CONNECTION_BAD)
            return lost(s, err);
        if (!wait_for(q, want == PGRES_POLLING_READING, want == PGRES_POLLING_WRITING, until))
            return source_fail(s, err, "no connection in time");
        want = PQconnectPoll(q->conn);
    }
    return STATUS_OK;
}

/* libpq has seen to it by verify-full; this is what it must have come to. */
static bool is_safe(const struct postgres *q)
{
    struct sockaddr_storage at = {0};
    socklen_t n = sizeof at;

    return PQsslInUse(q->conn) == 1 ||
           (getsockname(PQsocket(q->conn), (struct sockaddr *)&at, &n) == 0 &&
            at.ss_family == AF_UNIX);
}

/* What is said here holds whatever the service's entry and the environment say. */
static enum status connect_to(struct source *s, const struct place *p, struct error *err)
{
    static const char *const keys[] = {
        "service", "sslmode", "gssencmode", "client_encoding", "fallback_application_name", NULL};
    const char *const values[] = {p->name, "verify-full", "disable", "UTF8", "colonnade", NULL};
    struct postgres *q = s->state;
    enum status status;

    q->conn = PQconnectStartParams(keys, values, 0);
    if (q->conn == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    PQsetNoticeReceiver(q->conn, hear_nothing, NULL);
    status = connected(s, err);
    if (status == STATUS_OK && !is_safe(q))
        status = source_fail(s, err, "neither a Unix socket nor TLS");
    if (status == STATUS_OK && PQsetnonblocking(q->conn, 1) != 0)
        status = lost(s, err);
    return status;
}

static enum status begin(const struct source *s, struct error *err)
{
    const struct postgres *q = s->state;
    char text[400];
    enum status status = run(s, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", err);

    /* The server gives the statement up, too, where nobody is left to tell it. */
    snprintf(text, sizeof text,
             "SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = %d; SET LOCAL DateStyle = "
             "'ISO, YMD'; SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1",
             6 * q->row_ms, q->row_ms < CONNECT_MS ? q->row_ms : CONNECT_MS);
    return status == STATUS_OK ? run(s, text, err) : status;
}

/* --- the statement --- */

/* A name in quotes, behind what is there. */
static enum status put_name(const struct source *s, struct buf *out, const char *before,
                            const char *name, const char *behind)
{
    const struct postgres *q = s->state;
    char *quoted = PQescapeIdentifier(q->conn, name, strlen(name));
    enum status status =
        quoted == NULL ? STATUS_DATA : buf_printf(out, "%s%s%s", before, quoted, behind);

    PQfreemem(quoted);
    return status;
}

static enum status put_table(const struct source *s, struct buf *out, const struct place *p)
{
    enum status status = STATUS_OK;

    if (p->schema[0] != 0)
        status = put_name(s, out, " FROM ", p->schema, ".");
    return status == STATUS_OK ? put_name(s, out, p->schema[0] != 0 ? "" : " FROM ", p->table, "")
                               : status;
}

/* As text with its final 0; whatever cannot be made into one is refused. */
static enum status ended(const struct source *s, struct buf *text, enum status status,
                         struct error *err)
{
    if (status == STATUS_OK)
        status = buf_append(text, "", 1);
    if (status == STATUS_MEMORY)
        return error_set(err, status, "%s: %s", s->path, status_words(status));
    return status == STATUS_OK ? status
                               : source_fail(s, err, "names that make no statement of 1 MiB");
}

static enum status take_columns(struct source *s, const PGresult *r, struct error *err)
{
    struct postgres *q = s->state;
    const int n = PQnfields(r);
    size_t texts = 0;
    enum status status =
        n > 0 ? source_columns(s, (size_t)n, err) : source_fail(s, err, "a table without columns");

    if (status != STATUS_OK)
        return status;
    q->form = mem_alloc((size_t)n, sizeof *q->form);
    if (q->form == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    for (int i = 0; i < n; i++) {
        const char *name = PQfname(r, i);
        size_t k = 0;

        status = source_name(s, (size_t)i, name, strlen(name), err);
        if (status != STATUS_OK)
            return status;
        while (k < sizeof types / sizeof *types && types[k].oid != PQftype(r, i))
            k++;
        if (k == sizeof types / sizeof *types)
            return source_fault(s, (size_t)i,
                                "no number, text, time, boolean or uuid: a view can make one of it",
                                err);
        q->form[i] = types[k].form;
        texts += q->form[i] == FORM_TEXT;
    }
    q->text_max /= texts > 0 ? texts : 1;
    return STATUS_OK;
}

/* The names and types of all columns, of which no row is read yet. */
static enum status describe(struct source *s, const struct place *p, struct error *err)
{
    const struct postgres *q = s->state;
    struct buf text;
    PGresult *r = NULL;
    enum status status;

    buf_init(&text, QUERY_MAX);
    status = buf_printf(&text, "SELECT *");
    if (status == STATUS_OK)
        status = put_table(s, &text, p);
    status = ended(s, &text, status, err);
    if (status == STATUS_OK) {
        status = answer(s, PQsendPrepare(q->conn, "", (char *)text.data, 0, NULL) == 1, &r, err);
        PQclear(r);
        r = NULL;
    }
    if (status == STATUS_OK)
        status = answer(s, PQsendDescribePrepared(q->conn, "") == 1, &r, err);
    if (status == STATUS_OK)
        status = take_columns(s, r, err);
    PQclear(r);
    buf_deinit(&text);
    return status;
}

/* The same columns, each text cut off one character behind its limit. */
static enum status ask(struct source *s, const struct place *p, struct error *err)
{
    const struct postgres *q = s->state;
    char behind[40];
    struct buf text;
    enum status status;

    buf_init(&text, QUERY_MAX);
    snprintf(behind, sizeof behind, ", %zu)", q->text_max + 1);
    status = buf_printf(&text, "SELECT");
    for (size_t i = 0; status == STATUS_OK && i < s->cols; i++) {
        const bool cut = q->form[i] == FORM_TEXT;

        status = put_name(s, &text,
                          i == 0 ? cut ? " left(" : " "
                          : cut  ? ", left("
                                 : ", ",
                          s->names + i * SOURCE_NAME_MAX, cut ? behind : "");
    }
    if (status == STATUS_OK)
        status = put_table(s, &text, p);
    status = ended(s, &text, status, err);
    if (status == STATUS_OK &&
        (PQsendQueryParams(q->conn, (char *)text.data, 0, NULL, NULL, NULL, NULL, 0) != 1 ||
         PQsetSingleRowMode(q->conn) != 1))
        status = lost(s, err);
    buf_deinit(&text);
    return status;
}

/* --- rows --- */

static size_t characters(const char *text, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += (text[i] & 0xc0) != 0x80;
    return count;
}

static enum status take_cell(struct source *s, size_t i, const char *text, size_t n,
                             struct error *err)
{
    const struct postgres *q = s->state;
    float days;

    switch (q->form[i]) {
    case FORM_TEXT:
        if (n > q->text_max && characters(text, n) > q->text_max)
            return source_fault(s, i, "a text longer than may be", err);
        break;
    case FORM_NUMBER:
        if (strstr(text, "nfinity") != NULL)
            return source_fault(s, i, "an infinite number", err);
        break;
    case FORM_BOOL: text = text[0] == 't' ? "1" : "0"; break;
    case FORM_TIME:
        if (!when_scan(text, n, &days))
            return source_fault(s, i, "a time outside of the years 1 to 9999", err);
        break;
    case FORM_PLAIN: break;
    }
    return source_text_cell(s, i, text, n, err);
}

static enum status postgres_next(struct source *s, bool *more, struct error *err)
{
    struct postgres *q = s->state;
    enum status status;

    *more = false;
    s->row++;
    PQclear(q->row);
    q->row = NULL;
    status = settle(s, err);
    if (status != STATUS_OK)
        return status;
    q->row = PQgetResult(q->conn);
    if (q->row == NULL)
        return lost(s, err);
    if (PQresultStatus(q->row) == PGRES_TUPLES_OK)
        return STATUS_OK;
    if (PQresultStatus(q->row) != PGRES_SINGLE_TUPLE || PQnfields(q->row) != (int)s->cols)
        return refuse(s, q->row, err);
    *more = true;
    for (int i = 0; status == STATUS_OK && i < (int)s->cols; i++) {
        if (PQgetisnull(q->row, 0, i) == 1)
            s->cell[i] = (struct cell){.kind = CELL_NONE};
        else
            status = take_cell(s, (size_t)i, PQgetvalue(q->row, 0, i),
                               (size_t)PQgetlength(q->row, 0, i), err);
    }
    return status;
}

static void postgres_close(struct source *s)
{
    struct postgres *q = s->state;

    PQclear(q->row);
    PQfinish(q->conn);
    mem_free(q->form);
    mem_free(q);
}

static const struct source_ops postgres_ops = {.next = postgres_next, .close = postgres_close};

enum status postgres_open(struct source *s, const struct source_options *o, struct error *err)
{
    struct place place;
    struct postgres *q;
    enum status status = place_parse(&place, s->path, KIND, o->table, err);

    if (status != STATUS_OK)
        return status;
    if (strlen(place.table) > IDENTIFIER_MAX || strlen(place.schema) > IDENTIFIER_MAX)
        return error_set(err, STATUS_CONFIG, "%.200s: a name of PostgreSQL has at most %d bytes",
                         s->path, IDENTIFIER_MAX);
    q = mem_alloc(1, sizeof *q);
    if (q == NULL)
        return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
    q->text_max = o->line_max == 0 ? SOURCE_LINE_MAX : o->line_max;
    q->row_ms = o->wait_ms == 0 ? ROW_MS : o->wait_ms;
    s->state = q;
    s->ops = &postgres_ops;
    status = connect_to(s, &place, err);
    if (status == STATUS_OK)
        status = begin(s, err);
    if (status == STATUS_OK)
        status = describe(s, &place, err);
    return status == STATUS_OK ? ask(s, &place, err) : status;
}
