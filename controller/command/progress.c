/* Owns the line on stderr. Knows nothing of measuring. */
#include "controller/command/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "proto/base/text.h"

void progress_init(struct progress *progress, double whole_s)
{
    *progress = (struct progress){ .live = isatty(STDERR_FILENO) == 1, .whole_s = whole_s };
}

void progress_begin(struct progress *progress, const char *label, double at_most_s)
{
    progress->case_s = at_most_s;
    progress->case_began = mono_now();
    text_copy(progress->label, sizeof progress->label, label);
    progress_tick(progress, "");
}

void progress_tick(struct progress *progress, const char *note)
{
    double in_case_s = (double)mono_between(progress->case_began, mono_now()) / (double)NS_PER_S;
    double left_s = progress->whole_s - progress->done_s -
                    (in_case_s < progress->case_s ? in_case_s : progress->case_s);
    long left = left_s < 0 ? 0 : (long)(left_s + 0.5);

    if (!progress->live)
        return;
    fprintf(stderr, "\r\033[K%s | %zu failed | at most %ld:%02ld left%s%s", progress->label,
            progress->failed, left / 60, left % 60, *note == '\0' ? "" : " | ", note);
    fflush(stderr);
}

void progress_end(struct progress *progress, bool failed, const char *outcome)
{
    progress->done_s += progress->case_s;
    progress->failed += failed;
    if (!progress->live && *outcome != '\0')
        fprintf(stderr, "%s: %s\n", progress->label, outcome);
}

void progress_say(struct progress *progress, bool failed, const char *text)
{
    progress->failed += failed;
    fprintf(stderr, "%s%s\n", progress->live ? "\r\033[K" : "", text);
}

void progress_done(struct progress *progress)
{
    if (progress->live)
        fprintf(stderr, "\r\033[K");
}

void progress_duration(double seconds, char out_text[PROGRESS_DURATION_SIZE])
{
    long whole = (long)(seconds + 0.5);

    if (whole >= 60)
        snprintf(out_text, PROGRESS_DURATION_SIZE, "%ld min %ld s", whole / 60, whole % 60);
    else
        snprintf(out_text, PROGRESS_DURATION_SIZE, "%.3g s", seconds);
}
