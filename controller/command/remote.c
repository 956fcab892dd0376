/* Owns an operator's one connection: a loop that is turned while something is waited for. Knows no
 * command. */
#include "controller/command/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/report/archive.h"
#include "proto/base/memory.h"
#include "proto/base/text.h"
#include "proto/link/channel.h"
#include "proto/wire/limits.h"

enum { INBOX_MAX = 4096, OUTBOUND_CAP = 4 << 20 };

#define CONNECT_NS (15 * NS_PER_S)
#define TURN_NS    (100 * NS_PER_MS)

struct letter {
    struct letter *next;
    union message message;
};

struct remote {
    struct loop *loop;
    struct tls_context *context;
    struct channel *channel;
    channel_peer peer;
    bool up, down;
    char reason[FAULT_TEXT_SIZE];
    int64_t requests;
    struct letter *first, *last; /* what has come and was not taken */
    size_t waiting;
};

/* --- events ----------------------------------------------------------------------------------- */

static void on_up(void *context, channel_peer peer, const struct identity *identity,
                  const char *address)
{
    struct remote *remote = context;

    (void)peer, (void)identity, (void)address;
    remote->up = true;
}

static void on_down(void *context, channel_peer peer, bool was_up, const char *reason)
{
    struct remote *remote = context;

    (void)peer, (void)was_up;
    remote->down = true;
    text_copy(remote->reason, sizeof remote->reason, reason);
}

static void on_message(void *context, channel_peer peer, const void *bytes, size_t length)
{
    struct remote *remote = context;
    struct letter *letter = memory_new(1, sizeof *letter);
    struct fault fault = { "" };
    enum status status =
        message_get(bytes, length, (struct message_way){ ROLE_CONTROLLER, ROLE_OPERATOR },
                    &letter->message, &fault);

    if (status == STATUS_OK && remote->waiting < INBOX_MAX) {
        if (remote->last != NULL)
            remote->last->next = letter;
        else
            remote->first = letter;
        remote->last = letter;
        remote->waiting++;
        return;
    }
    if (status == STATUS_OK)
        message_done(&letter->message);
    free(letter);
    channel_close(remote->channel, peer,
                  status == STATUS_OK ? "too many messages at once" : fault.text);
}

/* --- connecting ------------------------------------------------------------------------------- */

static const char *setting(const char *flag, const char *variable, const char *otherwise)
{
    const char *value = flag != NULL ? flag : getenv(variable);

    return value != NULL && *value != '\0' ? value : otherwise;
}

static enum status find_files(const struct remote_flags *flags, struct tls_files *out_files,
                              struct fault *fault)
{
    const char *home = getenv("HOME");
    char folder[4000], crl[4096];
    FILE *probe;

    snprintf(folder, sizeof folder, "%s/.sonde", home != NULL ? home : "");
    if (!text_copy(folder, sizeof folder, setting(flags->identity, "SONDE_IDENTITY", folder)))
        return fault_set(fault, STATUS_TOO_LARGE, "--identity: this path is too long");
    *out_files = (struct tls_files){ .ca = "" };
    snprintf(out_files->ca, sizeof out_files->ca, "%s/ca.pem", folder);
    snprintf(out_files->certificate, sizeof out_files->certificate, "%s/operator.pem", folder);
    snprintf(out_files->key, sizeof out_files->key, "%s/operator-key.pem", folder);
    snprintf(crl, sizeof crl, "%s/crl.pem", folder);
    probe = fopen(crl, "re");
    if (probe != NULL) {
        fclose(probe);
        text_copy(out_files->crl, sizeof out_files->crl, crl);
    }
    return STATUS_OK;
}

/* "host" becomes "host:7862"; an IPv6 address needs its brackets. */
static void complete_address(const char *given, char *out_address, size_t size)
{
    const char *colon = strrchr(given, ':');
    bool has_port = colon != NULL && (strchr(given, ':') == colon || colon[-1] == ']');

    if (has_port)
        snprintf(out_address, size, "%s", given);
    else if (colon != NULL && given[0] != '[')
        snprintf(out_address, size, "[%s]:7862", given);
    else
        snprintf(out_address, size, "%s:7862", given);
}

