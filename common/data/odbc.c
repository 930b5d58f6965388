/* odbc.c -- one SELECT through unixODBC, row by row, cell by cell.
 *
 * Cells are fetched in pieces into one buffer that holds a row and has a row's limit, so a long one
 * costs no more memory than that.  Everything is asked for as text but binary data, which is
 * refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/data/odbc.h"

#include "common/base/mem.h"
#include "common/data/place.h"
#include "common/data/when.h"

#include <stdio.h>
#include <string.h>
#include <sql.h>
#include <sqlext.h>

static const char KIND[] = "odbc:";

enum { LOGIN_SECONDS = 30, ANSWER_SECONDS = 3600, ROW_FIRST = 4096, STATEMENT_MAX = 8192 };

struct odbc {
    SQLHENV env;
    SQLHDBC db;
    SQLHSTMT rows;
    bool connected;
    SQLSMALLINT *type; /* by column */
    char *row;         /* all cells of the present row, each with a final 0 */
    size_t *at;        /* by column: where its cell begins there */
    size_t used, cap, row_max;
};

/* The condition that a handle is in.  Words of drivers may have cells in them: of the conditions of
 * connections, names and rights alone they are shown. */
static enum status refuse(const struct source *s, SQLSMALLINT kind, SQLHANDLE handle,
                          struct error *err)
{
    SQLCHAR state[6] = "", words[256] = "";
    SQLINTEGER code;
    SQLSMALLINT n;

    SQLGetDiagRec(kind, handle, 1, state, &code, words, sizeof words, &n);
    if (strncmp((char *)state, "08", 2) == 0 || strncmp((char *)state, "28", 2) == 0 ||
        strncmp((char *)state, "IM", 2) == 0 || strncmp((char *)state, "42S", 3) == 0)
        return source_foreign(s, "ODBC", (char *)words, err);
    return source_foreign(s,
                          "ODBC: the driver gave it up (its words may have cells in them), "
                          "SQLSTATE",
                          (char *)state, err);
}

static enum status no_memory(const struct source *s, struct error *err)
{
    return error_set(err, STATUS_MEMORY, "%s: %s", s->path, status_words(STATUS_MEMORY));
}

static SQLPOINTER number(SQLULEN n)
{
    return (SQLPOINTER)n;
}

static enum status connect_to(struct source *s, const struct place *p, struct error *err)
{
    struct odbc *q = s->state;

    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &q->env)) ||
        !SQL_SUCCEEDED(SQLSetEnvAttr(q->env, SQL_ATTR_ODBC_VERSION, number(SQL_OV_ODBC3), 0)) ||
        !SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, q->env, &q->db)))
        return no_memory(s, err);
    /* Not every driver knows each of these. */
    SQLSetConnectAttr(q->db, SQL_ATTR_LOGIN_TIMEOUT, number(LOGIN_SECONDS), 0);
    SQLSetConnectAttr(q->db, SQL_ATTR_CONNECTION_TIMEOUT, number(ANSWER_SECONDS), 0);
    SQLSetConnectAttr(q->db, SQL_ATTR_ACCESS_MODE, number(SQL_MODE_READ_ONLY), 0);
    if (!SQL_SUCCEEDED(SQLConnect(q->db, (SQLCHAR *)p->name, SQL_NTS, NULL, 0, NULL, 0)))
        return refuse(s, SQL_HANDLE_DBC, q->db, err);
    q->connected = true;
    SQLSetConnectAttr(q->db, SQL_ATTR_AUTOCOMMIT, number(SQL_AUTOCOMMIT_OFF), 0);
    SQLSetConnectAttr(q->db, SQL_ATTR_TXN_ISOLATION, number(SQL_TXN_REPEATABLE_READ), 0);
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, q->db, &q->rows)))
        return refuse(s, SQL_HANDLE_DBC, q->db, err);
    SQLSetStmtAttr(q->rows, SQL_ATTR_QUERY_TIMEOUT, number(ANSWER_SECONDS), 0);
    return STATUS_OK;
}

/* A name in the driver's quotes, each of which is doubled inside; where it has none, a plain name
 * as it is.  False: it does not fit, or cannot be said. */
