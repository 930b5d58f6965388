/* job.c -- vfl-job: jobs into the queue of a server that stands, and what has become of them.
 *
 *   vfl-job [--state DIR] submit train PLAN             keys of the plan, YAML
 *   vfl-job [--state DIR] submit predict [--model RUN] [--absent NAME,...] [--by NAME]
 *                                      [--min-parties N] IDS               one id a line
 *   vfl-job [--state DIR] submit predict --alignment NAME ... [IDS]        all rows of it, or some
 *   vfl-job [--state DIR] submit align FILE             a line `name: NAME`, and `rows: labelled`
 *   vfl-job [--state DIR] submit contribute [--model RUN] [--permutations N] [--columns NAME=N,...]
 *                                      [--by NAME] IDS    or a table id,..., whose ids are sent
 *   vfl-job [--state DIR] list | show N | wait N | cancel N | log N | summary N | scores N
 *                         | without N | answers N
 *
 * It asks the server over DIR/control, with the token of DIR/token (server/control.h).  Exit: 0; 1
 * for `wait` when the job did not come to its end; 2 what was asked is not right, 4 nobody answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/mem.h"
#include "common/base/process.h"
#include "common/crypto/secret.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    PATH_SIZE = 512,
    TOKEN_MAX = 256,
    TEXT_MAX = 16 << 20,
    ANSWER_MAX = 40 << 20,
    ANSWER_S = 90,
    WAIT_MS = 200
};

static const char usage[] =
    "usage: vfl job [--state DIR] submit train PLAN\n"
    "       vfl job [--state DIR] submit predict [--model RUN] [--absent NAME,...]\n"
    "                                       [--by NAME] [--min-parties N] IDS\n"
    "       vfl job [--state DIR] submit predict|contribute --alignment NAME ... [IDS]\n"
    "       vfl job [--state DIR] submit contribute [--model RUN] [--permutations N]\n"
    "                                       [--columns NAME=N,...] [--by NAME] IDS | TABLE.csv\n"
    "       vfl job [--state DIR] list | show N | wait N | cancel N | log N | summary N | scores "
    "N | without N\n"
    "                             | answers N\n"
    "       vfl job [--state DIR] submit align FILE           FILE: lines name: NAME, rows: KIND\n"
    "  --state DIR        the server's state directory; without it the working directory\n"
    "  --model RUN        whose model predicts; without it the one in use\n"
    "  --alignment NAME   rows are called by their places in it; IDS are the server's own, without "
    "them all\n"
    "  --absent NAME,...  parties that answer with a constant\n"
    "  --by NAME          for whom: parties are told, and log it (predict.by)\n"
    "  --min-parties N    so many answer where others stay away (predict.wait_ms)\n"
    "  --permutations N   of N orders of the parties instead of all sets of them\n"
    "  --columns NAME=N,...  and with each of the first N columns of that party mixed up\n";

struct asked {
    const char *state, *model, *alignment, *absent, *by, *columns;
    int min_parties;  /* 0: as the server is configured */
    int permutations; /* 0: likewise */
};

struct answer {
    unsigned status;
    struct buf bytes; /* head and body */
    const char *body;
};

/* --- one request --- */

static enum status read_token(char out[TOKEN_MAX], const char *state, struct error *err)
{
    char path[PATH_SIZE];
    struct buf text;
    enum status s;

    snprintf(path, sizeof path, "%.*s/token", PATH_SIZE - 16, state);
    buf_init(&text, TOKEN_MAX - 1);
    s = file_read_private(path, &text, err);
    if (s == STATUS_OK)
        snprintf(out, TOKEN_MAX, "%.*s", (int)text.len, (char *)text.data);
    out[strcspn(out, "\n")] = 0;
    secret_buf_deinit(&text);
    return s;
}

static enum status connect_to(int *fd, const char *state, struct error *err)
{
    const struct timeval patience = {.tv_sec = ANSWER_S};
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (snprintf(at.sun_path, sizeof at.sun_path, "%s/control", state) >= (int)sizeof at.sun_path)
        return error_set(err, STATUS_CONFIG, "%s: too long a name for a socket", state);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && connect(*fd, (struct sockaddr *)&at, sizeof at) == 0 &&
        setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_NET, "%s: %s: does a server with stand: true run there?",
                     at.sun_path, strerror(errno));
}

