/* liana predict: the predictions of a model for each example, as lines or as a file. */
#include "cli/session.h"

#include "base/format.h"
#include "base/scoped.h"
#include "models/imagenet.h"

enum { TOP_CLASSES = 5 };

static const liana__option options[] = {
    {LIANA__OPTION_DATA},
    {LIANA__OPTION_MODEL},
    {LIANA__OPTION_WEIGHTS},
    {"out", "FILE", "write the predictions to a CSV file, one row for each image (-: standard output)"},
    {"layer", "NAME", "with --out FILE.csv or FILE.npy: write the outputs of this layer instead, such as embeddings"},
    {"probabilities", NULL, "all probabilities: with --out a column for each class; else all classes are printed"},
    {"top", "N", "how many of the likeliest classes are printed (default: 5)"},
    {"checkpoint", "DIR", "the checkpoint: best, its name in the run, or a folder (default: the newest)"},
    {LIANA__OPTION_THRESHOLD},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
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

/* ---- the outputs of a layer ---- */

/* "128 x 7 x 7 x 1280", of each result. */
static liana__value *shape_value(const liana__objective_output *output, int64_t count, liana__arena *arena)
{
    liana__value *dims = liana__value_list(arena);
    liana__value_add(arena, dims, liana__value_int(arena, count));
    for (int i = 1; i < output->shape.rank; i++) {
        liana__value_add(arena, dims, liana__value_int(arena, output->shape.dims[i]));
    }
    return dims;
}

static void print_features(liana__invocation *invocation, const liana__run *run, const char *path,
                           const liana__measured *measured)
{
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    const char *layer = liana__invocation_text(invocation, "layer");
    liana__arena *arena = &invocation->arena;
    const char *ids = liana__features_ids(path, arena);
    if (liana__invocation_has(invocation, "json")) {
        liana__value *event = liana__session_event(invocation, "features"), *shapes = liana__value_list(arena);
        for (size_t i = 0; i < objective->num_outputs; i++) {
            liana__value_add(arena, shapes, shape_value(&objective->outputs[i], measured->count, arena));
        }
        liana__event_text(invocation, event, "layer", layer);
        liana__event_text(invocation, event, "out", path);
        if (ids) liana__event_text(invocation, event, "ids", ids);
        liana__event_int(invocation, event, "examples", measured->count);
        liana__event_int(invocation, event, "bad_records", measured->bad_records);
        liana__value_set(arena, event, "shapes", shapes);
        liana__invocation_print_json(invocation, event);
        return;
    }
    fprintf(invocation->out, "layer '%s' in '%s':", layer, path);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana_shape *shape = &objective->outputs[i].shape;
        fprintf(invocation->out, "%s%lld", i ? ", " : " ", (long long)measured->count);
        for (int k = 1; k < shape->rank; k++) fprintf(invocation->out, " x %lld", (long long)shape->dims[k]);
    }
    if (ids) fprintf(invocation->out, "; ids in '%s'", ids);
    if (measured->bad_records) fprintf(invocation->out, "; %lld records left out", (long long)measured->bad_records);
    fputc('\n', invocation->out);
}

static liana_status check_layer(liana__invocation *invocation, const char *path)
{
    static const char *const others[] = {"probabilities", "top", "threshold"};
    const char *layer = liana__invocation_text(invocation, "layer");
    if (!layer && path && liana__ends_with(path, ".npy")) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: --out %s: predictions are written as CSV; .npy is for the outputs of a layer, "
                           "--layer NAME (the last layer's are the model's)",
                           path);
    }
    if (layer && !path) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: --layer %s needs a file: --out FILE.npy, --out FILE.csv, or --out - for CSV on "
                           "standard output",
                           layer);
    }
    if (layer && liana__path_is_remote(path)) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: --layer %s writes local files as it goes; found --out %s", layer, path);
    }
    for (size_t i = 0; layer && i < sizeof others / sizeof *others; i++) {
        if (!liana__invocation_has(invocation, others[i])) continue;
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: --%s is for predictions, and --layer %s writes the outputs of a layer; leave one "
                           "of them out",
                           others[i], layer);
    }
    return LIANA_OK;
}

/* ---- printing examples ---- */

typedef struct printer {
    liana__invocation *invocation;
    const liana__run *run;
    const liana__objective *objective;
    liana__output_classes classes[LIANA__MAX_OUTPUTS]; /* of each output */
    const char **keys[LIANA__MAX_OUTPUTS];             /* of all classes, in JSON */
    size_t *top;                                       /* room for the likeliest classes */
    size_t num_top;                                    /* how many are shown */
    bool json;
    bool is_silent; /* another process prints */
} printer;