static bool put_name(char *out, size_t size, const char *name, char quote)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    size_t n = strlen(out);

    if (quote == ' ' && strspn(name, plain) != strlen(name))
        return false;
    if (n + 2 * strlen(name) + 3 > size)
        return false;
    if (quote != ' ')
        out[n++] = quote;
    for (; *name != 0; name++) {
        if (*name == quote)
            out[n++] = quote;
        out[n++] = *name;
    }
    if (quote != ' ')
        out[n++] = quote;
    out[n] = 0;
    return true;
}

static enum status ask(struct source *s, const struct place *p, struct error *err)
{
    const struct odbc *q = s->state;
    char text[STATEMENT_MAX] = "SELECT * FROM ", quote[4] = " ";
    SQLSMALLINT n;
    bool good = true;

    if (!SQL_SUCCEEDED(
            SQLGetInfo(q->db, SQL_IDENTIFIER_QUOTE_CHAR, quote, (SQLSMALLINT)sizeof quote, &n)) ||
        n != 1)
        quote[0] = ' ';
    if (p->schema[0] != 0) {
        good = put_name(text, sizeof text - 1, p->schema, quote[0]);
        strcat(text, ".");
    }
    good = good && put_name(text, sizeof text, p->table, quote[0]);
    if (!good)
        return source_fail(s, err, "the driver has no quotes for such a name");
    if (!SQL_SUCCEEDED(SQLExecDirect(q->rows, (SQLCHAR *)text, SQL_NTS)))
        return refuse(s, SQL_HANDLE_STMT, q->rows, err);
    return STATUS_OK;
}

static bool is_binary(SQLSMALLINT type)
{
    return type == SQL_BINARY || type == SQL_VARBINARY || type == SQL_LONGVARBINARY;
}

static bool is_time(SQLSMALLINT type)
{
    return type == SQL_TYPE_DATE || type == SQL_TYPE_TIMESTAMP || type == SQL_DATE ||
           type == SQL_TIMESTAMP;
}

static enum status describe(struct source *s, struct error *err)
{
    struct odbc *q = s->state;
    SQLSMALLINT cols = 0;
    enum status status;

    if (!SQL_SUCCEEDED(SQLNumResultCols(q->rows, &cols)))
        return refuse(s, SQL_HANDLE_STMT, q->rows, err);
    if (cols < 1)
        return source_fail(s, err, "a table without columns");
    status = source_columns(s, (size_t)cols, err);
    if (status != STATUS_OK)
        return status;
    q->type = mem_alloc((size_t)cols, sizeof *q->type);
    q->at = mem_alloc((size_t)cols, sizeof *q->at);
    q->row = mem_alloc(ROW_FIRST, 1);
    q->cap = ROW_FIRST;
    if (q->type == NULL || q->at == NULL || q->row == NULL)
        return no_memory(s, err);
    for (SQLSMALLINT i = 0; status == STATUS_OK && i < cols; i++) {
        SQLCHAR name[2 * SOURCE_NAME_MAX] = "";
        SQLSMALLINT n = 0, digits, nullable;
        SQLULEN size;

        if (!SQL_SUCCEEDED(SQLDescribeCol(q->rows, (SQLUSMALLINT)(i + 1), name, sizeof name, &n,
                                          &q->type[i], &size, &digits, &nullable)))
            return refuse(s, SQL_HANDLE_STMT, q->rows, err);
        status = source_name(s, (size_t)i, (char *)name, strnlen((char *)name, sizeof name), err);
        if (status == STATUS_OK && is_binary(q->type[i]))
            status = source_fault(s, (size_t)i, "binary data, which is no text and no number", err);
    }
    return status;
}

/* --- rows --- */

static enum status make_room(const struct source *s, struct odbc *q, struct error *err)
{
    const size_t cap = 2 * q->cap;
    char *grown;

    if (q->cap >= q->row_max)
        return source_fail(s, err, "a row over %zu bytes", q->row_max);
    grown = mem_grow(q->row, q->cap, cap);
    if (grown == NULL)
        return no_memory(s, err);
    q->row = grown;
    q->cap = cap;
    return STATUS_OK;
}

