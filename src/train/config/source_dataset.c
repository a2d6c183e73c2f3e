/* Makes a dataset of a source of a configuration. */
#include "train/config/source_dataset.h"

#include "base/scoped.h"
#include "base/value_read.h"
#include "data/source/class_list.h"
#include "data/source/source_open.h"
#include "formats/yaml.h"
#include "train/config/config_internal.h"

#include <string.h>

/* Returns the failure that a maker of datasets has left in the context. */
static liana_status hand_on(const liana__source_request *request, const liana_dataset *dataset, liana__error *error)
{
    const liana__error *left = &request->context->error;
    if (dataset) return LIANA_OK;
    if (error && error != left) *error = *left;
    return left->status;
}

static liana_interleave_datasets_options turns_of(const liana__source_config *where)
{
    return (liana_interleave_datasets_options){where->interleave.cycle_length, where->interleave.block_length};
}

static liana_status open_files(const liana__source_request *request, const liana__source_config *where,
                               liana_dataset **dataset, liana__error *error)
{
    liana__source *source;
    LIANA_TRY(request->open(request->user, where, &source, error));
    liana_dataset *files = liana__dataset_of_source(request->context, source, request->label_offset);
    liana_interleave_datasets_options turns = turns_of(where);
    *dataset = files && turns.cycle_length ? liana__dataset_interleave_files(files, &turns) : files;
    return hand_on(request, *dataset, error);
}

/* An order and repetitions of its own for each that is mixed. */
static liana_dataset *prepare_sample(const liana__source_request *request, liana_dataset *dataset, size_t number)
{
    uint64_t seed = liana__seed_of_input(request->seed, number + 1);
    if (request->shuffle) dataset = liana_dataset_shuffle(dataset, &(liana_shuffle_options){.seed = seed});
    return request->repeat ? liana_dataset_repeat(dataset, -1) : dataset;
}

/* Takes the datasets. */
static liana_dataset *join(const liana__source_request *request, const liana__source_config *where,
                           liana_dataset *const *inputs, const double *weights, size_t count)
{
    if (where->concatenate) return liana_dataset_concatenate(inputs, count);
    liana_interleave_datasets_options turns = turns_of(where);
    if (where->interleave.sources) return liana_dataset_interleave_datasets(inputs, count, &turns);
    liana_sample_options options = {.weights = weights, .seed = request->seed};
    return liana_dataset_sample_from_datasets(inputs, count, &options);
}

static liana_status open_list(const liana__source_request *request, const liana__source_config *where,
                              const liana__value *list, const char *key, liana_dataset **dataset, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana_dataset **inputs = liana__arena_allocate(&arena, list->count * sizeof *inputs);
    double *weights = liana__arena_allocate(&arena, list->count * sizeof *weights);
    liana_status status = arena.failed ? liana__fail_memory(error, key) : LIANA_OK;
    size_t count = 0;
    for (; status == LIANA_OK && count < list->count; count++) {
        liana__source_config item;
        const char *name = liana__arena_format(&arena, "%s[%zu]", key, count);
        if (!name) status = liana__fail_memory(error, key);
        if (status == LIANA_OK) status = liana__config_read_source(list->items[count], name, &arena, &item, error);
        if (status == LIANA_OK) status = liana__source_dataset(request, &item, name, &inputs[count], error);
        if (status != LIANA_OK) break;
        weights[count] = item.weight;
        if (where->sample_from) inputs[count] = prepare_sample(request, inputs[count], count);
    }
    if (status == LIANA_OK) *dataset = join(request, where, inputs, weights, count);
    for (size_t i = 0; status != LIANA_OK && inputs && i < count; i++) liana_dataset_close(inputs[i]);
    return status == LIANA_OK ? hand_on(request, *dataset, error) : status;
}

/* The stage of that name; NULL: none is asked for. */
static const liana_stage_type *find_stage(const liana__source_request *request, const char *name)
{
    return name ? liana__part_find(request->context, &liana__stage_kind, name, NULL) : NULL;
}

static liana_status fail_function(const char *key, const char *use, const char *name, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "%s.%s: there is no function '%.100s'; a C program registers it with liana_register", key, use,
                       name);
}

static liana_status find_function(const liana__source_request *request, const char *key, const char *use,
                                  const char *name, const liana_stage_type **stage, liana__error *error)
{
    *stage = find_stage(request, name);
    const bool fits = *stage && (strcmp(use, "map") == 0 ? (*stage)->map != NULL : (*stage)->keep != NULL);
    return !name || fits ? LIANA_OK : fail_function(key, use, name, error);
}