/* The classes with the largest probabilities, the largest first; returns how many. By another threshold than 0.5 the
 * class that is said may be the less likely one. */
static size_t find_shown(const printer *own, const liana__output_classes *classes, const float *values)
{
    const size_t count = liana__find_largest(values, classes->count, own->num_top, own->top);
    const size_t said = classes->of_one && (double)values[1] > own->run->config->job.threshold;
    if (!classes->of_one || own->top[0] == said) return count;
    if (count > 1) own->top[1] = own->top[0];
    own->top[0] = said;
    return count;
}

/* ---- as JSON ---- */

static liana__value *list_values(liana__arena *arena, const float *values, size_t count)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < count; i++) liana__value_add(arena, list, liana__value_float(arena, (double)values[i]));
    return list;
}

/* The likeliest classes as a list, and the probabilities of all in the order of the classes. */
static void set_classes(const printer *own, size_t index, liana__arena *arena, liana__value *map, const float *output)
{
    float both[2];
    const liana__output_classes *classes = &own->classes[index];
    const float *values = liana__class_probabilities(classes, output, both);
    const size_t count = find_shown(own, classes, values);
    liana__value *list = liana__value_list(arena), *all = liana__value_map(arena);
    for (size_t i = 0; i < count; i++) {
        const size_t label = own->top[i];
        liana__value *item = liana__value_map(arena);
        liana__value_set(arena, item, "label", liana__value_int(arena, (int64_t)label));
        if (label < classes->names.count) {
            liana__value_set(arena, item, "class", liana__value_string(arena, classes->names.items[label]));
        }
        if (classes->names.items == liana__imagenet_names) {
            liana__value_set(arena, item, "wordnet_id", liana__value_string(arena, liana__imagenet_ids[label]));
        }
        liana__value_set(arena, item, "probability", liana__value_float(arena, (double)values[label]));
        liana__value_add(arena, list, item);
    }
    for (size_t i = 0; i < classes->count; i++) {
        liana__value_set(arena, all, own->keys[index][i], liana__value_float(arena, (double)values[i]));
    }
    liana__value_set(arena, map, "classes", list);
    liana__value_set(arena, map, "probabilities", all);
}

static size_t size_of(const printer *own, size_t index)
{
    return (size_t)liana_shape_size(&own->objective->outputs[index].shape);
}

/* Of several outputs each by its name. */
static liana__value *list_outputs(const printer *own, liana__arena *arena, const float *output)
{
    liana__value *outputs = liana__value_map(arena);
    for (size_t i = 0; i < own->objective->num_outputs; i++) {
        liana__value *one = liana__value_map(arena);
        liana__value_set(arena, one, "values", list_values(arena, output, size_of(own, i)));
        if (own->classes[i].count) set_classes(own, i, arena, one, output);
        liana__value_set(arena, outputs, own->objective->outputs[i].name, one);
        output += size_of(own, i);
    }
    return outputs;
}

static liana_status print_event(const printer *own, const char *id, const float *output, liana__error *error)
{
    liana__arena arena = {0};
    liana__value *event = liana__value_map(&arena);
    const bool is_one = own->objective->num_outputs == 1;
    liana__value_set(&arena, event, "event", liana__value_string(&arena, "prediction"));
    liana__value_set(&arena, event, "id", liana__value_string(&arena, id));
    if (is_one && own->classes[0].count) set_classes(own, 0, &arena, event, output);
    if (!liana__predicts_classes(own->objective)) {
        const size_t row_size = (size_t)liana__trainer_row_size(own->run->core.trainer);
        liana__value_set(&arena, event, "values", list_values(&arena, output, row_size));
    }
    if (!is_one) liana__value_set(&arena, event, "outputs", list_outputs(own, &arena, output));
    const bool enough = event && !arena.failed;
    if (enough) liana__invocation_print_json(own->invocation, event);
    liana__arena_free(&arena);
    return enough ? LIANA_OK : liana__fail_memory(error, "the predictions");
}

/* ---- as lines ---- */

/* The only output has a line for each class. */
static void print_lines(const printer *own, const float *output)
{
    const liana__output_classes *classes = &own->classes[0];
    float both[2];
    const float *values = liana__class_probabilities(classes, output, both);
    const size_t count = find_shown(own, classes, values);
    for (size_t i = 0; i < count; i++) {
        const size_t label = own->top[i];
        char number[24];
        fprintf(own->invocation->out, "  %.4f  %s", liana__shown((double)values[label]),
                label < classes->names.count ? "" : "class ");
        liana__print_plainly(own->invocation->out, liana__class_name(classes, label, number));
        fputc('\n', own->invocation->out);
    }
}

