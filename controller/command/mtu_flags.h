/* What `sonde mtu` and `sonde sizes` are asked for: their flags as one plan. For mtu.c. */
#ifndef SONDE_COMMAND_MTU_FLAGS_H
#define SONDE_COMMAND_MTU_FLAGS_H

#include "controller/command/follow.h"
#include "controller/command/options.h"

struct mtu_request {
    struct follow_flags flags;
    struct follow_pair pair;
    struct mtu_plan plan;

    /* Flags on their way into the plan. */
    int64_t datagrams;
    const char *family;
    bool no_fragments, no_trace;
};

void mtu_request_init(struct mtu_request *out_request);
void mtu_request_done(struct mtu_request *request);

/* The flags of `sonde mtu`, and those of `sonde sizes`. */
enum options_result mtu_request_parse(struct mtu_request *request, int argc, char **argv);
enum options_result sizes_request_parse(struct mtu_request *request, int argc, char **argv);

/* Makes the plan of the families and checks all of it: EXIT_USAGE, and one line, when it is none.
 */
enum exit_code mtu_request_check(const char *command, struct mtu_request *request);

#endif
