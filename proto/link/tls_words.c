/* Owns the words for OpenSSL's errors and for TLS alerts (RFC 8446 section 6). Must not know any
 * connection. */
#include "proto/link/tls_words.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stddef.h>

struct words {
    int reason;
    enum status status;
    const char *text;
};

/* What the other side sent as an alert. */
static const struct words alerts[] = {
    { SSL_AD_UNKNOWN_CA, STATUS_DENIED, "unknown CA: it does not know who issued our certificate" },
    { SSL_AD_CERTIFICATE_EXPIRED, STATUS_DENIED, "certificate (or its CRL) expired" },
    { SSL_AD_CERTIFICATE_REVOKED, STATUS_DENIED, "certificate revoked" },
    { SSL_AD_BAD_CERTIFICATE, STATUS_DENIED,
      "bad certificate: not yet valid by its clock, or for another name than it asked for" },
    { SSL_AD_UNSUPPORTED_CERTIFICATE, STATUS_DENIED,
      "unsupported certificate: it is of the wrong purpose" },
    { SSL_AD_CERTIFICATE_UNKNOWN, STATUS_DENIED, "certificate refused" },
    { SSL_AD_ACCESS_DENIED, STATUS_DENIED, "access denied" },
    { SSL_AD_DECRYPT_ERROR, STATUS_DENIED, "decrypt error: our certificate's signature is wrong" },
    { SSL_AD_CERTIFICATE_REQUIRED, STATUS_DENIED, "certificate required" },
    { SSL_AD_NO_APPLICATION_PROTOCOL, STATUS_INVALID, "no application protocol: not sonde/1" },
    { SSL_AD_PROTOCOL_VERSION, STATUS_INVALID, "protocol version: it has no TLS 1.3" },
};

/* What was wrong with what the other side sent. */
static const struct words reasons[] = {
    { SSL_R_HTTP_REQUEST, STATUS_INVALID, "not TLS: this looks like HTTP" },
    { SSL_R_HTTPS_PROXY_REQUEST, STATUS_INVALID, "not TLS: this looks like an HTTP proxy request" },
    { SSL_R_WRONG_VERSION_NUMBER, STATUS_INVALID, "not TLS" },
    { SSL_R_UNSUPPORTED_PROTOCOL, STATUS_INVALID, "TLS too old: 1.3 is needed" },
    { SSL_R_NO_APPLICATION_PROTOCOL, STATUS_INVALID, "does not offer the protocol sonde/1" },
    { SSL_R_CALLBACK_FAILED, STATUS_INVALID, "does not offer the protocol sonde/1" },
    { SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, STATUS_DENIED, "no certificate" },
    { SSL_R_EXCESSIVE_MESSAGE_SIZE, STATUS_INVALID, "handshake message too large" },
    { SSL_R_NO_SHARED_CIPHER, STATUS_INVALID, "no cipher in common" },
    { SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, STATUS_INVALID, "no signature algorithm in common" },
    { SSL_R_BAD_SIGNATURE, STATUS_DENIED, "wrong signature: not the certificate's key" },
};

static const struct words *find(const struct words *table, size_t count, int reason)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].reason == reason)
            return &table[i];
    return NULL;
}

static enum status alert_words(int alert, struct fault *fault)
{
    const struct words *words = find(alerts, sizeof alerts / sizeof alerts[0], alert);

    if (words != NULL)
        return fault_set(fault, words->status, "the other side says: %s", words->text);
    return fault_set(fault, STATUS_INVALID, "the other side says: %s",
                     SSL_alert_desc_string_long(alert));
}

enum status tls_words(unsigned long error, struct fault *fault)
{
    int reason = ERR_GET_REASON(error);
    const struct words *words = NULL;
    const char *text = ERR_reason_error_string(error);

    if (ERR_GET_LIB(error) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET)
        return alert_words(reason - SSL_AD_REASON_OFFSET, fault);
    if (ERR_GET_LIB(error) == ERR_LIB_SSL)
        words = find(reasons, sizeof reasons / sizeof reasons[0], reason);
    if (words != NULL)
        return fault_set(fault, words->status, "%s", words->text);
    return fault_set(fault, STATUS_INVALID, "broken TLS: %s", text != NULL ? text : "no reason");
}
