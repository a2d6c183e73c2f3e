/* liana replay: runs a bundle of bad numbers again, node by node. */
#include "base/context.h"
#include "base/scoped.h"
#include "cli/session.h"
#include "train/training/bundle.h"

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)

static const liana__option options[] = {{LIANA__OPTION_JSON}, {0}};

/* The difference between the two machines; NULL: they found the same. */
static const char *find_difference(const liana__value *recorded, const liana__value *found)
{
    static const char *const members[] = {"reproduced", "kind", "op", "name", "layer", "type", "bad_result"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const liana__value *before = liana__value_get(recorded, members[i]), *now = liana__value_get(found, members[i]);
        if (!before && !now) continue;
        if (!before || !now || !liana__value_equal(before, now)) return members[i];
    }
    return NULL;
}

static bool is_reproduced(const liana__value *finding)
{
    const liana__value *value = liana__value_get(finding, "reproduced");
    return value && value->kind == LIANA__VALUE_BOOL && value->boolean;
}

static liana_status print_json(liana__invocation *invocation, const liana__incident *incident, bool same)
{
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "replay");
    liana__value_set(arena, event, "bundle", liana__value_string(arena, invocation->operands[0]));
    liana__value_set(arena, event, "same", liana__value_bool(arena, same));
    liana__value_set(arena, event, "facts", liana__value_copy(arena, incident->facts));
    liana__value_set(arena, event, "finding", liana__value_copy(arena, incident->finding));
    if (arena->failed) return liana__fail_memory(&invocation->error, "the report");
    liana__invocation_print_json(invocation, event);
    return LIANA_OK;
}

static liana_status print_text(liana__invocation *invocation, const liana__incident *incident,
                               const liana__value *recorded)
{
    liana__text text = {0};
    liana__incident_report(incident, &text);
    if (!text.data) return liana__fail_memory(&invocation->error, "the report");
    fputs(text.data, invocation->out);
    liana__text_free(&text);
    const char *difference = find_difference(recorded, incident->finding);
    if (is_reproduced(recorded) && !is_reproduced(incident->finding)) {
        fprintf(invocation->out, "\nthis machine does not reproduce it: here all numbers are finite\n");
    } else if (difference) {
        fprintf(invocation->out, "\nthis machine finds something else than the report, which says in \"%s\":\n",
                difference);
        const liana__incident before = {.facts = incident->facts, .finding = (liana__value *)recorded};
        liana__incident_report(&before, &text);
        if (text.data) fputs(text.data, invocation->out);
        liana__text_free(&text);
    } else {
        fprintf(invocation->out, "\nthis machine finds what the report says\n");
    }
    return LIANA_OK;
}

static liana_status replay(liana__invocation *invocation, liana_context *context, liana__incident *incident)
{
    const liana__value *recorded;
    LIANA_TRY(liana__bundle_read(context, invocation->operands[0], incident, &recorded, &invocation->error));
    LIANA_TRY(liana__incident_examine(incident, &invocation->error));
    if (!liana__invocation_has(invocation, "json")) return print_text(invocation, incident, recorded);
    return print_json(invocation, incident, !find_difference(recorded, incident->finding));
}

static liana_status run(liana__invocation *invocation)
{
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    LIANA__SCOPED(liana__incident) incident = {0};
    const liana_status status = liana_context_create(NULL, &context);
    if (status != LIANA_OK && context) invocation->error = context->error;
    return status == LIANA_OK ? replay(invocation, context, &incident) : status;
}

const liana__command liana__subcommand_replay = {
    .name = "replay",
    .operands = "BUNDLE",
    .summary = "Run a step again whose numbers were not finite, and name the first bad op",
    .help =
        "BUNDLE is a folder bad-numbers-UPDATE, which a training leaves when a loss, a gradient or a weight is NaN or\n"
        "infinite. It has all that the step read. It is run again node by node; the report names the first op\n"
        "whose result is bad, its layer, the ranges of its inputs, and the examples. The last line says whether\n"
        "this machine finds the same. Bundles work on other machines.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
