/* link.c -- connections of the server.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "server/link.h"

#include "common/base/check.h"
#include "common/base/clock.h"

#include <stdarg.h>
#include <stdio.h>

enum { FRAME_PREFIX_BYTES = 4 };

void link_count(struct link *k, struct traffic *t, enum traffic_direction d,
                const struct wire_msg *m, size_t frame)
{
    struct traffic_at at = {k->peer, d, (enum traffic_phase)wire_phase_of(m), m->kind};
    const struct net_traffic *now;

    if (!k->joined) /* a stranger's bytes are no party's */
        return;
    now = net_conn_traffic(k->conn);
    traffic_add(t, at, wire_payload_bytes(m), frame + FRAME_PREFIX_BYTES);
    at.direction = TRAFFIC_UP;
    traffic_add_tls(t, at, now->tls_in - k->tls_in);
    at.direction = TRAFFIC_DOWN;
    traffic_add_tls(t, at, now->tls_out - k->tls_out);
    k->tls_in = now->tls_in;
    k->tls_out = now->tls_out;
}

void link_send(struct link *k, struct traffic *t, const struct buf *frame, const struct wire_msg *m)
{
    if (net_send(k->conn, frame->data, frame->len) == STATUS_OK)
        link_count(k, t, TRAFFIC_DOWN, m, frame->len);
}

void link_refuse(struct link *k, struct traffic *t, struct buf *scratch, enum status_kind kind,
                 const char *text)
{
    struct wire_msg m = {.kind = WIRE_REFUSE};

    m.refuse.kind = kind;
    snprintf(m.refuse.text, sizeof m.refuse.text, "%.*s", WIRE_TEXT_MAX, text);
    k->refused = true;
    if (wire_pack(scratch, &m) == STATUS_OK) /* or else it ends without a word */
        link_send(k, t, scratch, &m);
    net_conn_close(k->conn, true);
}

void link_warn(const struct link *k, struct link_few *few, const char *fmt, ...)
{
    const bool joined = k != NULL && k->joined;
    struct log_few *of = joined ? &few->party[k->peer] : &few->strangers;
    char text[ERROR_TEXT_MAX];
    va_list args;

    of->about = joined ? "connections of one party" : NULL;
    if (!log_few_more(of, clock_us()))
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    log_warn("%s", text);
}
