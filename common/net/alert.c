/* alert.c -- TLS alerts in words.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/net/alert.h"

#include <stddef.h>

enum alert_meaning {
    ALERT_CERTIFICATE, /* the peer does not like this side's certificate */
    ALERT_VERSION,
    ALERT_ALPN,
    ALERT_OTHER,
};

static const struct {
    int number;
    enum alert_meaning meaning;
    const char *words;
} alerts[] = {
    {10, ALERT_OTHER, "unexpected message"},
    {20, ALERT_OTHER, "bad record mac"},
    {22, ALERT_OTHER, "record overflow"},
    {40, ALERT_OTHER, "handshake failure"},
    {42, ALERT_CERTIFICATE, "bad certificate"},
    {43, ALERT_CERTIFICATE, "unsupported certificate"},
    {44, ALERT_CERTIFICATE, "certificate revoked"},
    {45, ALERT_CERTIFICATE, "certificate expired"},
    {46, ALERT_CERTIFICATE, "certificate unknown"},
    {47, ALERT_OTHER, "illegal parameter"},
    {48, ALERT_CERTIFICATE, "unknown ca"},
    {49, ALERT_CERTIFICATE, "access denied"},
    {50, ALERT_OTHER, "decode error"},
    {51, ALERT_OTHER, "decrypt error"},
    {70, ALERT_VERSION, "protocol version"},
    {71, ALERT_OTHER, "insufficient security"},
    {80, ALERT_OTHER, "internal error"},
    {109, ALERT_OTHER, "missing extension"},
    {110, ALERT_OTHER, "unsupported extension"},
    {116, ALERT_CERTIFICATE, "certificate required"},
    {120, ALERT_ALPN, "no application protocol"},
};

enum status alert_explain(int alert, bool server, struct error *err)
{
    enum alert_meaning meaning = ALERT_OTHER;
    const char *words = "unknown";

    for (size_t i = 0; i < sizeof alerts / sizeof alerts[0]; i++)
        if (alerts[i].number == alert) {
            meaning = alerts[i].meaning;
            words = alerts[i].words;
        }
    switch (meaning) {
    case ALERT_CERTIFICATE:
        if (server)
            return error_set(err, STATUS_AUTH,
                             "the client refused this server's certificate (alert: %s)", words);
        return error_set(err, STATUS_IDENTITY,
                         "server refused this side's certificate (alert: %s): "
                         "check identity.cert and the CA",
                         words);
    case ALERT_VERSION: return error_set(err, STATUS_PROTOCOL, "peer does not speak TLS 1.3");
    case ALERT_ALPN: return error_set(err, STATUS_PROTOCOL, "peer does not speak vfl/1 (ALPN)");
    case ALERT_OTHER: break;
    }
    return error_set(err, STATUS_PROTOCOL, "peer ended the connection (alert %d: %s); see its log",
                     alert, words);
}
