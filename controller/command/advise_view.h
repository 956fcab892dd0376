/* What `sonde advise` found out, and how it looks: text and JSON. Pure. */
#ifndef SONDE_COMMAND_ADVISE_VIEW_H
#define SONDE_COMMAND_ADVISE_VIEW_H

#include "agent/probe/adviser.h"
#include "proto/base/buf.h"
#include "proto/wire/run.h"

#define ADVISE_SCHEMA "sonde.advice/1"

struct advise_view {
    enum family family;
    struct advice_question question;
    struct host machine; /* borrowed lists */
    struct advice_host host;
    struct grant most; /* of the largest ask */
    struct advice advice;
    struct advice_proof proof;
    char no_proof[256]; /* why there is none, "" when there is */
};

/* Appends the answer for people. */
void advise_view_text(const struct advise_view *view, struct buf *out_text);

/* Appends one line of JSON. */
void advise_view_json(const struct advise_view *view, struct buf *out_text);

/* How this system's limit on receive buffers is raised, or "" for a system that is not known: the
 * command of now, and what is to stand in a file so that it outlives a boot. */
enum { ADVISE_LINE_SIZE = 160 };
struct advise_lines {
    char now[ADVISE_LINE_SIZE];
    char file[ADVISE_LINE_SIZE];
    char line[ADVISE_LINE_SIZE];
};
void advise_limit_lines(const struct advise_view *view, struct advise_lines *out_lines);

#endif
