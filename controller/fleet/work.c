/* Owns what the kinds of work have in common and where they differ. Must not know how a run is
 * measured, stored or shown. */
#include "controller/fleet/work.h"

#include <assert.h>
#include <string.h>

#include "proto/wire/record_table.h"

static const struct field work_fields[] = {
    CHOICE(struct work, kind, work_kind_names, WORK_KIND_COUNT, "what is measured"),
    { FIELD_AT(struct work, plan), .type = FIELD_INLINE, .record = &plan_record,
      .when = offsetof(struct work, kind) + 1, .when_value = WORK_CASES },
    { FIELD_AT(struct work, mtu_plan), .type = FIELD_INLINE, .record = &mtu_plan_record,
      .when = offsetof(struct work, kind) + 1, .when_value = WORK_MTU },
};
const struct record work_record = RECORD(work, work_fields);

const char *const work_report_names[] = { "report", "mtu_report" };

bool work_is_report(const char *result_kind)
{
    for (size_t i = 0; i < WORK_KIND_COUNT; i++) {
        if (strcmp(result_kind, work_report_names[i]) == 0)
            return true;
    }
    return false;
}

void work_take(struct message_run *order, struct work *out_work)
{
    *out_work = (struct work){ .kind = order->kind,
                               .plan = order->of_cases.plan,
                               .mtu_plan = order->of_mtu.plan };
    record_init(&plan_record, &order->of_cases.plan);
    record_init(&mtu_plan_record, &order->of_mtu.plan);
}

void work_copy(const struct work *work, struct work *out_work)
{
    record_init(&work_record, out_work);
    out_work->kind = work->kind;
    if (work->kind == WORK_CASES)
        plan_copy(&work->plan, &out_work->plan);
    else
        mtu_plan_copy(&work->mtu_plan, &out_work->mtu_plan);
}

size_t work_count(const struct work *work)
{
    return work->kind == WORK_CASES ? plan_case_count(&work->plan)
                                    : mtu_plan_sessions(&work->mtu_plan);
}

size_t work_rows(const struct work *work)
{
    return work->kind == WORK_CASES ? work_count(work) : MTU_DIRECTION_COUNT * work_count(work);
}

int64_t work_case_of(enum work_kind kind, int64_t row)
{
    return kind == WORK_CASES ? row : row / MTU_DIRECTION_COUNT;
}

enum family work_family(const struct work *work, int64_t index)
{
    return work->kind == WORK_CASES ? work->plan.common.family
                                    : mtu_plan_session(&work->mtu_plan, (size_t)index).family;
}

bool work_is_exclusive(const struct work *work)
{
    return work->kind == WORK_CASES ? work->plan.common.interval_ns == 0
                                    : work->mtu_plan.common.sizes > 0;
}

bool work_is_alike(const struct work *work)
{
    return work->kind == WORK_CASES;
}

bool work_has_halves(const struct work *work)
{
    return work->kind == WORK_MTU;
}

static size_t case_phases(const struct case_common *common,
                          struct work_phase out_phases[WORK_PHASES_MAX])
{
    size_t count = 0;

    if (common->warmup_s > 0)
        out_phases[count++] =
            (struct work_phase){ PHASE_WARMUP, END_SENDER, common->warmup_s + WORK_DRAIN_S };
    out_phases[count++] =
        (struct work_phase){ PHASE_MEASURE, END_SENDER, common->seconds + WORK_DRAIN_S };
    return count;
}

static size_t mtu_phases(const struct mtu_params *params,
                         struct work_phase out_phases[WORK_PHASES_MAX])
{
    static const enum phase_kind kinds[] = { PHASE_FORWARD, PHASE_REVERSE };
    size_t count = 0;

    for (size_t i = 0; i < WORK_PHASES_MAX; i++) {
        if (mtu_has_phase(&params->common, kinds[i]))
            out_phases[count++] =
                (struct work_phase){ kinds[i], mtu_prober(kinds[i]), mtu_phase_seconds(params) };
    }
    return count;
}

size_t work_phases(const struct work *work, int64_t index,
                   struct work_phase out_phases[WORK_PHASES_MAX])
{
    struct mtu_params params;

    assert((size_t)index < work_count(work));
    if (work->kind == WORK_CASES)
        return case_phases(&work->plan.common, out_phases);
    params = mtu_plan_session(&work->mtu_plan, (size_t)index);
    return mtu_phases(&params, out_phases);
}

double work_idle_s(const struct work *work, int64_t index)
{
    return work->kind == WORK_CASES && index == 0 ? work->plan.idle_s : 0;
}

void work_open(const struct work *work, int64_t index, struct message_open *open)
{
    open->index = index;
    open->kind = work->kind;
    if (work->kind == WORK_CASES) {
        open->of_case.idle_s = work_idle_s(work, index);
        open->of_case.params = plan_case(&work->plan, (size_t)index);
    } else {
        open->of_mtu.params = mtu_plan_session(&work->mtu_plan, (size_t)index);
    }
}
