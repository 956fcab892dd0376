/* Our messages on a command line, for tests in other languages.
 *
 *   message_tool FROM TO < frame > frame
 *
 * Reads one message that role FROM sends to role TO and writes it again. Exit: 0, 1 when it is
 * refused (the reason is printed on stderr), 2 for wrong usage.
 */
#include <stdio.h>
#include <string.h>

#include "proto/wire/limits.h"
#include "proto/wire/message.h"

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2 };

static bool find_role(const char *name, enum identity_role *out_role)
{
    for (int i = 0; i < ROLE_COUNT; i++) {
        if (strcmp(role_names[i], name) == 0) {
            *out_role = (enum identity_role)i;
            return true;
        }
    }
    return false;
}

static int answer(const struct buf *frame, struct message_way way)
{
    union message message;
    struct fault fault;
    struct buf out;

    if (message_get(buf_peek(frame), frame->length, way, &message, &fault) != STATUS_OK) {
        fprintf(stderr, "%s\n", fault.text);
        return EXIT_REFUSED;
    }
    buf_init(&out, (size_t)LIMIT_FRAME * 2);
    if (message_put(&message, &out) == STATUS_OK)
        fwrite(out.data, 1, out.length, stdout);
    message_done(&message);
    buf_done(&out);
    return 0;
}

int main(int argc, char **argv)
{
    char chunk[4096];
    size_t length;
    struct message_way way;
    struct buf frame;
    int code;

    if (argc != 3 || !find_role(argv[1], &way.from) || !find_role(argv[2], &way.to))
        return EXIT_USAGE;
    buf_init(&frame, LIMIT_FRAME);
    while ((length = fread(chunk, 1, sizeof chunk, stdin)) > 0)
        buf_append(&frame, chunk, length);
    code = answer(&frame, way);
    buf_done(&frame);
    return code;
}