static enum status connect_now(struct remote *remote, const char *address, struct fault *fault)
{
    static const struct channel_rules rules = { .roles = 1 << ROLE_CONTROLLER,
                                                .peers_max = 1,
                                                .strangers_max = 1,
                                                .outbound_cap = OUTBOUND_CAP,
                                                .outbound_all_cap = OUTBOUND_CAP };
    const struct channel_events events = {
        .context = remote, .up = on_up, .message = on_message, .down = on_down
    };
    const struct channel_setup setup = { .context = remote->context,
                                         .rules = &rules,
                                         .events = &events };
    const struct channel_target target = { .address = address };
    enum status status = channel_new(remote->loop, &setup, &remote->channel, fault);

    if (status != STATUS_OK)
        return status;
    return channel_connect(remote->channel, &target, &remote->peer, fault);
}

static enum status wait_up(struct remote *remote, const char *address, struct fault *fault)
{
    struct mono end = mono_after(mono_now(), CONNECT_NS);

    while (!remote->up && !remote->down && mono_between(mono_now(), end) > 0)
        loop_turn(remote->loop, TURN_NS);
    if (remote->up && !remote->down)
        return STATUS_OK;
    return fault_set(fault, STATUS_IO, "the controller at %s cannot be used: %s", address,
                     remote->down ? remote->reason : "no answer (is it running there?)");
}

enum status remote_open(const struct remote_flags *flags, struct remote **out_remote,
                        struct fault *fault)
{
    struct remote *remote = memory_new(1, sizeof *remote);
    const char *given = setting(flags->controller, "SONDE_CONTROLLER", "127.0.0.1");
    struct tls_files files;
    char address[300];
    enum status status = find_files(flags, &files, fault);

    complete_address(given, address, sizeof address);
    if (status == STATUS_OK)
        status = tls_context_new(&files, ROLE_OPERATOR, wall_now(), &remote->context, fault);
    if (status == STATUS_OK)
        status = loop_new(&remote->loop, fault);
    if (status == STATUS_OK)
        status = connect_now(remote, address, fault);
    if (status == STATUS_OK)
        status = wait_up(remote, address, fault);
    if (status != STATUS_OK) {
        remote_close(remote);
        return status;
    }
    *out_remote = remote;
    return STATUS_OK;
}

static struct letter *take_letter(struct remote *remote)
{
    struct letter *letter = remote->first;

    if (letter == NULL)
        return NULL;
    remote->first = letter->next;
    if (remote->first == NULL)
        remote->last = NULL;
    remote->waiting--;
    return letter;
}

void remote_close(struct remote *remote)
{
    struct letter *letter;

    if (remote == NULL)
        return;
    channel_free(remote->channel);
    if (remote->loop != NULL)
        loop_free(remote->loop);
    tls_context_free(remote->context);
    while ((letter = take_letter(remote)) != NULL) {
        message_done(&letter->message);
        free(letter);
    }
    free(remote);
}

/* --- asking ------------------------------------------------------------------------------------
 */

int64_t remote_request(struct remote *remote)
{
    return ++remote->requests;
}

enum status remote_send(struct remote *remote, const void *message, struct fault *fault)
{
    struct buf frame;
    enum status status;

    buf_init(&frame, LIMIT_FRAME);
    status = message_put(message, &frame);
    if (status == STATUS_OK)
        status = channel_send(remote->channel, remote->peer, frame.data, frame.length);
    buf_done(&frame);
    if (status == STATUS_NOT_FOUND || remote->down)
        return fault_set(fault, STATUS_IO, "the connection to the controller is lost: %s",
                         remote->reason);
    if (status != STATUS_OK)
        return fault_set(fault, status, "the request could not be sent: %s", status_text(status));
    return STATUS_OK;
}

enum status remote_receive(struct remote *remote, int64_t timeout_ns, union message *out_message,
                           struct fault *fault)
{
    struct mono end = mono_after(mono_now(), timeout_ns);
    struct letter *letter = take_letter(remote);
    int64_t left = timeout_ns;

    while (letter == NULL && !remote->down && left > 0) {
        loop_turn(remote->loop, left < TURN_NS ? left : TURN_NS);
        letter = take_letter(remote);
        left = mono_between(mono_now(), end);
    }
    if (letter != NULL) {
        *out_message = letter->message;
        free(letter);
        return STATUS_OK;
    }
    if (remote->down)
        return fault_set(fault, STATUS_IO, "the connection to the controller is lost: %s",
                         remote->reason);
    return STATUS_AGAIN;
}

/* The number of the request that a message answers; -1 for one that answers none. */
static int64_t answered(const union message *message)
{
    size_t base = 0;
    const struct field *field = record_field(message_kinds[message->type].record, "request", &base);

    if (field == NULL)
        return -1;
    return *(const int64_t *)(const void *)((const char *)message + base + field->offset);
}