static void print_named(const printer *own, const liana__output_classes *classes, const float *output)
{
    float both[2];
    char number[24];
    const float *values = liana__class_probabilities(classes, output, both);
    const size_t count = find_shown(own, classes, values);
    for (size_t i = 0; i < count; i++) {
        const size_t label = own->top[i];
        fprintf(own->invocation->out, "%s %.4f ", i ? "," : "", liana__shown((double)values[label]));
        liana__print_plainly(own->invocation->out, liana__class_name(classes, label, number));
    }
}

/* Each output has a line. */
static void print_outputs(const printer *own, const float *output)
{
    FILE *out = own->invocation->out;
    for (size_t i = 0; i < own->objective->num_outputs; i++) {
        const liana__output_classes *classes = &own->classes[i];
        fprintf(out, " ");
        if (own->objective->num_outputs > 1) fprintf(out, " %s:", own->objective->outputs[i].name);
        if (classes->count) print_named(own, classes, output);
        for (size_t k = 0; !classes->count && k < size_of(own, i); k++)
            fprintf(out, " %.6g", liana__shown((double)output[k]));
        fprintf(out, "\n");
        output += size_of(own, i);
    }
}

static liana_status print_batch(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    const printer *own = user;
    const size_t row_size = (size_t)liana__trainer_row_size(own->run->core.trainer);
    if (own->is_silent) return LIANA_OK;
    for (size_t i = 0; i < (size_t)batch->count; i++) {
        char number[32];
        snprintf(number, sizeof number, "%llu", (unsigned long long)batch->records[i]);
        const char *id = batch->ids[i] ? batch->ids[i] : number;
        const float *output = outputs + i * row_size;
        if (own->json) {
            LIANA_TRY(print_event(own, id, output, error));
            continue;
        }
        liana__print_plainly(own->invocation->out, id);
        fputc('\n', own->invocation->out);
        (own->objective->num_outputs == 1 && own->classes[0].count ? print_lines : print_outputs)(own, output);
    }
    return LIANA_OK;
}

/* ---- both ---- */

static liana_status find_keys(printer *own, size_t index)
{
    const liana__output_classes *classes = &own->classes[index];
    liana__arena *arena = &own->invocation->arena;
    const char **keys = liana__arena_allocate(arena, (classes->count + 1) * sizeof *keys);
    if (!keys) return liana__fail_memory(&own->invocation->error, "the predictions");
    for (size_t i = 0; i < classes->count; i++) {
        const liana__class_key key = liana__class_key_of(classes, i);
        keys[i] = liana__arena_string(arena, key.text);
    }
    own->keys[index] = keys;
    return arena->failed ? liana__fail_memory(&own->invocation->error, "the predictions") : LIANA_OK;
}

static liana_status print_all(liana__invocation *invocation, liana__run *run, const liana__run_data *data,
                              bool is_chief)
{
    LIANA__SCOPED(liana__totals) totals = {0};
    int64_t num_top = TOP_CLASSES;
    LIANA_TRY(liana__invocation_int(invocation, "top", 1, INT32_MAX, &num_top));
    printer own = {.invocation = invocation,
                   .run = run,
                   .objective = liana__trainer_objective(run->core.trainer),
                   .json = liana__invocation_has(invocation, "json"),
                   .is_silent = !is_chief};
    size_t most = 1;
    for (size_t i = 0; i < own.objective->num_outputs; i++) {
        own.classes[i] = liana__run_output_classes(run, i);
        if (own.classes[i].count > most) most = own.classes[i].count;
        if (own.json) LIANA_TRY(find_keys(&own, i));
    }
    const bool shows_all = liana__invocation_has(invocation, "probabilities") || (size_t)num_top > most;
    own.num_top = shows_all ? most : (size_t)num_top;
    own.top = liana__arena_allocate(&invocation->arena, most * sizeof *own.top);
    if (!own.top) return liana__fail_memory(&invocation->error, "the predictions");
    return liana__evaluate(run->core.trainer, data->loader, 0, &totals, print_batch, &own, &invocation->error);
}

