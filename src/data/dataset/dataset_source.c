/* Shows a dataset of labelled images as a source, and files as a dataset. */
#include "data/dataset/dataset_source.h"

#include "data/source/cast.h"
#include "data/source/class_list.h"
#include "formats/yaml.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- the components that a model reads ---- */

void liana__dataset_image(const liana_element *element, size_t component, liana_source_record *record)
{
    const liana_component *image = &element->spec->components[component];
    if (image->dtype == LIANA_STRING) {
        const liana_bytes *bytes = element->data[component];
        record->bytes = bytes->data;
        record->size = bytes->size;
        return;
    }
    record->pixels = element->data[component];
    record->height = image->shape.dims[0];
    record->width = image->shape.dims[1];
    record->channels = image->shape.rank == 3 ? (int)image->shape.dims[2] : 1;
}

liana_status liana__dataset_check_image(const liana__spec *spec, size_t *component, liana__error *error)
{
    int index = liana__spec_find(spec, "image");
    if (index < 0) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "there is no component 'image'; rename the component with the images (liana_dataset_rename)");
    }
    const liana_component *image = &spec->components[index];
    const liana_shape *shape = &image->shape;
    bool encoded = image->dtype == LIANA_STRING && shape->rank == 0;
    bool grey = shape->rank == 2 || (shape->rank == 3 && shape->dims[2] == 1);
    bool pixels = image->dtype == LIANA_U8 && (grey || (shape->rank == 3 && shape->dims[2] == 3));
    for (int i = 0; pixels && i < shape->rank; i++) pixels = shape->dims[i] > 0;
    *component = (size_t)index;
    if (encoded || pixels) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_ARGUMENT,
        "the component 'image' is %s, expected an encoded file (string []) or pixels (u8 [height, width, "
        "1 or 3]) of one example",
        liana__component_describe(image).text);
}

static int64_t integer_at(int dtype, const void *data)
{
    switch (dtype) {
    case LIANA_U8: return *(const uint8_t *)data;
    case LIANA_BOOL: return *(const uint8_t *)data != 0;
    case LIANA_S32: return *(const int32_t *)data;
    case LIANA_U32: return *(const uint32_t *)data;
    case LIANA_S8: return *(const int8_t *)data;
    case LIANA_S16: return *(const int16_t *)data;
    case LIANA_U16: return *(const uint16_t *)data;
    default: return *(const int64_t *)data;
    }
}

static bool is_integer(int dtype)
{
    return dtype >= 0 && dtype < LIANA_NUM_DTYPES && dtype != LIANA_F32 && dtype != LIANA_BF16 && dtype != LIANA_F64 &&
           dtype != LIANA_F16;
}

static liana_status check_label(const liana__spec *spec, int *label, liana__error *error)
{
    *label = liana__spec_find(spec, "label");
    if (*label < 0) return LIANA_OK;
    const liana_component *component = &spec->components[*label];
    if (is_integer(component->dtype) && component->shape.rank == 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the component 'label' is %s, expected a whole number (s64 [])",
                       liana__component_describe(component).text);
}

/* A text or a whole number. */
static int find_id(const liana__spec *spec)
{
    int id = liana__spec_find(spec, "id");
    bool fits = id >= 0 && (spec->components[id].dtype == LIANA_STRING || is_integer(spec->components[id].dtype)) &&
                spec->components[id].shape.rank == 0;
    return fits ? id : -1;
}

/* ---- a stream at any position ---- */

/* Threads ask for positions in nearly ascending order. Elements that one thread passed over wait here for the others.
 * There are never more than the number of threads times the examples that each claims at once. */
enum { WAITING = 4096 };

typedef struct waiting {
    uint64_t position;
    bool full;
    size_t bytes; /* of the store, as they are counted */
    liana__holder store;
    liana_element element;
} waiting;

typedef struct stream {
    pthread_mutex_t mutex;
    liana__pace pace;
    liana__budget budget;
    uint64_t length; /* of a pass; 0: endless, or not known yet */
    bool open_ended; /* the end of the first pass will say its length */
    liana__cursor *cursor;
    uint64_t next; /* the position that it gives next */
    /* Reading begins at `first`: the first call, which may ask for a later position, opens the stream there. */
    uint64_t first;
    bool begins;
    waiting *waiting;
} stream;

typedef struct view {
    liana__source base;
    liana_dataset *dataset;
    int image; /* component, or -1 */
    int label;
    int id;
    stream *stream; /* NULL: the dataset is random-access, of a finite length */
} view;