static enum status wait_answer(struct remote *remote, int64_t number, union message *out_answer,
                               struct fault *fault)
{
    struct mono end = mono_after(mono_now(), REMOTE_ANSWER_NS);
    int64_t left = REMOTE_ANSWER_NS;

    while (left > 0) {
        enum status status = remote_receive(remote, left, out_answer, fault);

        if (status != STATUS_OK && status != STATUS_AGAIN)
            return status;
        if (status == STATUS_OK) {
            if (answered(out_answer) == number)
                return STATUS_OK;
            message_done(out_answer);
        }
        left = mono_between(mono_now(), end);
    }
    return fault_set(fault, STATUS_AGAIN, "the controller has not answered within %lld s",
                     (long long)(REMOTE_ANSWER_NS / NS_PER_S));
}

/* What came is the answer that was wanted, or says why there is none. */
static enum status check_answer(union message *answer, enum message_type wanted,
                                struct fault *fault)
{
    enum message_type type = answer->type;

    if (type == wanted)
        return STATUS_OK;
    if (type == MESSAGE_ERROR)
        fault_set(fault, STATUS_INVALID, "%s", answer->error.reason);
    else
        fault_set(fault, STATUS_INVALID, "the controller answered \"%s\" and not \"%s\"",
                  message_names[type], message_names[wanted]);
    message_done(answer);
    return STATUS_INVALID;
}

enum status remote_ask(struct remote *remote, const void *request, enum message_type wanted,
                       union message *out_answer, struct fault *fault)
{
    int64_t number = answered(request);
    enum status status = remote_send(remote, request, fault);

    if (status == STATUS_OK)
        status = wait_answer(remote, number, out_answer, fault);
    if (status == STATUS_OK)
        status = check_answer(out_answer, wanted, fault);
    return status;
}

/* --- archives ----------------------------------------------------------------------------------
 */

/* Pieces come in order, or something is wrong. */
static enum status add_part(struct buf *text, const struct message_part *part, struct fault *fault)
{
    if (part->offset != (int64_t)text->length)
        return fault_set(fault, STATUS_CORRUPT, "a part of the archive is missing");
    buf_append(text, part->data.data, part->data.length);
    if (buf_status(text) != STATUS_OK)
        return fault_set(fault, STATUS_TOO_LARGE, "the archive is larger than %d MiB",
                         LIMIT_JSON_BYTES >> 20);
    if (part->last && part->total != (int64_t)text->length)
        return fault_set(fault, STATUS_CORRUPT, "the end of the archive is missing");
    return STATUS_OK;
}

static enum status fetch_text(struct remote *remote, const char *run, struct buf *text,
                              struct fault *fault)
{
    struct message_show show;
    union message answer = { .type = MESSAGE_PING };
    bool last = false;
    enum status status;

    message_init(&show, MESSAGE_SHOW);
    show.request = remote_request(remote);
    text_copy(show.run, sizeof show.run, run);
    status = remote_ask(remote, &show, MESSAGE_PART, &answer, fault);
    while (status == STATUS_OK) {
        status = add_part(text, &answer.part, fault);
        last = answer.part.last;
        message_done(&answer);
        if (status != STATUS_OK || last)
            break;
        status = wait_answer(remote, show.request, &answer, fault);
        if (status == STATUS_OK)
            status = check_answer(&answer, MESSAGE_PART, fault);
    }
    return status;
}

enum status remote_fetch_run(struct remote *remote, const char *run, struct run *out_run,
                             struct fault *fault)
{
    struct fault why = { "" };
    struct run fetched;
    struct buf text;
    enum status status;

    buf_init(&text, LIMIT_JSON_BYTES);
    status = fetch_text(remote, run, &text, fault);
    if (status == STATUS_OK) {
        status = archive_parse(&text, &fetched, &why);
        if (status != STATUS_OK)
            (void)fault_set(fault, status, "the controller's archive of the run is bad: %s",
                            why.text);
    }
    buf_done(&text);
    if (status != STATUS_OK)
        return status;
    if (fetched.kind == RUN_PAIR || fetched.kind == RUN_MTU) {
        *out_run = fetched;
        return STATUS_OK;
    }
    (void)fault_set(fault, STATUS_CORRUPT, "the controller's run is of kind %s: not between hosts",
                    run_kind_names[fetched.kind]);
    run_done(&fetched);
    return STATUS_CORRUPT;
}
