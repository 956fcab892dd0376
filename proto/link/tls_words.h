/* Why a TLS connection ended, in words. A part of tls. */
#ifndef SONDE_LINK_TLS_WORDS_H
#define SONDE_LINK_TLS_WORDS_H

#include "proto/base/status.h"

/* Words for an error of OpenSSL's queue (ERR_get_error): an alert of the other side, or what was
 * wrong with what it sent. STATUS_DENIED when it is about certificates, else STATUS_INVALID. */
enum status tls_words(unsigned long error, struct fault *fault) must_check;

#endif