/* One cell behind those that are there; *null: it is none.  Moves s->cell's texts only at the end,
 * since the buffer may move. */
static enum status fetch(struct source *s, size_t i, bool *null, struct error *err)
{
    struct odbc *q = s->state;

    q->at[i] = q->used;
    for (;;) {
        const size_t room = q->cap - q->used;
        SQLLEN n = 0;
        SQLRETURN got;
        enum status status;

        if (room < 2) {
            status = make_room(s, q, err);
            if (status != STATUS_OK)
                return status;
            continue;
        }
        got = SQLGetData(q->rows, (SQLUSMALLINT)(i + 1), SQL_C_CHAR, q->row + q->used, (SQLLEN)room,
                         &n);
        if (got == SQL_NO_DATA)
            break;
        if (!SQL_SUCCEEDED(got))
            return refuse(s, SQL_HANDLE_STMT, q->rows, err);
        *null = n == SQL_NULL_DATA;
        if (*null)
            break;
        if (n != SQL_NO_TOTAL && n >= 0 && (size_t)n < room) {
            q->used += (size_t)n;
            break;
        }
        q->used += room - 1; /* all but the 0 behind each piece */
    }
    q->row[q->used] = 0;
    q->used++;
    return STATUS_OK;
}

static enum status check_cell(const struct source *s, size_t i, struct error *err)
{
    const struct odbc *q = s->state;
    const struct cell *c = &s->cell[i];
    float days;

    if (is_time(q->type[i]) && !when_scan(c->text, c->n, &days))
        return source_fault(s, i, "a time outside of the years 1 to 9999", err);
    return STATUS_OK;
}

static enum status odbc_next(struct source *s, bool *more, struct error *err)
{
    struct odbc *q = s->state;
    const SQLRETURN got = SQLFetch(q->rows);
    enum status status = STATUS_OK;

    *more = SQL_SUCCEEDED(got);
    s->row++;
    q->used = 0;
    if (got == SQL_NO_DATA)
        return STATUS_OK;
    if (!*more)
        return refuse(s, SQL_HANDLE_STMT, q->rows, err);
    for (size_t i = 0; status == STATUS_OK && i < s->cols; i++) {
        bool null = false;
        const size_t before = q->used;

        status = fetch(s, i, &null, err);
        s->cell[i].kind = null ? CELL_NONE : CELL_TEXT;
        s->cell[i].n = q->used - before - 1;
    }
    for (size_t i = 0; status == STATUS_OK && i < s->cols; i++) {
        if (s->cell[i].kind == CELL_NONE)
            continue;
        status = source_text_cell(s, i, q->row + q->at[i], s->cell[i].n, err);
        if (status == STATUS_OK)
            status = check_cell(s, i, err);
    }
    return status;
}

static void odbc_close(struct source *s)
{
    struct odbc *q = s->state;

    if (q->rows != NULL)
        SQLFreeHandle(SQL_HANDLE_STMT, q->rows);
    if (q->connected) {
        SQLEndTran(SQL_HANDLE_DBC, q->db, SQL_ROLLBACK);
        SQLDisconnect(q->db);
    }
    if (q->db != NULL)
        SQLFreeHandle(SQL_HANDLE_DBC, q->db);
    if (q->env != NULL)
        SQLFreeHandle(SQL_HANDLE_ENV, q->env);
    mem_free(q->type);
    mem_free(q->row);
    mem_free(q->at);
    mem_free(q);
}

static const struct source_ops odbc_ops = {.next = odbc_next, .close = odbc_close};

enum status odbc_open(struct source *s, const struct source_options *o, struct error *err)
{
    struct place place;
    struct odbc *q;
    enum status status = place_parse(&place, s->path, KIND, o->table, err);

    if (status != STATUS_OK)
        return status;
    q = mem_alloc(1, sizeof *q);
    if (q == NULL)
        return no_memory(s, err);
    q->row_max = o->line_max == 0 ? SOURCE_LINE_MAX : o->line_max;
    s->state = q;
    s->ops = &odbc_ops;
    status = connect_to(s, &place, err);
    if (status == STATUS_OK)
        status = ask(s, &place, err);
    return status == STATUS_OK ? describe(s, err) : status;
}
