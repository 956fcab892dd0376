/* Owns the form of what a task says. Must not know when, or why. */
#include "agent/task_say.h"

#include "proto/base/text.h"

enum status task_say(const struct task_voice *voice, const void *message)
{
    struct buf bytes;
    enum status status;

    buf_init(&bytes, LIMIT_FRAME);
    status = message_put(message, &bytes);
    if (status == STATUS_OK)
        status = mailbox_post(voice->mailbox, bytes.data, bytes.length);
    buf_done(&bytes);
    return status;
}

enum status task_say_opened(const struct task_voice *voice, uint16_t port)
{
    struct message_opened opened;

    message_init(&opened, MESSAGE_OPENED);
    text_copy(opened.session, sizeof opened.session, voice->session);
    opened.port = port;
    return task_say(voice, &opened);
}

enum status task_say_refused(const struct task_voice *voice, const char *reason)
{
    struct message_refused refused;

    message_init(&refused, MESSAGE_REFUSED);
    text_copy(refused.session, sizeof refused.session, voice->session);
    text_copy(refused.reason, sizeof refused.reason, reason);
    return task_say(voice, &refused);
}

enum status task_say_begun(const struct task_voice *voice, enum phase_kind phase)
{
    struct message_begun begun;

    message_init(&begun, MESSAGE_BEGUN);
    text_copy(begun.session, sizeof begun.session, voice->session);
    begun.phase = phase;
    return task_say(voice, &begun);
}

enum status task_say_ended(const struct task_voice *voice, enum phase_kind phase)
{
    struct message_ended ended;

    message_init(&ended, MESSAGE_ENDED);
    text_copy(ended.session, sizeof ended.session, voice->session);
    ended.phase = phase;
    return task_say(voice, &ended);
}

static enum status say_closed(const struct task_voice *voice, const char *result)
{
    struct message_closed closed;

    message_init(&closed, MESSAGE_CLOSED);
    text_copy(closed.session, sizeof closed.session, voice->session);
    text_copy(closed.result, sizeof closed.result, result);
    return task_say(voice, &closed);
}

static enum status say_failed(const struct task_voice *voice, const char *reason,
                              const char *result)
{
    struct message_failed failed;

    message_init(&failed, MESSAGE_FAILED);
    text_copy(failed.session, sizeof failed.session, voice->session);
    text_copy(failed.result, sizeof failed.result, result);
    text_copy(failed.reason, sizeof failed.reason, reason);
    return task_say(voice, &failed);
}

enum status task_say_over(const struct task_voice *voice, const char *broken, const char *result)
{
    return broken[0] == '\0' ? say_closed(voice, result) : say_failed(voice, broken, result);
}
