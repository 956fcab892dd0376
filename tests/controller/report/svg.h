/* What tests ask of a figure that they cannot look at. */
#ifndef SONDE_TEST_SVG_H
#define SONDE_TEST_SVG_H

#include <stddef.h>

/* How often `part` stands in the text. */
size_t svg_count(const char *svg, const char *part);

/* Widths by our own (wide) estimate: a text that starts in the page must end in it. */
void svg_check_inside(const char *svg);

/* No two texts cover each other. */
void svg_check_apart(const char *svg);

/* Nothing in it comes from a name but text: no script, no handler, no character that steers. */
void svg_check_harmless(const char *svg);

#endif
