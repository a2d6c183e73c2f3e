/* Predictions as arrays of numpy, with their ids beside them, and as TFRecords. */
#include "cli/predict/predict.h"

/* ---- numpy ---- */

/* What an output has in files of numbers: the probability of each class, or its values. */
static size_t num_values(const liana__predict_facts *facts, size_t output)
{
    const size_t count = facts->classes[output].count;
    return count ? count : liana__predict_output_size(facts, output);
}

/* "p.npy" -> "p_1.npy" */
static const char *array_path(const char *path, size_t index, liana__arena *arena)
{
    return index ? liana__arena_format(arena, "%.*s_%zu.npy", (int)(strlen(path) - strlen(".npy")), path, index) : path;
}

static liana_status begin_npy(liana__predict_writer *writer, liana__error *error)
{
    const liana__predict_facts *facts = writer->facts;
    for (size_t i = 0; i < facts->objective->num_outputs; i++) {
        const liana__objective_output *output = &facts->objective->outputs[i];
        const char *path = array_path(writer->path, i, &facts->invocation->arena);
        const int64_t count = (int64_t)num_values(facts, i);
        const bool is_list = facts->classes[i].count || output->shape.rank < 2;
        if (!path) return liana__fail_memory(error, writer->path);
        LIANA_TRY(liana__npy_begin(&writer->arrays[i], path, is_list ? &count : output->shape.dims + 1,
                                   is_list ? 1 : output->shape.rank - 1, error));
        writer->num_arrays++;
    }
    liana__predict_add_header(facts, false, &writer->text);
    return LIANA_OK;
}

static liana_status add_to_npy(liana__predict_writer *writer, const liana__prediction *one, liana__error *error)
{
    const liana__predict_facts *facts = writer->facts;
    const float *output = one->output;
    for (size_t i = 0; i < facts->objective->num_outputs; i++) {
        float both[2];
        const float *values = liana__class_probabilities(&facts->classes[i], output, both);
        LIANA_TRY(liana__npy_write(&writer->arrays[i], values, 1, error));
        output += liana__predict_output_size(facts, i);
    }
    liana__predict_add_row(facts, one, false, &writer->text);
    return LIANA_OK;
}

/* The ids appear last: where they are, everything is. */
static liana_status finish_npy(liana__predict_writer *writer, liana__error *error)
{
    const char *ids = liana__features_ids(writer->path, &writer->facts->invocation->arena);
    if (!ids || writer->text.failed) return liana__fail_memory(error, "the predictions");
    while (writer->num_arrays) LIANA_TRY(liana__npy_finish(&writer->arrays[--writer->num_arrays], error));
    return liana__file_replace(ids, writer->text.data, writer->text.length, error);
}

static void abandon_npy(liana__predict_writer *writer)
{
    for (size_t i = 0; i < writer->num_arrays; i++) liana__npy_abandon(&writer->arrays[i]);
}

const liana__predict_form liana__predict_npy = {
    .ending = ".npy", .begin = begin_npy, .add = add_to_npy, .finish = finish_npy, .abandon = abandon_npy};

/* ---- TFRecord ---- */

static liana_status begin_records(liana__predict_writer *writer, liana__error *error)
{
    return liana__tfrecord_writer_begin(&writer->records, writer->path, error);
}

static void add_name(liana__example_builder *builder, const char *feature, const liana__strings *names, size_t label)
{
    if (label < names->count) {
        liana__example_add_bytes(builder, feature, names->items[label], strlen(names->items[label]));
    }
}

/* The names of the labels that an example has. */
static void add_labels(const liana__predict_facts *facts, const liana__prediction *one, liana__example_builder *builder)
{
    const liana__output_classes *classes = &facts->classes[0];
    const char **names = liana__arena_allocate(&builder->arena, classes->count * sizeof *names);
    size_t count = 0;
    builder->failed = builder->failed || !names;
    for (size_t i = 0; names && i < classes->count; i++) {
        if (liana__predict_has_label(facts, one->output, i)) names[count++] = classes->names.items[i];
    }
    if (names) liana__example_add_strings(builder, "labels", names, count);
}

/* Of several outputs, each has its own name. */
static void add_values(liana__predict_writer *writer, const liana__prediction *one, float (*both)[2])
{
    const liana__predict_facts *facts = writer->facts;
    const float *output = one->output;
    for (size_t i = 0; i < facts->objective->num_outputs; i++) {
        const float *values = liana__class_probabilities(&facts->classes[i], output, both[i]);
        const bool only = facts->objective->num_outputs == 1;
        const char *name = !only                                   ? facts->objective->outputs[i].name
                           : facts->of_classes || facts->of_labels ? "probabilities"
                                                                   : "values";
        liana__example_add_floats(&writer->builder, name, values, num_values(facts, i));
        output += liana__predict_output_size(facts, i);
    }
}

static liana_status add_to_records(liana__predict_writer *writer, const liana__prediction *one, liana__error *error)
{
    const liana__predict_facts *facts = writer->facts;
    const liana__strings *names = &facts->classes[0].names;
    liana__example_builder *builder = &writer->builder;
    const int64_t said = (int64_t)one->said, truth = one->truth;
    float both[LIANA__MAX_OUTPUTS][2];
    const uint8_t *bytes;
    size_t size;
    liana__example_add_bytes(builder, "id", one->id, strlen(one->id));
    if (facts->of_classes) {
        liana__example_add_int64s(builder, "label", &said, 1);
        add_name(builder, "class", names, one->said);
    }
    if (facts->of_labels) add_labels(facts, one, builder);
    add_values(writer, one, both);
    if (one->truth >= 0) {
        liana__example_add_int64s(builder, "true_label", &truth, 1);
        add_name(builder, "true_class", names, (size_t)one->truth);
    }
    LIANA_TRY(liana__example_pack(builder, &bytes, &size, error));
    return liana__tfrecord_writer_add(&writer->records, bytes, size, error);
}

static liana_status finish_records(liana__predict_writer *writer, liana__error *error)
{
    return liana__tfrecord_writer_commit(&writer->records, true, error);
}

static void abandon_records(liana__predict_writer *writer)
{
    liana__tfrecord_writer_abandon(&writer->records);
}

const liana__predict_form liana__predict_tfrecord = {.ending = ".tfrecord",
                                                     .begin = begin_records,
                                                     .add = add_to_records,
                                                     .finish = finish_records,
                                                     .abandon = abandon_records};