typedef struct view_scratch {
    liana__memory_share *share;
    liana__reader *reader;
    liana__holder store;
    char id[24]; /* of an example whose id is a number */
} view_scratch;

/* Counts the elements of an epoch, without stages that keep their number. Done once for all callers. */
static liana_status count_elements(const liana_dataset *dataset, stream *from, liana__error *error)
{
    static const liana__at first;
    while (dataset->kind->apply || dataset->kind == &liana__stage_shuffle) dataset = dataset->inputs[0];
    atomic_llong *counted = &((liana_dataset *)dataset)->counted;
    long long known = atomic_load(counted); /* one more than the length; 0: not counted yet */
    if (known) from->length = (uint64_t)known - 1;
    if (known) return LIANA_OK;
    liana__cursor *cursor;
    LIANA_TRY(liana__cursor_open(dataset, from->pace, &first, &cursor, error));
    liana_status status = LIANA_OK;
    while (status == LIANA_OK) {
        liana_element element;
        status = liana__cursor_next(cursor, &element, error);
    }
    uint64_t length = cursor->index;
    liana__cursor_close(cursor);
    /* A failure in between says nothing of the length. */
    if (status != LIANA_END_OF_DATA) return status;
    from->length = length;
    atomic_store(counted, (long long)length + 1);
    return LIANA_OK;
}

static liana_status open_at(const view *own, uint64_t seed, uint64_t position, liana__error *error)
{
    stream *from = own->stream;
    liana__at at = {seed, 0, position};
    if (from->open_ended && !from->length && position) LIANA_TRY(count_elements(own->dataset, from, error));
    if (from->length) {
        at.epoch = position / from->length;
        at.index = position % from->length;
    }
    liana__cursor_close(from->cursor);
    from->cursor = NULL;
    from->next = position;
    return liana__cursor_open(own->dataset, from->pace, &at, &from->cursor, error);
}

static liana_status fail_length(const stream *from, const char *what, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA,
                       "epoch %" PRIu64 " of the dataset has %s elements than the %" PRIu64 " of the first one; repeat "
                       "it endlessly (liana_dataset_repeat) and set steps_per_epoch",
                       from->next / from->length, what, from->length);
}

/* The element at from->next. */
static liana_status step(const view *own, uint64_t seed, liana_element *element, liana__error *error)
{
    stream *from = own->stream;
    if (from->length && from->next % from->length == 0 && from->cursor && from->cursor->index == from->length) {
        liana_status end = liana__cursor_next(from->cursor, element, error);
        if (end == LIANA_OK) return fail_length(from, "more", error);
        if (end != LIANA_END_OF_DATA) return end;
        LIANA_TRY(open_at(own, seed, from->next, error));
    }
    liana_status status = liana__cursor_next(from->cursor, element, error);
    if (status == LIANA_OK) from->next++;
    if (status != LIANA_END_OF_DATA) return status;
    if (from->length) return fail_length(from, "fewer", error);
    if (from->open_ended && from->next) {
        from->length = from->next;
        return step(own, seed, element, error);
    }
    if (from->open_ended) {
        return liana__fail(error, LIANA_INVALID_DATA, "the dataset '%s' has no elements", own->dataset->name);
    }
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the dataset, which was said to be endless, ended after %" PRIu64 " elements", from->next);
}

/* Elements that wait count as made ahead, too. */
static void count_waiting(stream *from, waiting *place)
{
    size_t bytes = liana__holder_bytes(&place->store);
    atomic_fetch_add(&from->budget.ahead, bytes - place->bytes);
    place->bytes = bytes;
}

static liana_status read_stream(const view *own, const liana_example_address *address, view_scratch *scratch,
                                liana_element *element, liana__error *error)
{
    stream *from = own->stream;
    uint64_t position = address->position;
    waiting *there = &from->waiting[position % WAITING];
    if (there->full && there->position == position) {
        liana__holder swapped = scratch->store;
        scratch->store = there->store;
        there->store = swapped;
        there->full = false;
        count_waiting(from, there);
        *element = there->element;
        return LIANA_OK;
    }
    if (!from->cursor || position < from->next || position - from->next >= WAITING) {
        const bool near = from->begins && position - from->first < WAITING;
        from->begins = false;
        LIANA_TRY(open_at(own, address->seed, near ? from->first : position, error));
    }
    while (from->next < position) {
        waiting *place = &from->waiting[from->next % WAITING];
        liana_element passed;
        place->full = false;
        place->position = from->next;
        LIANA_TRY(step(own, address->seed, &passed, error));
        LIANA_TRY(liana__holder_copy(&place->store, &passed, &place->element, error));
        place->full = true;
        count_waiting(from, place);
    }
    liana_element one;
    LIANA_TRY(step(own, address->seed, &one, error));
    return liana__holder_copy(&scratch->store, &one, element, error);
}

