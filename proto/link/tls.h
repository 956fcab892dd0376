/* One TLS 1.3 connection, bytes in and bytes out, no I/O and no clock of its own. Both sides show
 * certificates; ALPN "sonde/1". OpenSSL over memory BIOs.
 */
#ifndef SONDE_LINK_TLS_H
#define SONDE_LINK_TLS_H

#include "proto/base/buf.h"
#include "proto/link/tls_context.h"

enum tls_side { TLS_CLIENT, TLS_SERVER };

struct tls;

/* `server_name` (client): sent as SNI and, when `check_name`, demanded among the certificate's DNS
 * or IP names; NULL for none. Certificates are judged by `now`. The context may be freed
 * afterwards. A first tls_input without bytes begins the handshake. */
struct tls *tls_new(const struct tls_context *context, enum tls_side side, const char *server_name,
                    bool check_name, struct wall now);
void tls_free(struct tls *tls);

/* Takes bytes from the network and goes on as far as they reach. Decrypted bytes are appended to
 * `out_plain` (its cap is what bounds them: STATUS_TOO_LARGE). STATUS_DENIED: the other side or its
 * certificate was refused, or it refused ours; STATUS_INVALID: not TLS, or broken. The fault says
 * why in words ("certificate revoked", "the other side says: unknown CA", "no certificate"). After
 * a failure the connection is dead, but tls_output may still hold the alert. */
enum status tls_input(struct tls *tls, const void *bytes, size_t length, struct buf *out_plain,
                      struct fault *fault) must_check;

/* Encrypts; all of it goes to the output. Only after tls_is_open. */
enum status tls_write(struct tls *tls, const void *bytes, size_t length,
                      struct fault *fault) must_check;

/* Appends what is to go to the network. */
void tls_output(struct tls *tls, struct buf *out_bytes);
size_t tls_output_pending(const struct tls *tls);

/* The handshake is over on our side (TLS 1.3: the server may still refuse our certificate). */
bool tls_is_open(const struct tls *tls);

/* The other side sent close_notify. */
bool tls_is_ended(const struct tls *tls);

/* Queues close_notify. */
void tls_close(struct tls *tls);

/* The identity in the other side's certificate: exactly one URI SAN, of our trust domain, whose
 * role is one of `roles` (a set of 1 << enum identity_role). The fault names what is wrong. */
enum status tls_identity(const struct tls *tls, unsigned roles, struct identity *out_identity,
                         struct fault *fault) must_check;

/* Whether a context that came later has the other side's certificate among the revoked. */
bool tls_is_revoked(const struct tls *tls, const struct tls_context *context);

/* When the other side's certificate ends. */
struct wall tls_peer_expires(const struct tls *tls);

#endif
