/* JSON as msgpack, so that a test can write what no record would. */
#ifndef SONDE_TESTS_PACK_JSON_H
#define SONDE_TESTS_PACK_JSON_H

#include "proto/base/buf.h"

/* Appends the value that the text holds; a text that is no JSON aborts. */
void pack_json(const char *text, struct buf *out_bytes);

#endif
