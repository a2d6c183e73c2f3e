/* liana predict: what a model says of each example, as lines or as a file. */
#include "cli/session.h"

enum { TOP_CLASSES = 5 };

static const liana__option options[] = {
    LIANA__OPTION_DATA,
    LIANA__OPTION_MODEL,
    LIANA__OPTION_WEIGHTS,
    {"out", "FILE.csv", "write the predictions to a file, one row for each image (-: standard output)"},
    {"checkpoint", "DIR", "the checkpoint: best, its name in the run, or a folder (default: the newest)"},
    LIANA__OPTION_PLUGINS,
    LIANA__OPTION_JSON,
    {0},
};

/* ---- a file of predictions ---- */

static void print_totals(liana__invocation *invocation, const char *path, const liana__measured *measured)
{
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "predictions in '%s': %lld", path, (long long)measured->count);
        if (measured->bad_records)
            fprintf(invocation->out, "; %lld records left out", (long long)measured->bad_records);
        fprintf(invocation->out, "\n");
        return;
    }
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "predictions");
    liana__value_set(arena, event, "out", liana__value_string(arena, path));
    liana__value_set(arena, event, "examples", liana__value_int(arena, measured->count));
    liana__value_set(arena, event, "bad_records", liana__value_int(arena, measured->bad_records));
    liana__invocation_print_json(invocation, event);
}

/* ---- the top classes of each image ---- */

typedef struct printer {
    liana__invocation *invocation;
    const liana__run *run;
    liana__strings names; /* of the classes of the only output */
    bool is_silent;       /* another process prints */
} printer;

/* The indices of the largest outputs, the largest first; returns how many. */
static size_t find_top(const float *output, size_t num_classes, size_t top[TOP_CLASSES])
{
    size_t count = 0;
    for (size_t i = 0; i < num_classes; i++) {
        size_t place = count;
        while (place > 0 && output[i] > output[top[place - 1]]) place--;
        if (place == TOP_CLASSES) continue;
        if (count < TOP_CLASSES) count++;
        for (size_t k = count - 1; k > place; k--) top[k] = top[k - 1];
        top[place] = i;
    }
    return count;
}

static void print_lines(const printer *own, const char *id, const float *output, const size_t *top, size_t count)
{
    const liana__strings *names = &own->names;
    FILE *out = own->invocation->out;
    liana__print_plainly(out, id);
    fputc('\n', out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "  %.4f  ", (double)output[top[i]]);
        if (top[i] < names->count) liana__print_plainly(out, names->items[top[i]]);
        if (top[i] >= names->count) fprintf(out, "class %zu", top[i]);
        fputc('\n', out);
    }
}

static liana__value *begin_event(liana__arena *arena, const char *id)
{
    liana__value *event = liana__value_map(arena);
    liana__value_set(arena, event, "event", liana__value_string(arena, "prediction"));
    liana__value_set(arena, event, "id", liana__value_string(arena, id));
    return event;
}

static liana_status end_event(const printer *own, liana__arena *arena, const liana__value *event, liana__error *error)
{
    const bool enough = event && !arena->failed;
    if (enough) liana__invocation_print_json(own->invocation, event);
    liana__arena_free(arena);
    return enough ? LIANA_OK : liana__fail_memory(error, "the predictions");
}

static liana__value *list_classes(liana__arena *arena, const liana__strings *names, const float *output,
                                  const size_t *top, size_t count)
{
    liana__value *classes = liana__value_list(arena);
    for (size_t i = 0; i < count; i++) {
        liana__value *item = liana__value_map(arena);
        liana__value_set(arena, item, "label", liana__value_int(arena, (int64_t)top[i]));
        if (top[i] < names->count) {
            liana__value_set(arena, item, "class", liana__value_string(arena, names->items[top[i]]));
        }
        liana__value_set(arena, item, "probability", liana__value_float(arena, (double)output[top[i]]));
        liana__value_add(arena, classes, item);
    }
    return classes;
}

