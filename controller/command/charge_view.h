/* What `sonde charge` measured, and how it looks: text and JSON. Pure. */
#ifndef SONDE_COMMAND_CHARGE_VIEW_H
#define SONDE_COMMAND_CHARGE_VIEW_H

#include "agent/probe/charge.h"
#include "proto/base/buf.h"
#include "proto/wire/run.h"

#define CHARGE_SCHEMA "sonde.charge/1"

struct charge_view_way {
    struct list steps; /* of struct charge_step; empty when not measured */
    char reason[256];  /* why not, "" when measured */
};

struct charge_view {
    enum family family;
    int64_t from, to;
    struct host machine; /* borrowed lists */
    int64_t smallest;    /* the charge of an empty datagram */
    struct charge_view_way ways[CHARGE_WAY_COUNT];
};

/* Appends the tables for people. */
void charge_view_text(const struct charge_view *view, struct buf *out_text);

/* Appends one line of JSON. */
void charge_view_json(const struct charge_view *view, struct buf *out_text);

/* True when both charge the same for every payload that both have. */
bool charge_view_same(const struct list *a, const struct list *b);

/* True when the rule of charge.h gives this step at both ends. */
bool charge_view_predicted(const struct charge_view *view, const struct charge_step *step);

#endif
