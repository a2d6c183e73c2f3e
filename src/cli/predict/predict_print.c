/* Prints predictions, as lines for people and as JSON. */
#include "cli/predict/predict.h"

#include "base/format.h"
#include "models/imagenet.h"

/* ---- as JSON ---- */

static liana__value *list_values(liana__arena *arena, const float *values, size_t count)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < count; i++) liana__value_add(arena, list, liana__value_float(arena, (double)values[i]));
    return list;
}

static liana__value *describe_class(const liana__output_classes *classes, size_t label, double probability,
                                    liana__arena *arena)
{
    liana__value *item = liana__value_map(arena);
    liana__value_set(arena, item, "label", liana__value_int(arena, (int64_t)label));
    if (label < classes->names.count) {
        liana__value_set(arena, item, "class", liana__value_string(arena, classes->names.items[label]));
    }
    if (classes->names.items == liana__imagenet_names) {
        liana__value_set(arena, item, "wordnet_id", liana__value_string(arena, liana__imagenet_ids[label]));
    }
    liana__value_set(arena, item, "probability", liana__value_float(arena, probability));
    return item;
}

/* Those that an example has. */
static liana__value *list_labels(const liana__predict_facts *facts, size_t index, liana__arena *arena,
                                 const float *values)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < facts->classes[index].count; i++) {
        if (!liana__predict_has_label(facts, values, i)) continue;
        liana__value_add(arena, list, liana__value_string(arena, facts->keys[index][i]));
    }
    return list;
}

/* The likeliest classes as a list, and the probabilities of all in the order of the classes. */
static void set_classes(const liana__predict_facts *facts, size_t index, liana__arena *arena, liana__value *map,
                        const float *output)
{
    float both[2];
    const liana__output_classes *classes = &facts->classes[index];
    const float *values = liana__class_probabilities(classes, output, both);
    const size_t count = liana__predict_find_shown(facts, classes, values);
    liana__value *list = liana__value_list(arena), *all = liana__value_map(arena);
    if (classes->several) liana__value_set(arena, map, "labels", list_labels(facts, index, arena, values));
    for (size_t i = 0; i < count; i++) {
        const size_t label = facts->top[i];
        liana__value_add(arena, list, describe_class(classes, label, (double)values[label], arena));
    }
    for (size_t i = 0; i < classes->count; i++) {
        liana__value_set(arena, all, facts->keys[index][i], liana__value_float(arena, (double)values[i]));
    }
    liana__value_set(arena, map, "classes", list);
    liana__value_set(arena, map, "probabilities", all);
}

/* Of several outputs each by its name. */
static liana__value *list_outputs(const liana__predict_facts *facts, liana__arena *arena, const float *output)
{
    liana__value *outputs = liana__value_map(arena);
    for (size_t i = 0; i < facts->objective->num_outputs; i++) {
        liana__value *one = liana__value_map(arena);
        const size_t size = liana__predict_output_size(facts, i);
        liana__value_set(arena, one, "values", list_values(arena, output, size));
        if (facts->classes[i].count) set_classes(facts, i, arena, one, output);
        liana__value_set(arena, outputs, facts->objective->outputs[i].name, one);
        output += size;
    }
    return outputs;
}

static void set_truth(const liana__predict_facts *facts, const liana__prediction *one, liana__arena *arena,
                      liana__value *event)
{
    const liana__strings *names = &facts->classes[0].names;
    if (one->truth < 0) return;
    liana__value_set(arena, event, "true_label", liana__value_int(arena, one->truth));
    if ((size_t)one->truth < names->count) {
        liana__value_set(arena, event, "true_class", liana__value_string(arena, names->items[one->truth]));
    }
    liana__value_set(arena, event, "correct", liana__value_bool(arena, one->said == (size_t)one->truth));
}

static void set_kept(const liana__predict_facts *facts, const liana__prediction *one, liana__arena *arena,
                     liana__value *event)
{
    if (!facts->kept) return;
    liana__value *columns = liana__value_map(arena);
    for (size_t i = 0; i < liana__kept_table_num_columns(facts->kept); i++) {
        liana__value_set(arena, columns, liana__kept_table_name(facts->kept, i),
                         liana__value_string(arena, liana__kept_table_cell(facts->kept, one->record, i)));
    }
    liana__value_set(arena, event, "columns", columns);
}

liana__value *liana__predict_event(const liana__predict_facts *facts, const liana__prediction *one, liana__arena *arena)
{
    liana__value *event = liana__value_map(arena);
    const bool is_one = facts->objective->num_outputs == 1;
    liana__value_set(arena, event, "event", liana__value_string(arena, "prediction"));
    liana__value_set(arena, event, "id", liana__value_string(arena, one->id));
    if (is_one && facts->classes[0].count) set_classes(facts, 0, arena, event, one->output);
    if (!liana__predicts_classes(facts->objective)) {
        liana__value_set(arena, event, "values", list_values(arena, one->output, facts->row_size));
    }
    if (!is_one) liana__value_set(arena, event, "outputs", list_outputs(facts, arena, one->output));
    set_truth(facts, one, arena, event);
    set_kept(facts, one, arena, event);
    return event;
}

/* ---- as lines ---- */