static liana_status predict_data(liana__invocation *invocation, liana__run *run, const liana__run_data *data,
                                 const char *path, bool is_chief)
{
    liana__measured measured;
    if (!path) return print_all(invocation, run, data, is_chief);
    if (liana__invocation_has(invocation, "layer")) {
        LIANA_TRY(liana__run_write_features(run, data, path, &measured, &invocation->error));
        if (is_chief) print_features(invocation, run, path, &measured);
        return LIANA_OK;
    }
    const liana__prediction_columns columns =
        liana__invocation_has(invocation, "probabilities") ? LIANA__PREDICTIONS_PROBABILITIES : LIANA__PREDICTIONS_FULL;
    LIANA_TRY(liana__run_predict(run, data, columns, path, NULL, &measured, &invocation->error));
    if (is_chief) print_totals(invocation, path, &measured);
    return LIANA_OK;
}

static liana_status predict(liana__invocation *invocation, const liana__session *session, const char *folder,
                            const liana__source_config *where, const char *path)
{
    liana__error *error = &invocation->error;
    const char *checkpoint = liana__invocation_text(invocation, "checkpoint"), *loaded;
    LIANA__SCOPED_BY(liana__run_close) liana__run run = {0};
    LIANA__SCOPED_BY(liana__run_close_data) liana__run_data data = {0};
    const bool is_chief = liana__session_is_chief(session);
    liana__run_options wanted = {.untrained = !folder,
                                 .layer = liana__invocation_text(invocation, "layer"),
                                 .on_bad_record = is_chief ? liana__session_bad_record : NULL,
                                 .user = invocation};
    LIANA_TRY(liana__run_open(session->context, &session->config, &wanted, &run, error));
    LIANA_TRY(liana__session_load(session, folder, checkpoint, &run, &loaded, error));
    LIANA_TRY(liana__run_open_data(&run, where, &data, error));
    return predict_data(invocation, &run, &data, path, is_chief);
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

/* A file has the likeliest class, or all. */
static liana_status check_top(liana__invocation *invocation, const char *path)
{
    const char *top = liana__invocation_text(invocation, "top");
    const bool shows_all = liana__invocation_has(invocation, "probabilities");
    if (!top || (!path && !shows_all)) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "predict: --top %s is for what is printed; %s", top,
                       shows_all ? "with --probabilities all classes are"
                                 : "a file has all of them with --probabilities");
}

static liana_status run(liana__invocation *invocation)
{
    const char *folder, *path, *pattern;
    liana__source_config where = {0};
    LIANA_TRY(find_images(invocation, &pattern, &where));
    LIANA_TRY(liana__invocation_output(invocation, "out", &path));
    LIANA_TRY(check_layer(invocation, path));
    LIANA_TRY(check_top(invocation, path));
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA_TRY(liana__session_open_shared(invocation, &session, &folder));
    liana__session_take_whole(invocation, &session);
    LIANA_TRY(liana__session_read_threshold(invocation, &session));
    return predict(invocation, &session, folder, &where, path);
}

const liana__command liana__subcommand_predict = {
    .name = "predict",
    .operands = "[RUN] [DATA ...] [key=value ...]",
    .summary = "Predict the classes of new images, or the outputs for new examples, with a trained model",
    .help = "Prints the most likely classes of each image, with their probabilities. With --out, writes a CSV\n"
            "file instead. It has one row for each image, with the columns id, label, class, confidence: the\n"
            "number and the name of the most likely class, and its probability. --probabilities adds a column for\n"
            "each class, called by its name. The images are image files, folders of them, TFRecords or IDX files.\n"
            "Labels are not read. --json prints an event for each image, with \"classes\", the likeliest ones, and\n"
            "\"probabilities\", which are all.\n"
            "Started by 'liana launch', mpirun or srun the processes share the examples; the first one writes.\n"
            "A model that ends in one sigmoid says the second of two classes above --threshold (0.5, or\n"
            "train.threshold of the run).\n"
            "Other data, such as tables, are read as in training. A model with several outputs, or with one of\n"
            "numbers, gives the values of each.\n"
            "With --model model.json --weights FILE no run is needed, and all arguments are data; data.columns,\n"
            "data.inputs and so on say what is in them. --model ResNet50 --weights imagenet is Keras's network\n"
            "with its own classifier ('liana list models'). The classes of such networks have ImageNet's names.\n"
            "--layer NAME writes the outputs of a layer: embeddings. 'liana summary' shows the names. A layer of a\n"
            "nested model is called MODEL/NAME, or only NAME where no other is called so. FILE.npy is an array of\n"
            "numpy, float32, [examples, ...], and FILE.ids.csv has the ids of its rows. Of a layer with several\n"
            "results the second one is in FILE_1.npy, and so on. CSV has the columns id, NAME_0, NAME_1, ...: all\n"
            "values of an example, the last axis (channels) changing fastest.\n",
    .options = options,
    .max_operands = -1,
    .overrides = true,
    .run = run,
};