static liana_status print_event(const printer *own, const char *id, const float *output, const size_t *top,
                                size_t count, liana__error *error)
{
    liana__arena arena = {0};
    liana__value *event = begin_event(&arena, id);
    liana__value_set(&arena, event, "classes", list_classes(&arena, &own->names, output, top, count));
    return end_event(own, &arena, event, error);
}

/* ---- other models: the values of each output ---- */

/* The names of an output's values; none: they are numbers. */
static liana__strings value_names(const printer *own, size_t index, size_t count)
{
    const liana__strings names = liana__run_output_names(own->run, index);
    return count > 1 && names.count == count ? names : (liana__strings){0};
}

static liana__value *list_values(liana__arena *arena, const float *values, size_t count)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < count; i++) liana__value_add(arena, list, liana__value_float(arena, (double)values[i]));
    return list;
}

/* All values in a row, and of several outputs each by its name. */
static liana_status print_values_event(const printer *own, const char *id, const float *output, liana__error *error)
{
    const liana__objective *objective = liana__trainer_objective(own->run->core.trainer);
    liana__arena arena = {0};
    liana__value *event = begin_event(&arena, id), *outputs = liana__value_map(&arena);
    const size_t row_size = (size_t)liana__trainer_row_size(own->run->core.trainer);
    liana__value_set(&arena, event, "values", list_values(&arena, output, row_size));
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const size_t count = (size_t)liana_shape_size(&objective->outputs[i].shape);
        const liana__strings names = value_names(own, i, count);
        liana__value *one = liana__value_map(&arena);
        liana__value_set(&arena, one, "values", list_values(&arena, output, count));
        if (names.count) {
            size_t top[TOP_CLASSES], found = find_top(output, count, top);
            liana__value_set(&arena, one, "classes", list_classes(&arena, &names, output, top, found));
        }
        liana__value_set(&arena, outputs, objective->outputs[i].name, one);
        output += count;
    }
    if (objective->num_outputs > 1) liana__value_set(&arena, event, "outputs", outputs);
    return end_event(own, &arena, event, error);
}

static void print_named(const printer *own, const float *output, size_t count, const liana__strings *names)
{
    size_t top[TOP_CLASSES], found = find_top(output, count, top);
    for (size_t i = 0; i < found; i++) {
        fprintf(own->invocation->out, "%s %.4f ", i ? "," : "", (double)output[top[i]]);
        liana__print_plainly(own->invocation->out, names->items[top[i]]);
    }
}

static void print_values(const printer *own, const char *id, const float *output)
{
    const liana__objective *objective = liana__trainer_objective(own->run->core.trainer);
    FILE *out = own->invocation->out;
    liana__print_plainly(out, id);
    fputc('\n', out);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const size_t count = (size_t)liana_shape_size(&objective->outputs[i].shape);
        const liana__strings names = value_names(own, i, count);
        fprintf(out, " ");
        if (objective->num_outputs > 1) fprintf(out, " %s:", objective->outputs[i].name);
        if (names.count) print_named(own, output, count, &names);
        for (size_t k = 0; !names.count && k < count; k++) fprintf(out, " %.6g", (double)output[k]);
        fprintf(out, "\n");
        output += count;
    }
}

static liana_status print_batch(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    const printer *own = user;
    size_t num_classes = (size_t)liana__trainer_num_classes(own->run->core.trainer);
    size_t row_size = (size_t)liana__trainer_row_size(own->run->core.trainer);
    bool of_values = num_classes != row_size;
    if (own->is_silent) return LIANA_OK;
    for (size_t i = 0; i < (size_t)batch->count; i++) {
        char number[32];
        snprintf(number, sizeof number, "%llu", (unsigned long long)batch->records[i]);
        const char *id = batch->ids[i] ? batch->ids[i] : number;
        const float *output = outputs + i * row_size;
        if (of_values && liana__invocation_has(own->invocation, "json")) {
            LIANA_TRY(print_values_event(own, id, output, error));
            continue;
        }
        if (of_values) {
            print_values(own, id, output);
            continue;
        }
        size_t top[TOP_CLASSES], count = find_top(output, num_classes, top);
        if (liana__invocation_has(own->invocation, "json")) {
            LIANA_TRY(print_event(own, id, output, top, count, error));
        } else {
            print_lines(own, id, output, top, count);
        }
    }
    return LIANA_OK;
}