/* ---- as a source ---- */

static void close_view(void *handle)
{
    view *own = handle;
    if (own->stream) {
        liana__cursor_close(own->stream->cursor);
        for (size_t i = 0; own->stream->waiting && i < WAITING; i++) liana__holder_free(&own->stream->waiting[i].store);
        pthread_mutex_destroy(&own->stream->mutex);
        free(own->stream->waiting);
        free(own->stream);
    }
    liana_dataset_close(own->dataset);
    free(own);
}

static void free_scratch(void *pointer)
{
    view_scratch *scratch = pointer;
    liana__reader_destroy(scratch->reader);
    liana__holder_free(&scratch->store);
}

/* Another seed for each position, so that functions draw differently when an example comes again in an epoch. */
static liana_status read_random(const view *own, const liana_example_address *address, view_scratch *scratch,
                                liana_element *element, liana__error *error)
{
    if (!scratch->reader) scratch->reader = liana__reader_create(own->dataset, scratch->share);
    if (!scratch->reader) return liana__fail_memory(error, "reading a dataset");
    uint64_t seed = liana__draw_for(address->seed, address->epoch, address->position, LIANA__SALT_POSITION);
    liana__at at = {seed, address->epoch, address->record};
    return liana__reader_read(scratch->reader, &at, element, error);
}

static void put_id(const liana_element *element, size_t component, view_scratch *scratch, liana_source_record *record)
{
    const int dtype = element->spec->components[component].dtype;
    if (dtype == LIANA_STRING) {
        const liana_bytes *id = element->data[component];
        record->id = id->size ? id->data : NULL;
        record->id_size = id->size;
        return;
    }
    liana__cast_describe((liana_dtype)dtype, element->data[component], 0, scratch->id, sizeof scratch->id);
    record->id = scratch->id;
    record->id_size = strlen(scratch->id);
}

static liana_status read_at(void *handle, const liana_example_address *address, liana_source_record *record)
{
    const view *own = handle;
    liana_element element;
    if (own->stream) {
        pthread_mutex_lock(&own->stream->mutex);
        liana_status status = read_stream(own, address, record->scratch, &element, record->error);
        pthread_mutex_unlock(&own->stream->mutex);
        LIANA_TRY(status);
    } else {
        LIANA_TRY(read_random(own, address, record->scratch, &element, record->error));
    }
    if (own->image >= 0) liana__dataset_image(&element, (size_t)own->image, record);
    for (size_t i = 0; i < element.spec->count; i++) record->values[i] = element.data[i];
    record->has_label = own->label >= 0;
    if (own->label >= 0) {
        record->label = integer_at(element.spec->components[own->label].dtype, element.data[own->label]);
    }
    if (own->id >= 0) put_id(&element, (size_t)own->id, record->scratch, record);
    return LIANA_OK;
}

static liana_status read_record(void *handle, liana_source_record *record)
{
    const liana_example_address address = {.position = record->index, .record = record->index};
    return read_at(handle, &address, record);
}

/* The dataset that a record comes from, and its index there, as far as the stages know it. */
static const liana_dataset *find_origin(const view *own, uint64_t *index)
{
    const liana_dataset *dataset = own->dataset;
    while (dataset->num_inputs && !own->stream) {
        const liana_stage_type *kind = dataset->kind;
        size_t input = 0;
        if (kind->trace) input = kind->trace(dataset, index);
        if (!kind->trace && !kind->apply) break;
        dataset = dataset->inputs[input];
    }
    return dataset;
}

/* If the files are not known, the name of the last stage is used. */
static liana_record_address address_of(const void *handle, uint64_t index)
{
    const view *own = handle;
    uint64_t number = index;
    const liana_dataset *origin = find_origin(own, &number);
    if (origin->source) return liana__source_address(origin->source, number);
    if (origin->kind->address) return origin->kind->address(origin, number);
    return (liana_record_address){own->dataset->name, (int64_t)index, 0};
}

static void expect(const void *handle, uint64_t index)
{
    const liana__source *source = find_origin(handle, &index)->source;
    if (source) liana__source_expect(source, index);
}

