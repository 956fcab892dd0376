/* Owns reading what a certificate says: its times, its one URI name, and the words for what a
 * verification found wrong. Must not know files or connections. Names and texts in a certificate
 * are somebody else's bytes: only what identity_parse allows gets into words. */
#include "proto/link/certificate.h"

#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>

enum { SECONDS_PER_DAY = 86400, PHRASE_SIZE = 256 };

#define NAME_FORM "spiffe://TRUST-DOMAIN/ROLE/NAME"

struct wall certificate_time(const ASN1_TIME *time)
{
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days = 0, seconds = 0;
    int64_t total;
    int known = epoch != NULL && ASN1_TIME_diff(&days, &seconds, epoch, time);

    ASN1_TIME_free(epoch);
    if (!known)
        return (struct wall){ 0 };
    total = (int64_t)days * SECONDS_PER_DAY + seconds;
    if (total > INT64_MAX / NS_PER_S)
        return (struct wall){ INT64_MAX };
    if (total < INT64_MIN / NS_PER_S)
        return (struct wall){ INT64_MIN };
    return (struct wall){ total * NS_PER_S };
}

time_t certificate_seconds(struct wall time)
{
    return (time_t)(time.ns / NS_PER_S);
}

static enum status read_names(GENERAL_NAMES *names, struct identity *out_identity,
                              struct fault *fault)
{
    const ASN1_STRING *uri = NULL;
    struct fault why;
    int uris = 0;

    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        if (name->type != GEN_URI)
            continue;
        uri = name->d.uniformResourceIdentifier;
        uris++;
    }
    if (uris == 0)
        return fault_set(fault, STATUS_DENIED,
                         "certificate without a role: it has no URI name; one " NAME_FORM
                         " is needed");
    if (uris > 1)
        return fault_set(fault, STATUS_DENIED,
                         "certificate with %d URI names; exactly one " NAME_FORM " is allowed",
                         uris);
    if (identity_parse((const char *)ASN1_STRING_get0_data(uri), (size_t)ASN1_STRING_length(uri),
                       out_identity, &why) != STATUS_OK)
        return fault_set(fault, STATUS_DENIED, "certificate with a wrong name: %s", why.text);
    return STATUS_OK;
}

enum status certificate_identity(const X509 *certificate, struct identity *out_identity,
                                 struct fault *fault)
{
    int critical = 0;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, NULL);
    enum status status;

    if (names == NULL && critical != -1)
        return fault_set(fault, STATUS_DENIED,
                         "certificate whose names (subjectAltName) cannot be read");
    status = read_names(names, out_identity, fault);
    GENERAL_NAMES_free(names);
    return status;
}

/* At whatever place of the chain. */
static bool is_unknown(int error)
{
    return error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
           error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
           error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
           error == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
           error == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
           error == X509_V_ERR_CERT_UNTRUSTED;
}

/* Errors whose words need no time. */
static const char *plain_words(int error)
{
    if (is_unknown(error))
        return "of an unknown CA";
    switch (error) {
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return "not signed by our CA: another CA has the same name";
    case X509_V_ERR_CERT_REVOKED:
        return "revoked";
    case X509_V_ERR_INVALID_PURPOSE:
        return "of the wrong purpose: a client needs the extended key usage clientAuth, a server "
               "serverAuth";
    case X509_V_ERR_INVALID_CA:
        return "not allowed to issue certificates (basicConstraints)";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "for another name than the one that was connected to";
    case X509_V_ERR_UNABLE_TO_GET_CRL:
        return "cannot be checked: the CRL file has none of its CA";
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
        return "cannot be checked: its CA did not sign the CRL";
    default:
        return NULL;
    }
}

/* Errors that say something about now. */
static void timed_words(X509_STORE_CTX *verification, struct wall now, char *out, size_t size)
{
    const X509 *certificate = X509_STORE_CTX_get_current_cert(verification);
    const X509_CRL *crl = X509_STORE_CTX_get0_current_crl(verification);
    int error = X509_STORE_CTX_get_error(verification);
    const char *words = NULL;
    const ASN1_TIME *moment = NULL;
    char then[WALL_TEXT_SIZE], local[WALL_TEXT_SIZE];

    if (error == X509_V_ERR_CERT_NOT_YET_VALID && certificate != NULL) {
        words = "not yet valid: it begins at";
        moment = X509_get0_notBefore(certificate);
    } else if (error == X509_V_ERR_CERT_HAS_EXPIRED && certificate != NULL) {
        words = "expired at";
        moment = X509_get0_notAfter(certificate);
    } else if (error == X509_V_ERR_CRL_NOT_YET_VALID && crl != NULL) {
        words = "cannot be checked: the CRL is not yet valid, it begins at";
        moment = X509_CRL_get0_lastUpdate(crl);
    } else if (error == X509_V_ERR_CRL_HAS_EXPIRED && crl != NULL) {
        words = "cannot be checked: the CRL expired at";
        moment = X509_CRL_get0_nextUpdate(crl);
    }
    if (moment == NULL) {
        snprintf(out, size, "refused: %s", X509_verify_cert_error_string(error));
        return;
    }
    wall_format(certificate_time(moment), then);
    wall_format(now, local);
    snprintf(out, size, "%s %s, local time is %s", words, then, local);
}

void certificate_refusal(X509_STORE_CTX *verification, struct wall now, struct fault *out_words)
{
    int error = X509_STORE_CTX_get_error(verification);
    const char *words = plain_words(error);
    bool is_ca = X509_STORE_CTX_get_error_depth(verification) > 0 && !is_unknown(error);
    const X509 *leaf = X509_STORE_CTX_get0_cert(verification);
    char phrase[PHRASE_SIZE], uri[IDENTITY_URI_SIZE];
    struct identity identity;

    if (words == NULL) {
        timed_words(verification, now, phrase, sizeof phrase);
        words = phrase;
    }
    if (leaf == NULL || certificate_identity(leaf, &identity, NULL) != STATUS_OK) {
        fault_set(out_words, STATUS_DENIED, "certificate%s %s", is_ca ? "'s CA" : "", words);
        return;
    }
    identity_format(&identity, uri);
    fault_set(out_words, STATUS_DENIED, "certificate%s %s (%s)", is_ca ? "'s CA" : "", words, uri);
}
