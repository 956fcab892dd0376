/* Owns the line on stderr. Knows nothing of measuring. */
#include "controller/command/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/text.h"

void progress_init(struct progress *progress, const struct plan *plan, double whole_s)
{
    *progress = (struct progress){ .live = isatty(STDERR_FILENO) == 1,
                                   .cases = plan_case_count(plan),
                                   .whole_s = whole_s };
}

static void label_case(struct progress *progress, size_t index, const struct case_params *params)
{
    char payload[TEXT_QUANTITY_SIZE];

    text_grouped(params->payload, payload);
    snprintf(progress->label, sizeof progress->label,
             "[%zu/%zu] %s B, window %lld, %s, repeat %lld", index + 1, progress->cases, payload,
             (long long)params->window, engine_names[params->engine], (long long)params->repeat);
}

void progress_begin(struct progress *progress, size_t index, const struct case_params *params,
                    double at_most_s)
{
    progress->case_s = at_most_s;
    progress->case_began = mono_now();
    if (params == NULL)
        snprintf(progress->label, sizeof progress->label, "listening to the idle machine");
    else
        label_case(progress, index, params);
    if (params == NULL && !progress->live)
        fprintf(stderr, "%s for %.3g s\n", progress->label, at_most_s);
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

static void print_outcome(const struct progress *progress, const struct case_result *result)
{
    char lost[TEXT_QUANTITY_SIZE];

    text_grouped(result->phases.measure.lost_echoes, lost);
    if (result->status == CASE_ERROR)
        fprintf(stderr, "%s: error: %s\n", progress->label, result->error);
    else if (result->status == CASE_FAIL)
        fprintf(stderr, "%s: fail, %s echoes lost\n", progress->label, lost);
    else
        fprintf(stderr, "%s: pass, %.0f echoes/s\n", progress->label,
                result->phases.measure.echoes_per_second);
}

void progress_end(struct progress *progress, const struct case_result *result)
{
    progress->done_s += progress->case_s;
    if (result == NULL)
        return;
    progress->failed += result->status != CASE_PASS;
    if (!progress->live)
        print_outcome(progress, result);
}

void progress_done(struct progress *progress)
{
    if (progress->live)
        fprintf(stderr, "\r\033[K");
}