static void begin(void *handle, uint64_t position)
{
    stream *from = ((const view *)handle)->stream;
    if (!from) return;
    liana__cursor_close(from->cursor);
    from->cursor = NULL;
    from->first = position;
    from->begins = true;
}

static void take_memory(void *handle, size_t bytes)
{
    const view *own = handle;
    if (own->stream) own->stream->budget.memory = bytes;
}

static size_t scratch_bytes(const void *pointer)
{
    const view_scratch *scratch = pointer;
    return liana__holder_bytes(&scratch->store) + (scratch->reader ? liana__reader_bytes(scratch->reader) : 0);
}

static void scratch_bound(void *pointer, liana__memory_share *share)
{
    ((view_scratch *)pointer)->share = share;
}

static const liana_source_type view_kind = {
    LIANA_PART(SOURCE, liana_source_type, "dataset", "The elements of a dataset."),
    .close = close_view,
    .read = read_record,
    .read_at = read_at,
    .address = address_of,
    .expect = expect,
    .begin = begin,
    .scratch_size = sizeof(view_scratch),
    .scratch_free = free_scratch,
    .scratch_bytes = scratch_bytes,
    .scratch_bound = scratch_bound,
    .take_memory = take_memory,
};

/* ---- making one ---- */

static liana_status make_stream(view *own, int64_t endless_length, liana__error *error)
{
    liana_dataset *dataset = own->dataset;
    stream *from = own->stream = calloc(1, sizeof *from);
    if (!from) return liana__fail_memory(error, "a dataset");
    pthread_mutex_init(&from->mutex, NULL);
    from->waiting = calloc(WAITING, sizeof *from->waiting);
    if (!from->waiting) return liana__fail_memory(error, "a dataset");
    from->budget.memory = LIANA__DATASET_MEMORY;
    from->pace = (liana__pace){liana_context_num_threads(dataset->context), &from->budget};
    if (dataset->length == LIANA_INFINITE) {
        own->base.num_records = (uint64_t)endless_length;
        if (endless_length) return LIANA_OK;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the dataset '%s' is endless; set steps_per_epoch, which says how long an epoch is, or "
                           "limit it (liana_dataset_take)",
                           dataset->name);
    }
    if (dataset->length == LIANA_UNKNOWN && dataset->length_varies) {
        if (!endless_length) LIANA_TRY(count_elements(dataset, from, error));
        own->base.num_records = endless_length ? (uint64_t)endless_length : from->length;
        from->length = 0;
        own->dataset = liana_dataset_repeat(dataset, -1);
        return own->dataset ? LIANA_OK : liana__fail_memory(error, "a dataset");
    }
    if (dataset->length == LIANA_UNKNOWN && endless_length) {
        from->open_ended = true;
        own->base.num_records = (uint64_t)endless_length;
        return LIANA_OK;
    }
    from->length = (uint64_t)dataset->length;
    if (dataset->length == LIANA_UNKNOWN) LIANA_TRY(count_elements(dataset, from, error));
    own->base.num_records = from->length;
    return LIANA_OK;
}

/* Stages after which `label` may be something else than in the files. */
static bool changes_labels(const liana_stage_type *kind)
{
    return kind == &liana__stage_map || kind == &liana__stage_interleave || kind == &liana__stage_zip ||
           kind == &liana__stage_rename || kind == &liana__stage_unbatch;
}

bool liana__dataset_has_numbers(const liana_dataset *dataset)
{
    while (!dataset->source && dataset->num_inputs && !changes_labels(dataset->kind)) dataset = dataset->inputs[0];
    return dataset->source && dataset->source->has_labels && !dataset->source->class_names.count;
}

static liana__strings count_names(const char *const *names)
{
    liana__strings list = {0, names};
    while (names && names[list.count]) list.count++;
    return list;
}

liana_status liana__dataset_ask_classes(const liana_dataset_options *options, liana__source_options *wanted,
                                        liana__error *error)
{
    wanted->class_names = count_names(options->class_names);
    liana__error own = {0};
    if (liana__class_list_check(&wanted->class_names, &own) != LIANA_OK) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "class_names: %s", own.message);
    }
    if (!options->classes_of) return LIANA_OK;
    if (options->class_names) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "classes_of and class_names exclude each other; keep one of them");
    }
    wanted->class_names = liana__dataset_class_names(options->classes_of);
    wanted->labels_are_names = wanted->class_names.count > 0;
    return LIANA_OK;
}

