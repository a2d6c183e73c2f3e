/* The report of an incident, for people. */
#include "train/training/bundle.h"

#include "base/format.h"
#include "base/value_read.h"

#include <string.h>

/* A number, or the text of one that is not finite. */
static void add_number(liana__text *text, const liana__value *value)
{
    if (liana__value_is_number(value)) {
        liana__text_add(text, "%.6g", liana__shown(value->number));
    } else {
        liana__text_add(text, "%s", value && value->kind == LIANA__VALUE_STRING ? value->string : "none");
    }
}

static void add_range(liana__text *text, const liana__value *range)
{
    liana__text_add(text, "%lld numbers, min ", (long long)liana__value_int_of(range, "count", 0));
    add_number(text, liana__value_get(range, "min"));
    liana__text_add(text, ", max ");
    add_number(text, liana__value_get(range, "max"));
    liana__text_add(text, ", mean ");
    add_number(text, liana__value_get(range, "mean"));
    const int64_t nan = liana__value_int_of(range, "nan", 0), inf = liana__value_int_of(range, "inf", 0);
    liana__text_add(text, ", %lld NaN, %lld infinite", (long long)nan, (long long)inf);
    if (nan + inf)
        liana__text_add(text, ", the first at element %lld", (long long)liana__value_int_of(range, "first_bad", 0));
}

static bool is_bad_example(const liana__value *finding, int64_t index)
{
    const liana__value *list = liana__value_list_of(finding, "bad_examples");
    for (size_t i = 0; list && i < list->count; i++) {
        if (list->items[i]->integer == index) return true;
    }
    return false;
}

static void add_example(liana__text *text, const liana__value *example)
{
    const char *file = liana__value_text_of(example, "file", ""), *id = liana__value_text_of(example, "id", "");
    liana__text_add(text, "position %lld", (long long)liana__value_int_of(example, "position", 0));
    if (*file) liana__text_add(text, ", '%s'", file);
    if (liana__value_get(example, "record")) {
        liana__text_add(text, ", record %lld", (long long)liana__value_int_of(example, "record", 0));
    }
    if (*id) liana__text_add(text, " (id '%s')", id);
}

static void add_examples(liana__text *text, const liana__incident *incident)
{
    const liana__value *examples = liana__value_list_of(incident->facts, "examples");
    if (!examples || examples->count == 0) return;
    liana__text_add(text, "examples of the shard ('*': its row is not finite):\n");
    for (size_t i = 0; i < examples->count; i++) {
        liana__text_add(text, "  %c ", is_bad_example(incident->finding, (int64_t)i) ? '*' : ' ');
        add_example(text, examples->items[i]);
        liana__text_add(text, "\n");
    }
}

static void add_inputs(liana__text *text, const liana__value *finding)
{
    const liana__value *inputs = liana__value_list_of(finding, "inputs");
    for (size_t i = 0; inputs && i < inputs->count; i++) {
        const liana__value *input = inputs->items[i];
        liana__text_add(text, "  input %zu: %s, %s: ", i, liana__value_text_of(input, "name", ""),
                        liana__value_text_of(input, "type", ""));
        add_range(text, liana__value_get(input, "range"));
        liana__text_add(text, "\n");
    }
}

static void add_facts(liana__text *text, const liana__value *facts)
{
    liana__text_add(text, "%s\n", liana__value_text_of(facts, "fault", ""));
    liana__text_add(text, "epoch %lld, step %lld (update %lld), learning rate ",
                    (long long)liana__value_int_of(facts, "epoch", 0), (long long)liana__value_int_of(facts, "step", 0),
                    (long long)liana__value_int_of(facts, "update", 0));
    add_number(text, liana__value_get(facts, "learning_rate"));
    liana__text_add(text, "\n");
    const liana__value *losses = liana__value_list_of(facts, "losses");
    if (losses && losses->count) {
        liana__text_add(text, "losses of the updates before:");
        for (size_t i = 0; i < losses->count; i++) {
            liana__text_add(text, " ");
            add_number(text, losses->items[i]);
        }
        liana__text_add(text, "\n");
    }
}

void liana__incident_report(const liana__incident *incident, liana__text *text)
{
    const liana__value *finding = incident->finding;
    add_facts(text, incident->facts);
    liana__text_add(text, "\nof the %s, run again node by node: ", liana__value_text_of(incident->facts, "what", ""));
    liana__incident_summary(incident, text);
    liana__text_add(text, "\n");
    if (liana__incident_is_reproduced(incident)) {
        liana__text_add(text, "  result, %s: ", liana__value_text_of(finding, "type", ""));
        add_range(text, liana__value_get(finding, "result"));
        liana__text_add(text, "\n");
        add_inputs(text, finding);
        liana__text_add(text, "it reaches '%s': ", liana__value_text_of(finding, "bad_result", ""));
        add_range(text, liana__value_get(finding, "bad_result_range"));
        liana__text_add(text, "\n");
    }
    add_examples(text, incident);
}