static bool send_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n > 0) {
        const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

static enum status read_answer(int fd, struct answer *a, struct error *err)
{
    char bytes[65536], *end;
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        if (buf_append(&a->bytes, bytes, (size_t)n) != STATUS_OK)
            return error_set(err, STATUS_PROTOCOL, "too long an answer");
    if (n < 0 || buf_append(&a->bytes, "", 1) != STATUS_OK)
        return error_set(err, STATUS_NET, "no answer");
    end = strstr((char *)a->bytes.data, "\r\n\r\n");
    if (end == NULL || sscanf((char *)a->bytes.data, "HTTP/1.1 %u", &a->status) != 1)
        return error_set(err, STATUS_NET, "no answer");
    a->body = end + 4;
    return STATUS_OK;
}

/* What the server says against it. */
static enum status refused(const struct answer *a, struct error *err)
{
    json_t *body = json_loads(a->body, 0, NULL);
    const char *why = json_string_value(json_object_get(body, "error"));

    error_set(err, a->status < 500 ? STATUS_CONFIG : STATUS_IO, "%s",
              why != NULL ? why : "the server does not say why");
    json_decref(body);
    return err->status;
}

/* Anything but 200 and 201 is the server's refusal.  The answer is the caller's to buf_deinit,
 * whatever came. */
static enum status ask(const char *state, const char *method, const char *path, const char *body,
                       struct answer *a, struct error *err)
{
    char head[PATH_SIZE + TOKEN_MAX], token[TOKEN_MAX] = "";
    int fd = -1;
    enum status s;

    if (!process_become_owner(state)) /* a service has a user of its own */
        error_set(err, STATUS_CONFIG, "%s: it cannot be worked in as its owner", state);
    s = err->status != STATUS_OK ? err->status : read_token(token, state, err);
    *a = (struct answer){.status = 0};
    buf_init(&a->bytes, ANSWER_MAX);
    if (s == STATUS_OK)
        s = connect_to(&fd, state, err);
    snprintf(head, sizeof head,
             "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
             "Content-Length: %zu\r\n\r\n",
             method, path, token, strlen(body));
    if (s == STATUS_OK && (!send_all(fd, head, strlen(head)) || !send_all(fd, body, strlen(body))))
        s = error_set(err, STATUS_NET, "the server does not listen");
    if (s == STATUS_OK)
        s = read_answer(fd, a, err);
    if (fd >= 0)
        close(fd);
    secret_wipe(head, sizeof head);
    secret_wipe(token, sizeof token);
    return s == STATUS_OK && a->status != 200 && a->status != 201 ? refused(a, err) : s;
}

/* --- commands --- */

static void print_line(json_t *j)
{
    const char *kind = "", *state = "", *run = "", *outcome = "", *error = "";
    int number = 0;

    (void)json_unpack(j, "{s:i, s:s, s:s, s:s, s:s, s:s}", "job", &number, "kind", &kind, "state",
                      &state, "run", &run, "outcome", &outcome, "error", &error);
    printf("%-5d %-8s %-10s %-18s %s%s%s\n", number, kind, state, run, outcome,
           error[0] != 0 ? ": " : "", error);
}

static enum status list(const struct asked *o, struct error *err)
{
    struct answer a;
    enum status s = ask(o->state, "GET", "/v1/jobs", "", &a, err);

    if (s == STATUS_OK) {
        json_t *all = json_loads(a.body, 0, NULL), *jobs = json_object_get(all, "jobs");

        for (size_t i = 0; i < json_array_size(jobs); i++)
            print_line(json_array_get(jobs, i));
        json_decref(all);
    }
    buf_deinit(&a.bytes);
    return s;
}

static bool is_text(const char *word)
{
    json_t *text = json_string(word == NULL ? "" : word);
    const bool is = text != NULL;

    json_decref(text);
    return is;
}

/* {"kind", "plan", "ids" or "align", ...}, of what is asked with it, which the server judges; NULL:
 * a text that is none in UTF-8. */
static json_t *describe(const struct asked *o, const char *kind, const struct buf *text)
{
    const bool aligns = strcmp(kind, "align") == 0, trains = aligns || strcmp(kind, "train") == 0;

    return json_pack("{s:s, s:s%, s:s*, s:s*, s:s*, s:s*, s:s*, s:o*, s:o*}", "kind", kind,
                     aligns   ? "align"
                     : trains ? "plan"
                              : "ids",
                     text->len > 0 ? (char *)text->data : "", text->len, "model",
                     trains ? NULL : o->model, "alignment", trains ? NULL : o->alignment, "absent",
                     trains ? NULL : o->absent, "by", trains ? NULL : o->by, "columns", o->columns,
                     "min_parties",
                     !trains && o->min_parties > 0 ? json_integer(o->min_parties) : NULL,
                     "permutations", o->permutations > 0 ? json_integer(o->permutations) : NULL);
}

/* A table's head, with another delimiter than ours or in other letters: what stands behind its ids
 * would go along. */
static bool is_other_table(const struct buf *text)
{
    return text->len >= 3 && strncasecmp((const char *)text->data, "id", 2) == 0 &&
           strchr(",;|\t", text->data[2]) != NULL;
}

/* Of a table, id,label say, its first column: labels are sent to nobody. */
static enum status keep_ids(struct buf *text, const char *file, struct error *err)
{
    size_t to = 0;
    bool head = true, id = true;

    if (text->len < 3 || memcmp(text->data, "id,", 3) != 0)
        return is_other_table(text)
                   ? error_set(err, STATUS_DATA,
                               "%s: no ids, and no table that begins with \"id,\"", file)
                   : STATUS_OK;
    if (memchr(text->data, '"', text->len) != NULL) /* a cell of several lines, perhaps */
        return error_set(err, STATUS_DATA, "%s: a table with quotes: name the ids alone", file);
    for (size_t i = 0; i < text->len; i++) {
        const uint8_t c = text->data[i];

        id = id && c != ',' && c != '\r';
        if (!head && (id || c == '\n'))
            text->data[to++] = c;
        head = head && c != '\n';
        id = id || c == '\n';
    }
    text->len = to;
    return STATUS_OK;
}

static enum status submit(const struct asked *o, const char *kind, const char *file,
                          struct error *err)
{
    const char *name = file != NULL ? file : "the job";
    struct answer a = {.status = 0};
    struct buf text;
    json_t *job = NULL, *said;
    char *sent = NULL;
    enum status s;

    buf_init(&text, TEXT_MAX);
    s = file != NULL ? file_read(file, &text, err) : STATUS_OK;
    if (s == STATUS_OK && strcmp(kind, "contribute") == 0)
        s = keep_ids(&text, name, err);
    /* No text at all asks for every row of an alignment: a file has to be left out for that. */
    if (s == STATUS_OK && file != NULL && o->alignment != NULL && text.len == 0)
        s = error_set(err, STATUS_DATA, "%s: no ids", name);
    if (s == STATUS_OK && !(is_text(o->model) && is_text(o->alignment) && is_text(o->absent) &&
                            is_text(o->by) && is_text(o->columns)))
        s = error_set(err, STATUS_DATA,
                      "--columns, --by, --alignment, --model, --absent: no text in UTF-8");
    if (s == STATUS_OK) {
        job = describe(o, kind, &text);
        if (job == NULL)
            s = error_set(err, STATUS_DATA, "%s: no text in UTF-8", name);
    }
    if (s == STATUS_OK) {
        sent = json_dumps(job, 0);
        if (sent == NULL)
            s = error_set(err, STATUS_MEMORY, "%s: %s", name, status_words(STATUS_MEMORY));
    }
    if (s == STATUS_OK)
        s = ask(o->state, "POST", "/v1/jobs", sent, &a, err);
    if (s == STATUS_OK) {
        said = json_loads(a.body, 0, NULL);
        printf("%lld\n", (long long)json_integer_value(json_object_get(said, "job")));
        json_decref(said);
    }
    mem_free(sent);
    json_decref(job);
    buf_deinit(&a.bytes);
    buf_deinit(&text);
    return s;
}

static enum status about(const struct asked *o, const char *method, const char *number,
                         const char *what, struct error *err)
{
    char path[64];
    struct answer a;
    enum status s;

    snprintf(path, sizeof path, "/v1/jobs/%.10s%s", number, what);
    s = ask(o->state, method, path, "", &a, err);
    if (s == STATUS_OK)
        fputs(a.body, stdout);
    buf_deinit(&a.bytes);
    return s;
}

/* Is it over, and how? */
static enum status look(const struct asked *o, const char *number, bool *over, bool *well,
                        struct error *err)
{
    char path[64];
    struct answer a;
    enum status s;

    snprintf(path, sizeof path, "/v1/jobs/%.10s", number);
    s = ask(o->state, "GET", path, "", &a, err);
    if (s == STATUS_OK) {
        json_t *job = json_loads(a.body, 0, NULL);
        const char *state = json_string_value(json_object_get(job, "state"));

        *well = state != NULL && strcmp(state, "done") == 0;
        *over = state != NULL && strcmp(state, "waiting") != 0 && strcmp(state, "running") != 0;
        if (*over)
            print_line(job);
        json_decref(job);
    }
    buf_deinit(&a.bytes);
    return s;
}

static int wait_for(const struct asked *o, const char *number, struct error *err)
{
    const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000l};
    bool over = false, well = false;
    enum status s = STATUS_OK;

    while (s == STATUS_OK && !over) {
        s = look(o, number, &over, &well, err);
        if (s == STATUS_OK && !over)
            nanosleep(&pause, NULL);
    }
    return s != STATUS_OK ? status_exit_code(s) : well ? 0 : 1;
}