liana_status liana__dataset_keep_options(liana_dataset *dataset, const liana_dataset_options *options,
                                         liana__error *error)
{
    liana__strings names = count_names(options->class_names);
    dataset->class_names = liana__names_copy(&names, &dataset->arena);
    if (dataset->arena.failed) return liana__fail_memory(error, "the names of the classes");
    dataset->scale = options->scale;
    dataset->antialias = options->antialias;
    return LIANA_OK;
}

liana__strings liana__dataset_class_names(const liana_dataset *dataset)
{
    while (!dataset->class_names.count && !dataset->source && dataset->num_inputs) dataset = dataset->inputs[0];
    if (dataset->class_names.count) return dataset->class_names;
    return dataset->source ? dataset->source->class_names : (liana__strings){0};
}

/* The columns of the files that the elements come from; NULL: none. */
static const liana__columns *columns_of(const liana_dataset *dataset)
{
    while (!dataset->source && dataset->num_inputs) dataset = dataset->inputs[0];
    return dataset->source ? dataset->source->columns : NULL;
}

/* The columns as written, or those of the dataset whose classes are used. */
liana_status liana__dataset_ask_columns(const liana_dataset_options *options, liana__arena *arena,
                                        liana__columns *columns, liana__source_options *wanted, liana__error *error)
{
    wanted->columns_optional = options->unlabelled;
    wanted->header = (liana__header)options->header;
    wanted->field_delim = options->field_delim;
    wanted->plain_quotes = options->plain_quotes;
    wanted->na_value = options->na_value;
    if (!options->columns) {
        wanted->columns = options->classes_of ? columns_of(options->classes_of) : NULL;
        return LIANA_OK;
    }
    liana__value *map;
    LIANA_TRY(liana__yaml_parse(options->columns, strlen(options->columns), "columns", arena, &map, error));
    LIANA_TRY(liana__columns_read(map, "columns", arena, columns, error));
    if (columns->count) wanted->columns = columns;
    return LIANA_OK;
}

static bool is_batched(const liana_dataset *dataset)
{
    bool batched = dataset->kind == &liana__stage_batch;
    for (size_t i = 0; i < dataset->num_inputs && !batched; i++) batched = is_batched(dataset->inputs[i]);
    return batched;
}

/* Users of tf.data make batches. */
static liana_status fail_components(const liana_dataset *dataset, liana_status status, liana__error *error)
{
    if (error && is_batched(dataset)) {
        liana__error own = *error;
        liana__fail(
            error, status,
            "%s; leave out liana_dataset_batch: the model makes batches of batch_size itself, from single examples",
            own.message);
    }
    return liana__fail_within(error, "the dataset '%s'", dataset->name);
}

static liana_status check_pictures(const view *own, liana__error *error)
{
    size_t image;
    int label;
    LIANA_TRY(liana__dataset_check_image(&own->dataset->spec, &image, error));
    return check_label(&own->dataset->spec, &label, error);
}

/* Values have the same shape in all examples. */
static liana_status check_static(const view *own, liana__error *error)
{
    const liana__spec *spec = &own->dataset->spec;
    for (size_t i = 0; i < spec->count; i++) {
        const liana_component *component = &spec->components[i];
        if (liana__component_is_static(component)) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%s' is %s, expected a shape without unknown dimensions; "
                           "liana_dataset_pad gives its values one length",
                           component->name, liana__component_describe(component).text);
    }
    return LIANA_OK;
}

/* The components with a meaning of their own, where dtype and shape fit it. */
static void find_components(view *own)
{
    const liana__spec *spec = &own->dataset->spec;
    size_t image;
    own->image = liana__dataset_check_image(spec, &image, NULL) == LIANA_OK ? (int)image : -1;
    if (check_label(spec, &own->label, NULL) != LIANA_OK) own->label = -1;
    own->id = find_id(spec);
    own->base.lacks_images = own->image < 0;
    own->base.has_labels = own->label >= 0;
    own->base.num_components = spec->count;
    own->base.components = spec->components;
}

/* Names the stage that leaves nothing of what comes to it. */
static liana_status fail_empty(const liana_dataset *dataset, liana__error *error)
{
    const liana_dataset *stage = dataset;
    while (stage->num_inputs == 1 && stage->inputs[0]->length == 0) stage = stage->inputs[0];
    if (stage->num_inputs != 1 || stage->inputs[0]->length < 0) {
        return liana__fail(error, LIANA_INVALID_DATA, "the dataset '%s' has no elements", dataset->name);
    }
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the dataset '%s' has no elements: '%s' leaves none of the %lld that come to it; change its "
                       "options, or give more data",
                       dataset->name, stage->name, (long long)stage->inputs[0]->length);
}