/* A list of shares; *count must be that of the others, if there are others. */
static liana_status read_shares(const liana__value *list, const char *key, const char *use, liana__arena *arena,
                                double **shares, size_t *count, liana__error *error)
{
    char found[128];
    const bool fits = list->kind == LIANA__VALUE_LIST && list->count && (!*count || list->count == *count);
    if (fits) *shares = liana__arena_allocate(arena, list->count * sizeof **shares);
    if (fits && !*shares) return liana__fail_memory(error, key);
    for (size_t i = 0; fits && i < list->count; i++) {
        if (!liana__value_is_number(list->items[i])) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "%s.rejection_resample.%s[%zu]: found %s, expected a number", key, use, i,
                               liana__value_describe(list->items[i], found, sizeof found));
        }
        (*shares)[i] = list->items[i]->number;
    }
    if (!fits) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s.rejection_resample.%s: found %s, expected a list with a number for each class", key, use,
                           liana__value_describe(list, found, sizeof found));
    }
    *count = list->count;
    return LIANA_OK;
}

static liana_status resample(const liana__source_request *request, const liana__resample_config *config,
                             const char *key, liana_dataset **made, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    double *target = NULL, *initial = NULL;
    size_t count = 0;
    if (!config->target_dist) return LIANA_OK;
    LIANA_TRY(read_shares(config->target_dist, key, "target_dist", &arena, &target, &count, error));
    if (config->initial_dist) {
        LIANA_TRY(read_shares(config->initial_dist, key, "initial_dist", &arena, &initial, &count, error));
    }
    const liana_rejection_resample_options options = {.target_dist = target,
                                                      .num_classes = count,
                                                      .initial_dist = initial,
                                                      .seed = request->seed,
                                                      .same_each_epoch = config->same_each_epoch};
    *made = liana_dataset_rejection_resample(*made, &options);
    return LIANA_OK;
}

/* Stages in their order; a maker that fails leaves NULL, which the next ones hand on. */
static liana_status add_stages(const liana__source_request *request, const liana__source_config *where, const char *key,
                               liana_dataset **dataset, liana__error *error)
{
    const liana_stage_type *filter, *take_while, *map;
    LIANA_TRY(find_function(request, key, "filter", where->filter, &filter, error));
    LIANA_TRY(find_function(request, key, "take_while", where->take_while, &take_while, error));
    LIANA_TRY(find_function(request, key, "map", where->map, &map, error));
    if (filter) {
        const liana_filter_options options = {where->filter, filter->keep, filter->user};
        *dataset = liana_dataset_filter(*dataset, &options);
    }
    if (take_while) {
        const liana_filter_options options = {where->take_while, take_while->keep, take_while->user};
        *dataset = liana_dataset_take_while(*dataset, &options);
    }
    if (where->unique) *dataset = liana_dataset_unique(*dataset);
    LIANA_TRY(resample(request, &where->rejection_resample, key, dataset, error));
    if (map) {
        const liana_map_options options = {.name = where->map, .function = map->map, .user = map->user};
        *dataset = liana_dataset_map(*dataset, &options);
    }
    if (where->window.size) {
        const liana__window_config *window = &where->window;
        const liana_window_options options = {.size = window->size,
                                              .shift = window->shift,
                                              .stride = window->stride,
                                              .drop_remainder = true,
                                              .targets = (const char *const *)window->targets.items,
                                              .num_targets = window->targets.count,
                                              .target_offset = window->target_offset};
        *dataset = liana_dataset_window(*dataset, &options);
    }
    if (where->shard.count) *dataset = liana_dataset_shard(*dataset, where->shard.count, where->shard.index);
    if (where->skip) *dataset = liana_dataset_skip(*dataset, where->skip);
    if (where->take) *dataset = liana_dataset_take(*dataset, where->take);
    if (where->snapshot) {
        const liana_cache_options options = {.path = where->snapshot,
                                             .compression = where->snapshot_compression ? LIANA_COMPRESSION_GZIP
                                                                                        : LIANA_COMPRESSION_NONE};
        *dataset = liana_dataset_snapshot(*dataset, &options);
    }
    return hand_on(request, *dataset, error);
}

liana_status liana__source_dataset(const liana__source_request *request, const liana__source_config *where,
                                   const char *key, liana_dataset **dataset, liana__error *error)
{
    *dataset = NULL;
    const liana__value *list = where->concatenate   ? where->concatenate
                               : where->sample_from ? where->sample_from
                                                    : where->interleave.sources;
    liana_status status =
        list ? open_list(request, where, list, key, dataset, error) : open_files(request, where, dataset, error);
    if (status == LIANA_OK) status = add_stages(request, where, key, dataset, error);
    if (status != LIANA_OK) liana_dataset_close(*dataset);
    if (status != LIANA_OK) *dataset = NULL;
    return status;
}