static bool is_number(const char *text)
{
    const size_t n = strlen(text);

    return n > 0 && n < 10 && strspn(text, "0123456789") == n;
}

/* -1: that is no command. */
static int run(const struct asked *o, int argc, char **argv, struct error *err)
{
    static const char *const files[] = {"log", "summary", "scores", "without", "answers"};
    static const char *const kinds[] = {"train", "align", "predict", "contribute"};
    const char *what = argc > 0 ? argv[0] : "";
    char path[16];

    if (argc == 1 && strcmp(what, "list") == 0)
        return status_exit_code(list(o, err));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((argc == 3 || (argc == 2 && i >= 2 && o->alignment != NULL)) &&
            strcmp(what, "submit") == 0 && strcmp(argv[1], kinds[i]) == 0)
            return status_exit_code(submit(o, argv[1], argc == 3 ? argv[2] : NULL, err));
    if (argc != 2 || !is_number(argv[1]))
        return -1;
    if (strcmp(what, "wait") == 0)
        return wait_for(o, argv[1], err);
    if (strcmp(what, "show") == 0)
        return status_exit_code(about(o, "GET", argv[1], "", err));
    if (strcmp(what, "cancel") == 0)
        return status_exit_code(about(o, "DELETE", argv[1], "", err));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "/%s", files[i]);
        if (strcmp(what, files[i]) == 0)
            return status_exit_code(about(o, "GET", argv[1], path, err));
    }
    return -1;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"state", required_argument, NULL, 's'},
                                            {"model", required_argument, NULL, 'm'},
                                            {"alignment", required_argument, NULL, 'l'},
                                            {"absent", required_argument, NULL, 'a'},
                                            {"min-parties", required_argument, NULL, 'p'},
                                            {"permutations", required_argument, NULL, 'n'},
                                            {"columns", required_argument, NULL, 'c'},
                                            {"by", required_argument, NULL, 'b'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct asked o = {.state = "."};
    struct error err = {0};
    int c, code;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (c) {
        case 's': o.state = optarg; break;
        case 'm': o.model = optarg; break;
        case 'l': o.alignment = optarg; break;
        case 'a': o.absent = optarg; break;
        case 'b': o.by = optarg; break;
        case 'p': o.min_parties = is_number(optarg) ? atoi(optarg) : -1; break;
        case 'n': o.permutations = is_number(optarg) ? atoi(optarg) : -1; break;
        case 'c': o.columns = optarg; break;
        case 'h': fputs(usage, stdout); return 0;
        default: fputs(usage, stderr); return 2;
        }
    }
    if (o.min_parties < 0 || o.permutations < 0) {
        fprintf(stderr, "vfl job: --%s expected\n",
                o.min_parties < 0 ? "min-parties: a number of parties" : "permutations: a number");
        return 2;
    }
    code = run(&o, argc - optind, argv + optind, &err);
    if (code < 0) {
        fputs(usage, stderr);
        return 2;
    }
    if (err.status != STATUS_OK)
        fprintf(stderr, "vfl job: %s\n", err.text);
    return code;
}