/* ---- both ---- */

static liana_status predict_data(liana__invocation *invocation, liana__run *run, const liana__run_data *data,
                                 const char *path, bool is_chief)
{
    liana__error *error = &invocation->error;
    liana__totals totals = {0};
    if (path) {
        liana__measured measured;
        LIANA_TRY(liana__run_predict(run, data, LIANA__PREDICTIONS_FULL, path, NULL, &measured, error));
        if (is_chief) print_totals(invocation, path, &measured);
        return LIANA_OK;
    }
    printer own = {invocation, run, liana__run_output_names(run, 0), !is_chief};
    liana_status status = liana__evaluate(run->core.trainer, data->loader, 0, &totals, print_batch, &own, error);
    liana__totals_free(&totals);
    return status;
}

static liana_status predict(liana__invocation *invocation, const liana__session *session, const char *folder,
                            const liana__source_config *where, const char *path)
{
    liana__error *error = &invocation->error;
    const char *checkpoint = liana__invocation_text(invocation, "checkpoint"), *loaded;
    liana__run run;
    liana__run_data data;
    const bool is_chief = liana__session_is_chief(session);
    liana__run_options wanted = {.on_bad_record = is_chief ? liana__session_bad_record : NULL, .user = invocation};
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &run, error));
    liana_status status = liana__session_load(session, folder, checkpoint, &run, &loaded, error);
    if (status == LIANA_OK) status = liana__run_open_data(&run, where, &data, error);
    if (status == LIANA_OK) {
        status = predict_data(invocation, &run, &data, path, is_chief);
        liana__run_close_data(&data);
    }
    liana__run_close(&run);
    return status;
}

/* The images: the arguments (after the run, if there is one), or --data. */
static liana_status find_images(liana__invocation *invocation, const char **pattern, liana__source_config *where)
{
    bool has_run = !liana__invocation_has(invocation, "model") && invocation->num_operands > 0;
    const char *const *images = invocation->operands + has_run;
    size_t count = invocation->num_operands - has_run;
    *pattern = liana__invocation_text(invocation, "data");
    if (count && *pattern) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: found both '%s' and --data %s; give the images in one way only", images[0],
                           *pattern);
    }
    if (!count && !*pattern) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: no images or other data: name them after the run, or give --data PATTERN");
    }
    where->paths = count ? (liana__strings){count, images} : (liana__strings){1, pattern};
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    const char *folder, *path, *pattern;
    liana__source_config where = {0};
    LIANA_TRY(find_images(invocation, &pattern, &where));
    LIANA_TRY(liana__invocation_output(invocation, "out", &path));
    liana__session session;
    liana_status status = liana__session_open_shared(invocation, &session, &folder);
    if (status == LIANA_OK) status = predict(invocation, &session, folder, &where, path);
    liana__session_close(&session);
    return status;
}

const liana__command liana__subcommand_predict = {
    .name = "predict",
    .operands = "[RUN] [DATA ...] [key=value ...]",
    .summary = "Predict the classes of new images, or the outputs for new examples, with a trained model",
    .help = "Prints the most likely classes of each image, with their probabilities. With --out, writes a CSV\n"
            "file instead. It has one row for each image, with the columns id, label, class, confidence: the\n"
            "number and the name of the most likely class, and its probability. The images are image files,\n"
            "folders of them, TFRecords or IDX files. Labels are not read.\n"
            "Started by 'liana launch', mpirun or srun the processes share the examples; the first one writes.\n"
            "Other data, such as tables, are read as in training. A model with several outputs, or with one of\n"
            "numbers, gives the values of each.\n"
            "With --model model.json --weights FILE no run is needed, and all arguments are data; data.columns,\n"
            "data.inputs and so on say what is in them.\n",
    .options = options,
    .max_operands = -1,
    .overrides = true,
    .run = run,
};