/* ---- for programs ---- */

typedef struct opener {
    const liana_context *context;
    const liana_dataset_options *options;
    liana__strings class_names;
    const liana__columns *columns;
    liana__columns written;
    bool labels_are_names;
    bool numbered; /* labels of the first files are numbers */
} opener;

/* The classes of files after the first are numbered as that one's; so are their categories. */
static liana_status open_source(void *user, const liana__source_config *where, liana__source **source,
                                liana__error *error)
{
    opener *own = user;
    const liana_dataset_options *options = own->options;
    liana__source_options wanted = {.context = own->context,
                                    .kind = where->kind     ? where->kind
                                            : where->images ? "idx"
                                                            : "auto",
                                    .image_feature = options->image_feature,
                                    .label_feature = options->label_feature,
                                    .id_feature = options->id_feature,
                                    .labels = where->labels ? where->labels : options->labels,
                                    .columns = own->columns,
                                    .columns_optional = options->unlabelled,
                                    .header = (liana__header)options->header,
                                    .field_delim = options->field_delim,
                                    .plain_quotes = options->plain_quotes,
                                    .na_value = options->na_value,
                                    .class_names = own->class_names,
                                    .labels_are_names = own->labels_are_names && !options->unlabelled,
                                    .take = (uint64_t)options->take,
                                    .need_labels = !options->unlabelled,
                                    .ignore_labels = options->unlabelled};
    const char *const *patterns = where->images ? &where->images : where->paths.items;
    LIANA_TRY(liana__source_open(patterns, where->images ? 1 : where->paths.count, &wanted, source, error));
    const liana__strings *names = &(*source)->class_names;
    if ((*source)->columns) own->columns = (*source)->columns;
    if (options->unlabelled || own->class_names.count) return LIANA_OK;
    if (names->count && own->numbered && !liana__class_list_counts(names)) {
        liana__fail(error, LIANA_INVALID_DATA,
                    "the labels of '%s' are names (%s), those of the files before it are numbers; give the option "
                    "class_names: the names in the order of the numbers",
                    patterns[0], liana__class_list_show(names).text);
        liana__source_close(*source);
        *source = NULL;
        return LIANA_INVALID_DATA;
    }
    own->numbered = (*source)->has_labels && !names->count;
    own->labels_are_names = names->count > 0;
    own->class_names = *names;
    return LIANA_OK;
}

static liana_status read_text(const char *text, liana__arena *arena, liana__source_config *where, liana__error *error)
{
    liana__value *value;
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "dataset", arena, &value, error));
    LIANA_TRY(liana__config_read_source(value, "dataset", arena, where, error));
    if (!liana__config_has_source(where)) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "dataset: no source found, expected paths, images, concatenate, sample_from or interleave.sources");
    }
    return liana__config_resolve_source(where, "dataset", &value->place, arena, error);
}

static liana_status configure_dataset(liana_context *context, const char *text, const liana_dataset_options *options,
                                      liana_dataset **dataset)
{
    static const liana_dataset_options defaults;
    if (!options) options = &defaults;
    *dataset = NULL;
    liana__error *error = &context->error;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__source_config where;
    opener own = {.context = context, .options = options};
    liana__source_request request = {.context = context,
                                     .open = open_source,
                                     .user = &own,
                                     .label_offset = options->label_offset};
    if (options->take < 0) return liana__fail(error, LIANA_INVALID_ARGUMENT, "take is below 0");
    liana__source_options classes = {0};
    LIANA_TRY(liana__dataset_ask_classes(options, &classes, error));
    LIANA_TRY(liana__dataset_ask_columns(options, &arena, &own.written, &classes, error));
    own.columns = classes.columns;
    own.class_names = classes.class_names;
    own.labels_are_names = classes.labels_are_names;
    LIANA_TRY(read_text(text, &arena, &where, error));
    LIANA_TRY(liana__source_dataset(&request, &where, "dataset", dataset, error));
    const liana_status status = liana__dataset_keep_options(*dataset, options, error);
    if (status == LIANA_OK) return LIANA_OK;
    liana_dataset_close(*dataset);
    *dataset = NULL;
    return status;
}

liana_status liana_dataset_configure(liana_context *context, const char *text, const liana_dataset_options *options,
                                     liana_dataset **dataset)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, dataset);
    *dataset = NULL;
    LIANA__REQUIRE(&context->error, text);
    LIANA__CONTEXT_CALL(context, configure_dataset(context, text, options, dataset));
}