static liana_status make_view(const liana_dataset *dataset, int64_t endless_length, bool pictures,
                              liana__source **source, liana__error *error)
{
    view *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "a dataset");
    own->base.kind = &view_kind;
    own->base.varies = dataset->varies;
    own->dataset = liana_dataset_retain((liana_dataset *)dataset);
    own->base.class_names = liana__dataset_class_names(dataset);
    own->base.memory = liana__dataset_memory(dataset);
    own->base.num_blocks = dataset->num_blocks;
    own->base.block_starts = dataset->block_starts;
    find_components(own);
    liana_status status = pictures ? check_pictures(own, error) : check_static(own, error);
    if (status != LIANA_OK) fail_components(dataset, status, error);
    own->base.num_records = dataset->length > 0 ? (uint64_t)dataset->length : 0;
    if (status == LIANA_OK && (!dataset->random_access || dataset->length == LIANA_INFINITE)) {
        own->base.varies = true;
        own->base.streams = true;
        status = make_stream(own, endless_length, error);
    }
    if (status == LIANA_OK && own->base.num_records == 0) status = fail_empty(dataset, error);
    if (status == LIANA_OK) *source = &own->base;
    if (status != LIANA_OK) close_view(&own->base);
    return status;
}

liana_status liana__dataset_view(const liana_dataset *dataset, int64_t endless_length, liana__source **source,
                                 liana__error *error)
{
    *source = dataset->source;
    if (!*source) return make_view(dataset, endless_length, true, source, error);
    if (!(*source)->lacks_images) return LIANA_OK;
    const char *file = liana__source_address(*source, 0).file;
    *source = NULL;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' is a table without images, which are needed here", file);
}

liana_status liana__dataset_view_values(const liana_dataset *dataset, int64_t endless_length, liana__source **source,
                                        liana__error *error)
{
    *source = dataset->source;
    return *source ? LIANA_OK : make_view(dataset, endless_length, false, source, error);
}

static void visit_sources(const liana_dataset *dataset, void (*visit)(void *user, const liana__source *source),
                          void *user)
{
    if (dataset->source) visit(user, dataset->source);
    for (size_t i = 0; i < dataset->num_inputs; i++) visit_sources(dataset->inputs[i], visit, user);
}

void liana__dataset_view_sources(const liana__source *source, void (*visit)(void *user, const liana__source *source),
                                 void *user)
{
    if (source->kind == &view_kind) {
        visit_sources(((const view *)source)->dataset, visit, user);
    } else {
        visit(user, source);
    }
}

void liana__dataset_close_view(liana__source *source)
{
    if (source && source->kind == &view_kind) liana__source_close(source);
}

static liana_status count_all_classes(const liana_dataset *dataset, int64_t *num_classes)
{
    liana__error *error = &dataset->context->error;
    liana__source *source;
    LIANA_TRY(liana__dataset_view_values(dataset, 0, &source, error));
    liana_status status = liana__source_count_classes(source, dataset->label_offset, num_classes, NULL, error);
    liana__dataset_close_view(source);
    return status;
}

liana_status liana_dataset_count_classes(const liana_dataset *dataset, int64_t *num_classes)
{
    LIANA__REQUIRE(NULL, dataset);
    LIANA__REQUIRE(&dataset->context->error, num_classes);
    LIANA__CONTEXT_CALL(dataset->context, count_all_classes(dataset, num_classes));
}

static liana_status first_image_shape(const liana_dataset *dataset, int64_t shape[3])
{
    liana__error *error = &dataset->context->error;
    liana__source *source;
    liana__probe first = {0};
    LIANA_TRY(liana__dataset_view(dataset, 1, &source, error));
    liana_status status = liana__decode_probe(source, &first, error);
    liana__dataset_close_view(source);
    shape[0] = first.height;
    shape[1] = first.width;
    shape[2] = first.encoded ? 3 : first.channels;
    return status;
}

liana_status liana_dataset_image_shape(const liana_dataset *dataset, int64_t shape[3])
{
    LIANA__REQUIRE(NULL, dataset);
    LIANA__REQUIRE(&dataset->context->error, shape);
    LIANA__CONTEXT_CALL(dataset->context, first_image_shape(dataset, shape));
}