/* The only output has a line for each class. */
static void print_lines(const liana__predict_facts *facts, const liana__prediction *one)
{
    const liana__output_classes *classes = &facts->classes[0];
    FILE *out = facts->invocation->out;
    char number[24];
    float both[2];
    const float *values = liana__class_probabilities(classes, one->output, both);
    const size_t count = liana__predict_find_shown(facts, classes, values);
    for (size_t i = 0; i < count; i++) {
        const size_t label = facts->top[i];
        fprintf(out, "  %.4f  %s", liana__shown((double)values[label]), label < classes->names.count ? "" : "class ");
        liana__print_plainly(out, liana__class_name(classes, label, number));
        if (classes->several) fputs(liana__predict_has_label(facts, values, label) ? " (yes)" : " (no)", out);
        fputc('\n', out);
    }
    if (one->truth < 0) return;
    fprintf(out, "  true: %s", (size_t)one->truth < classes->names.count ? "" : "class ");
    liana__print_plainly(out, liana__class_name(classes, (size_t)one->truth, number));
    fprintf(out, " (%s)\n", one->said == (size_t)one->truth ? "right" : "wrong");
}

static void print_named(const liana__predict_facts *facts, const liana__output_classes *classes, const float *output)
{
    float both[2];
    char number[24];
    const float *values = liana__class_probabilities(classes, output, both);
    const size_t count = liana__predict_find_shown(facts, classes, values);
    for (size_t i = 0; i < count; i++) {
        const size_t label = facts->top[i];
        fprintf(facts->invocation->out, "%s %.4f ", i ? "," : "", liana__shown((double)values[label]));
        liana__print_plainly(facts->invocation->out, liana__class_name(classes, label, number));
        if (!classes->several) continue;
        fputs(liana__predict_has_label(facts, values, label) ? " (yes)" : " (no)", facts->invocation->out);
    }
}

/* Each output has a line. */
static void print_outputs(const liana__predict_facts *facts, const float *output)
{
    FILE *out = facts->invocation->out;
    for (size_t i = 0; i < facts->objective->num_outputs; i++) {
        const liana__output_classes *classes = &facts->classes[i];
        const size_t size = liana__predict_output_size(facts, i);
        fprintf(out, " ");
        if (facts->objective->num_outputs > 1) fprintf(out, " %s:", facts->objective->outputs[i].name);
        if (classes->count) print_named(facts, classes, output);
        for (size_t k = 0; !classes->count && k < size; k++) fprintf(out, " %.6g", liana__shown((double)output[k]));
        fprintf(out, "\n");
        output += size;
    }
}

static void print_kept(const liana__predict_facts *facts, const liana__prediction *one)
{
    FILE *out = facts->invocation->out;
    for (size_t i = 0; facts->kept && i < liana__kept_table_num_columns(facts->kept); i++) {
        fputs(i ? ", " : "  ", out);
        liana__print_plainly(out, liana__kept_table_name(facts->kept, i));
        fputs(": ", out);
        liana__print_plainly(out, liana__kept_table_cell(facts->kept, one->record, i));
    }
    if (facts->kept) fputc('\n', out);
}

liana_status liana__predict_print(void *user, const liana__prediction *one, liana__error *error)
{
    const liana__predict_facts *facts = user;
    liana__invocation *invocation = facts->invocation;
    if (!facts->is_chief) return LIANA_OK;
    if (liana__invocation_has(invocation, "json")) {
        liana__arena arena = {0};
        liana__value *event = liana__predict_event(facts, one, &arena);
        const bool enough = event && !arena.failed;
        if (enough) liana__invocation_print_json(invocation, event);
        liana__arena_free(&arena);
        return enough ? LIANA_OK : liana__fail_memory(error, "the predictions");
    }
    liana__print_plainly(invocation->out, one->id);
    fputc('\n', invocation->out);
    if (facts->objective->num_outputs == 1 && facts->classes[0].count) {
        print_lines(facts, one);
    } else {
        print_outputs(facts, one->output);
    }
    print_kept(facts, one);
    return LIANA_OK;
}

/* ---- totals ---- */

static double share_right(const liana__predict_counts *counts)
{
    return (double)counts->right / (double)counts->labelled;
}

static void set_right(liana__invocation *invocation, liana__value *event, const liana__predict_counts *counts)
{
    if (!counts->labelled) return;
    liana__event_int(invocation, event, "labelled", counts->labelled);
    liana__event_int(invocation, event, "right", counts->right);
    liana__event_float(invocation, event, "accuracy", share_right(counts));
}

void liana__predict_print_right(liana__invocation *invocation, const liana__predict_counts *counts)
{
    if (!counts->labelled) return;
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "right: %lld of %lld (%.1f%%)\n", (long long)counts->right,
                (long long)counts->labelled, 100 * share_right(counts));
        return;
    }
    liana__value *event = liana__session_event(invocation, "predictions");
    liana__event_int(invocation, event, "examples", counts->measured.count);
    liana__event_int(invocation, event, "bad_records", counts->measured.bad_records);
    set_right(invocation, event, counts);
    liana__invocation_print_json(invocation, event);
}

void liana__predict_print_written(liana__invocation *invocation, const char *path, const liana__predict_counts *counts)
{
    const liana__measured *measured = &counts->measured;
    if (liana__invocation_has(invocation, "json")) {
        liana__value *event = liana__session_event(invocation, "predictions");
        liana__event_text(invocation, event, "out", path);
        liana__event_int(invocation, event, "examples", measured->count);
        liana__event_int(invocation, event, "bad_records", measured->bad_records);
        set_right(invocation, event, counts);
        liana__invocation_print_json(invocation, event);
        return;
    }
    fprintf(invocation->out, "predictions in '%s': %lld", path, (long long)measured->count);
    if (measured->bad_records) fprintf(invocation->out, "; %lld records left out", (long long)measured->bad_records);
    if (counts->labelled) {
        fprintf(invocation->out, "; right: %lld of %lld (%.1f%%)", (long long)counts->right,
                (long long)counts->labelled, 100 * share_right(counts));
    }
    fprintf(invocation->out, "\n");
}
