/* CSVLogger: a table of the epochs. Its text is state, and the file is replaced as a whole: so a training that goes on
 * from a checkpoint has no row twice and loses none. */
#include "base/file.h"
#include "train/callbacks/callback.h"

#include <stdlib.h>
#include <string.h>

typedef struct csv_options {
    const char *filename;
    const char *separator;
    bool append;
} csv_options;

typedef struct csv_logger {
    liana__text text;
    char *path;
} csv_logger;

static const liana_option fields[] = {
    LIANA_OPTION_ROW(csv_options, filename, STRING, .default_text = "epochs.csv",
                     .doc = "The file; a relative name is in the run folder, of C programs in the current folder."),
    LIANA_OPTION_ROW(csv_options, separator, STRING, .default_text = ",", .doc = "Stands between the values."),
    LIANA_OPTION_ROW(csv_options, append, BOOL, .default_text = "false",
                     .doc = "Whether rows join those of a file that is there."),
};

static liana_status check(liana_check *check)
{
    const csv_options *options = check->options;
    if (!options->filename || !*options->filename) {
        return liana_option_refuse(check, NULL, "the filename is empty, expected the name of a file");
    }
    if (options->separator && *options->separator) return LIANA_OK;
    return liana_option_refuse(check, NULL, "the separator is empty, expected a character such as ','");
}

static void save(const liana_callback_item *item, liana_callback_state *state)
{
    const csv_logger *own = item->self;
    liana__keep_text(state, "text", own->text.data ? own->text.data : "");
}

static liana_status load(liana_callback_item *item, const liana_fit_context *context, const liana_callback_state *state)
{
    csv_logger *own = item->self;
    const char *text = liana__kept_text(state, "text");
    own->text.length = 0;
    if (text) liana__text_add(&own->text, "%s", text);
    return own->text.failed ? liana__fail_memory(context->error, "the log") : LIANA_OK;
}

static void destroy(liana_callback_item *item)
{
    csv_logger *own = item->self;
    liana__text_free(&own->text);
    free(own->path);
}

/* ---- rows ---- */

static const char *value_name(const liana__training *training, size_t index)
{
    return index ? training->metric_names[index - 1] : "loss";
}

static void add_header(const csv_options *options, csv_logger *own, const liana_fit_context *context)
{
    const liana__training *training = context->training;
    liana__text_add(&own->text, "epoch");
    for (int part = 0; part < 1 + context->validates; part++) {
        for (size_t i = 0; i <= training->num_metrics; i++) {
            liana__text_add(&own->text, "%s%s%s", options->separator, part ? "val_" : "", value_name(training, i));
        }
    }
    liana__text_add(&own->text, "%slearning_rate%sglobal_step\n", options->separator, options->separator);
}

/* A table that an older liana began keeps its columns, so that all its rows have as many cells. */
static bool has_global_step(const csv_logger *own)
{
    static const char name[] = "global_step";
    const size_t length = own->text.data ? strcspn(own->text.data, "\n") : 0;
    return length >= strlen(name) && memcmp(own->text.data + length - strlen(name), name, strlen(name)) == 0;
}

/* A cell is empty where nothing was measured. */
static void add_means(const csv_options *options, csv_logger *own, const liana__totals *totals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        liana__text_add(&own->text, "%s", options->separator);
        if (totals->count) liana__text_add_double(&own->text, liana__totals_value(totals, i));
    }
}

static liana_status write_file(void *user, bool is_chief, liana__error *error)
{
    const csv_logger *own = user;
    return is_chief ? liana__file_replace(own->path, own->text.data, own->text.length, error) : LIANA_OK;
}

static liana_status write_text(const csv_logger *own, const liana_fit_context *context, liana__error *error)
{
    if (own->text.failed) return liana__fail_memory(error, "the log");
    return liana__chief_does(context->training->cluster, write_file, (void *)(uintptr_t)own, error);
}

/* The rows of the file that is there, once; without a last newline they get one. */
static liana_status read_rows(csv_logger *own, liana__error *error)
{
    enum { MOST_BYTES = 1 << 28 };
    char *bytes;
    size_t size;
    if (!liana__file_exists(own->path)) return LIANA_OK;
    LIANA_TRY(liana__file_read(own->path, MOST_BYTES, &bytes, &size, error));
    liana__text_add_bytes(&own->text, bytes, size);
    if (size && bytes[size - 1] != '\n') liana__text_add(&own->text, "\n");
    free(bytes);
    return LIANA_OK;
}

static liana_status train_begin(liana_callback_item *item, liana_fit_context *context)
{
    liana__error *error = context->error;
    const csv_options *options = item->options;
    csv_logger *own = item->self;
    liana__text path = {0};
    bool inside = context->folder && options->filename[0] != '/';
    liana__text_add(&path, "%s%s%s", inside ? context->folder : "", inside ? "/" : "", options->filename);
    if (path.failed) return liana__fail_memory(error, "the log");
    free(own->path);
    own->path = path.data;
    if (own->text.length == 0 && options->append) LIANA_TRY(read_rows(own, error));
    if (own->text.length == 0) add_header(options, own, context);
    return write_text(own, context, error);
}

static liana_status epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const csv_options *options = item->options;
    csv_logger *own = item->self;
    size_t count = 1 + context->training->num_metrics;
    liana__text_add(&own->text, "%lld", (long long)context->epoch);
    add_means(options, own, context->totals, count);
    if (context->validates) add_means(options, own, context->validation, count);
    liana__text_add(&own->text, "%s", options->separator);
    liana__text_add_double(&own->text, context->learning_rate);
    if (has_global_step(own)) {
        liana__text_add(&own->text, "%s%lld", options->separator, (long long)context->training->state.iteration);
    }
    liana__text_add(&own->text, "\n");
    return write_text(own, context, context->error);
}

const liana_callback_type liana__callback_CSVLogger = {
    LIANA_PART(CALLBACK, liana_callback_type, "CSVLogger",
               "Writes a table with the loss, the metrics and the learning rate of each epoch.",
               LIANA_PART_OPTIONS(csv_options, fields), .check = check),
    .self_size = sizeof(csv_logger),
    .save = save,
    .load = load,
    .close = destroy,
    .on = {[LIANA_ON_TRAIN_BEGIN] = train_begin, [LIANA_ON_EPOCH_END] = epoch_end},
};
