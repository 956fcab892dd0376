/* The flags of a plan that every command which measures one has. */
#ifndef SONDE_COMMAND_PLAN_FLAGS_H
#define SONDE_COMMAND_PLAN_FLAGS_H

#include "controller/command/options.h"

/* For a command's table, whose record has the fields of plan_record. */
#define PLAN_FLAGS                                                                                 \
    { .name = "payload", .argument = "BYTES,...", .field = "payloads" },                           \
        { .name = "window", .argument = "N,...", .field = "windows" },                             \
        { .name = "clients", .argument = "N", .field = "clients" },                                \
        { .name = "repeat", .argument = "N", .field = "repeats" },                                 \
        { .name = "family", .argument = "NAME", .field = "family" },                               \
        { .name = "io-threads", .argument = "N", .field = "io_threads" },                          \
        { .name = "work", .argument = "NS", .field = "work_ns" },                                  \
        { .name = "warmup", .argument = "SECONDS", .field = "warmup_s" },                          \
        { .name = "seconds", .argument = "SECONDS", .field = "seconds" },                          \
        { .name = "interval", .argument = "NS", .field = "interval_ns" },                          \
        { .name = "rcvbuf", .argument = "BYTES", .field = "rcvbuf" },                              \
        { .name = "sndbuf", .argument = "BYTES", .field = "sndbuf" },                              \
    {                                                                                              \
        .name = "idle", .argument = "SECONDS", .field = "idle_s"                                   \
    }

#endif
