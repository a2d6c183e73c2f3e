/* Reads and writes tf.Example messages. */
#include "formats/example.h"

#include "base/scoped.h"
#include "base/text.h"
#include "formats/example.pb-c.h"
#include "formats/sniff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Memory for one record. protobuf-c allocates many small pieces and frees some of them on its way; here all die
 * together when the next record is parsed. */
typedef struct liana__example_block {
    struct liana__example_block *next;
    size_t size;
    size_t used;
    size_t padding; /* keeps the memory behind it aligned to 16 bytes */
} block;

enum {
    MIN_BLOCK = 16 * 1024,
    /* The most that protobuf-c honestly needs for a byte of the record is some 80 bytes (an empty feature in two
     * bytes). A record made of very many copies of one field would have it merge them over and over, in quadratic time
     * and memory; that ends here. */
    BUDGET_PER_BYTE = 256,
};

static void *allocate(void *user, size_t size)
{
    liana__example *example = user;
    if (size > example->budget) {
        example->memory = LIANA_INVALID_DATA;
        return NULL;
    }
    size_t rounded = (size + 15) & ~(size_t)15;
    block *first = example->blocks;
    if (!first || rounded > first->size - first->used) {
        size_t wanted = rounded > example->reserve ? rounded : example->reserve;
        bool granted = liana__memory_share_ask(example->share, sizeof *first + wanted, "", NULL) == LIANA_OK;
        first = granted ? malloc(sizeof *first + wanted) : NULL;
        if (!first) {
            example->memory = LIANA_OUT_OF_MEMORY;
            return NULL;
        }
        *first = (block){.next = example->blocks, .size = wanted};
        example->blocks = first;
    }
    example->budget -= size;
    void *memory = (char *)(first + 1) + first->used;
    first->used += rounded;
    return memory;
}

static void ignore_free(void *user, void *memory)
{
    (void)user;
    (void)memory;
}

static void free_blocks(liana__example *example)
{
    while (example->blocks) {
        block *next = example->blocks->next;
        free(example->blocks);
        example->blocks = next;
    }
}

/* Makes the memory of the last record free for the next one. Several blocks become one. */
static void reset_memory(liana__example *example, size_t record_size)
{
    size_t total = 0;
    for (block *each = example->blocks; each; each = each->next) total += each->size;
    if (example->blocks && !example->blocks->next) {
        example->blocks->used = 0;
    } else {
        free_blocks(example);
    }
    size_t floor = record_size < SIZE_MAX / 2 - MIN_BLOCK ? record_size + record_size / 8 + MIN_BLOCK : record_size;
    example->reserve = total > floor ? total : floor;
    bool small = record_size < (SIZE_MAX - (1 << 20)) / BUDGET_PER_BYTE;
    example->budget = small ? record_size * BUDGET_PER_BYTE + (1 << 20) : SIZE_MAX - MIN_BLOCK;
}

static void fail_parse(const liana__example *example, const uint8_t *bytes, size_t size, liana__error *error)
{
    if (example->memory == LIANA_OUT_OF_MEMORY) {
        liana__fail_memory(error, "a tf.Example");
    } else if (example->memory == LIANA_INVALID_DATA) {
        liana__fail(error, LIANA_INVALID_DATA,
                    "its %zu bytes repeat fields so often that they would take more than %zu bytes of memory", size,
                    size * BUDGET_PER_BYTE);
    } else {
        const char *looks = liana__sniff(bytes, size);
        liana__fail(error, LIANA_INVALID_DATA, "its %zu bytes are not a tf.Example%s%s", size,
                    looks ? ": they look like " : "", looks ? looks : "");
    }
}

liana_status liana__example_parse(liana__example *example, const char *file, size_t record, const uint8_t *bytes,
                                  size_t size, liana__error *error)
{
    example->file = file;
    example->record = record;
    example->message = NULL;
    example->memory = LIANA_OK;
    reset_memory(example, size);
    ProtobufCAllocator allocator = {.alloc = allocate, .free = ignore_free, .allocator_data = example};
    example->message = liana__example__unpack(&allocator, size, bytes);
    if (example->message) return LIANA_OK;
    fail_parse(example, bytes, size, error);
    if (error && file) liana__fail_within(error, "'%s', record %zu", file, record);
    return example->memory == LIANA_OUT_OF_MEMORY ? LIANA_OUT_OF_MEMORY : LIANA_INVALID_DATA;
}

size_t liana__example_memory(const liana__example *example)
{
    size_t bytes = 0;
    for (const block *each = example->blocks; each; each = each->next) bytes += sizeof *each + each->size;
    return bytes;
}

void liana__example_free(liana__example *example)
{
    free_blocks(example);
    *example = (liana__example){0};
}

const char *liana__feature_kind_name(liana__feature_kind kind)
{
    static const char *const names[] = {"empty", "bytes", "float", "int64"};
    return names[kind];
}

static const Liana__Features *features_of(const liana__example *example)
{
    static const Liana__Features none = LIANA__FEATURES__INIT;
    return example->message && example->message->features ? example->message->features : &none;
}

size_t liana__example_num_features(const liana__example *example)
{
    return features_of(example)->n_feature;
}

static liana__feature make_feature(const char *name, const Liana__Feature *value)
{
    liana__feature feature = {.name = name};
    if (!value) return feature;
    switch (value->kind_case) {
    case LIANA__FEATURE__KIND_BYTES_LIST:
        feature.kind = LIANA__FEATURE_BYTES;
        feature.count = value->bytes_list->n_value;
        feature.bytes = value->bytes_list->value;
        break;
    case LIANA__FEATURE__KIND_FLOAT_LIST:
        feature.kind = LIANA__FEATURE_FLOAT;
        feature.count = value->float_list->n_value;
        feature.floats = value->float_list->value;
        break;
    case LIANA__FEATURE__KIND_INT64_LIST:
        feature.kind = LIANA__FEATURE_INT64;
        feature.count = value->int64_list->n_value;
        feature.int64s = value->int64_list->value;
        break;
    default: break;
    }
    return feature;
}

liana__feature liana__example_feature(const liana__example *example, size_t index)
{
    const Liana__FeatureEntry *entry = features_of(example)->feature[index];
    return make_feature(entry->key, entry->value);
}

bool liana__example_find(const liana__example *example, const char *name, liana__feature *feature)
{
    const Liana__Features *features = features_of(example);
    for (size_t i = features->n_feature; i > 0; i--) {
        if (strcmp(features->feature[i - 1]->key, name) != 0) continue;
        *feature = liana__example_feature(example, i - 1);
        return true;
    }
    return false;
}

static const Liana__FeatureLists *lists_of(const liana__example *example)
{
    static const Liana__FeatureLists none = LIANA__FEATURE_LISTS__INIT;
    return example->message && example->message->feature_lists ? example->message->feature_lists : &none;
}

size_t liana__example_num_lists(const liana__example *example)
{
    return lists_of(example)->n_feature_list;
}

liana__feature_list liana__example_list_at(const liana__example *example, size_t index)
{
    const Liana__FeatureListEntry *entry = lists_of(example)->feature_list[index];
    return (liana__feature_list){entry->key, entry->value ? entry->value->n_feature : 0, entry->value};
}

bool liana__example_find_list(const liana__example *example, const char *name, liana__feature_list *list)
{
    for (size_t i = liana__example_num_lists(example); i > 0; i--) {
        *list = liana__example_list_at(example, i - 1);
        if (strcmp(list->name, name) == 0) return true;
    }
    return false;
}

liana__feature liana__feature_list_step(const liana__feature_list *list, size_t step)
{
    return make_feature(list->name, list->steps->feature[step]);
}

enum { LISTED_FEATURES = 24, LISTED_NAME = 64 };

/* Appends a name from a file: cut if long, with anything that could upset a terminal replaced. */
static void add_name(liana__text *text, const char *name)
{
    char shown[LISTED_NAME + 1];
    size_t length = 0;
    for (; name[length] && length < LISTED_NAME; length++) {
        unsigned char c = (unsigned char)name[length];
        shown[length] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    shown[length] = 0;
    liana__text_add(text, "%s%s", shown, name[length] ? "..." : "");
}

void liana__example_describe(const liana__example *example, liana__text *text)
{
    size_t count = liana__example_num_features(example);
    if (count == 0 && liana__example_num_lists(example)) {
        liana__text_add(text, "the record has no features");
    } else if (count == 0) {
        liana__text_add(text, "the record has no features: is it a tf.Example?");
    } else {
        liana__text_add(text, "the record has: ");
    }
    for (size_t i = 0; i < count && i < LISTED_FEATURES; i++) {
        liana__feature feature = liana__example_feature(example, i);
        if (i) liana__text_add(text, ", ");
        add_name(text, feature.name);
        if (feature.count > 1)
            liana__text_add(text, " (%zu %s)", feature.count, liana__feature_kind_name(feature.kind));
        if (feature.count <= 1) liana__text_add(text, " (%s)", liana__feature_kind_name(feature.kind));
    }
    if (count > LISTED_FEATURES) liana__text_add(text, " and %zu more", count - LISTED_FEATURES);
    const size_t num_lists = liana__example_num_lists(example);
    for (size_t i = 0; i < num_lists && i < LISTED_FEATURES; i++) {
        const liana__feature_list list = liana__example_list_at(example, i);
        liana__text_add(text, i ? ", " : "; its feature lists (it is a SequenceExample): ");
        add_name(text, list.name);
        liana__text_add(text, " (%zu steps)", list.count);
    }
    if (num_lists > LISTED_FEATURES) liana__text_add(text, " and %zu more", num_lists - LISTED_FEATURES);
}

/* The error of a getter: the record's place, the problem, and the record's features. */
static LIANA__PRINTF(4, 5) liana_status
    fail_feature(const liana__example *example, liana__error *error, liana_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    liana__error what = {0};
    liana__fail_list(&what, status, format, arguments);
    va_end(arguments);
    LIANA__SCOPED(liana__text) text = {0};
    liana__example_describe(example, &text);
    liana__fail(error, status, "%.1024s; %s", what.message, text.data ? text.data : "");
    if (error && example->file) liana__fail_within(error, "'%s', record %zu", example->file, example->record);
    return status;
}

static liana_status fail_missing(const liana__example *example, const char *name, liana__error *error)
{
    size_t count = liana__example_num_features(example);
    liana__nearest_search search = liana__nearest_begin(name);
    /* Only short lists are searched: the distance takes the product of the lengths. */
    for (size_t i = 0; i < count && count <= LISTED_FEATURES; i++) {
        liana__nearest_add(&search, liana__example_feature(example, i).name);
    }
    if (!search.nearest) return fail_feature(example, error, LIANA_NOT_FOUND, "no feature '%s'", name);
    return fail_feature(example, error, LIANA_NOT_FOUND, "no feature '%s', did you mean '%.64s'?", name,
                        search.nearest);
}

liana_status liana__example_list(const liana__example *example, const char *name, liana__feature_kind kind,
                                 liana__feature *feature, liana__error *error)
{
    if (!liana__example_find(example, name, feature)) return fail_missing(example, name, error);
    if (feature->kind == kind) return LIANA_OK;
    if (feature->kind == LIANA__FEATURE_EMPTY) {
        return fail_feature(example, error, LIANA_INVALID_DATA, "feature '%s' is empty, expected a list of %s", name,
                            liana__feature_kind_name(kind));
    }
    return fail_feature(example, error, LIANA_INVALID_DATA, "feature '%s' is a list of %zu %s, expected a list of %s",
                        name, feature->count, liana__feature_kind_name(feature->kind), liana__feature_kind_name(kind));
}

liana_status liana__example_sequence(const liana__example *example, const char *name, liana__feature_kind kind,
                                     liana__feature_list *list, liana__error *error)
{
    if (!liana__example_find_list(example, name, list)) {
        return fail_feature(example, error, LIANA_NOT_FOUND, "no feature list '%s'", name);
    }
    for (size_t i = 0; i < list->count; i++) {
        const liana__feature step = liana__feature_list_step(list, i);
        if (step.kind == kind || step.kind == LIANA__FEATURE_EMPTY) continue;
        return fail_feature(example, error, LIANA_INVALID_DATA,
                            "feature list '%s', step %zu is a list of %zu %s, expected a list of %s", name, i,
                            step.count, liana__feature_kind_name(step.kind), liana__feature_kind_name(kind));
    }
    return LIANA_OK;
}

static liana_status find_single(const liana__example *example, const char *name, liana__feature_kind kind,
                                liana__feature *feature, liana__error *error)
{
    LIANA_TRY(liana__example_list(example, name, kind, feature, error));
    if (feature->count == 1) return LIANA_OK;
    return fail_feature(example, error, LIANA_INVALID_DATA, "feature '%s' has %zu %s values, expected 1", name,
                        feature->count, liana__feature_kind_name(kind));
}

liana_status liana__example_bytes(const liana__example *example, const char *name, const uint8_t **bytes, size_t *size,
                                  liana__error *error)
{
    liana__feature feature;
    LIANA_TRY(find_single(example, name, LIANA__FEATURE_BYTES, &feature, error));
    *bytes = feature.bytes->data;
    *size = feature.bytes->len;
    return LIANA_OK;
}

liana_status liana__example_int64(const liana__example *example, const char *name, int64_t *value, liana__error *error)
{
    liana__feature feature;
    LIANA_TRY(find_single(example, name, LIANA__FEATURE_INT64, &feature, error));
    *value = feature.int64s[0];
    return LIANA_OK;
}

/* A new entry for a list that was just allocated, or NULL. The caller fills in the list and hangs it in. */
static Liana__Feature *add_entry(liana__example_builder *builder, const char *name, Liana__Feature__KindCase kind,
                                 const void *list)
{
    Liana__FeatureEntry *entry = liana__arena_allocate(&builder->arena, sizeof *entry);
    Liana__Feature *value = liana__arena_allocate(&builder->arena, sizeof *value);
    if (!list || !entry || !value ||
        !liana__grow(&builder->entries, builder->count, &builder->capacity, sizeof entry)) {
        builder->failed = true;
        return NULL;
    }
    liana__feature_entry__init(entry);
    liana__feature__init(value);
    /* protobuf-c only reads it. */
    entry->key = (char *)(uintptr_t)name;
    entry->value = value;
    value->kind_case = kind;
    builder->entries[builder->count++] = entry;
    return value;
}

void liana__example_add_bytes(liana__example_builder *builder, const char *name, const void *bytes, size_t size)
{
    struct one_value {
        Liana__BytesList list;
        ProtobufCBinaryData value;
    } *one = liana__arena_allocate(&builder->arena, sizeof *one);
    Liana__Feature *feature = add_entry(builder, name, LIANA__FEATURE__KIND_BYTES_LIST, one);
    if (!feature) return;
    one->value = (ProtobufCBinaryData){.len = size, .data = (uint8_t *)(uintptr_t)bytes};
    liana__bytes_list__init(&one->list);
    one->list.n_value = 1;
    one->list.value = &one->value;
    feature->bytes_list = &one->list;
}

void liana__example_add_strings(liana__example_builder *builder, const char *name, const char *const *strings,
                                size_t count)
{
    Liana__BytesList *list = liana__arena_allocate(&builder->arena, sizeof *list);
    ProtobufCBinaryData *values = liana__arena_allocate(&builder->arena, (count + 1) * sizeof *values);
    builder->failed = builder->failed || !values;
    Liana__Feature *feature = values ? add_entry(builder, name, LIANA__FEATURE__KIND_BYTES_LIST, list) : NULL;
    if (!feature) return;
    for (size_t i = 0; i < count; i++) {
        values[i] = (ProtobufCBinaryData){.len = strlen(strings[i]), .data = (uint8_t *)(uintptr_t)strings[i]};
    }
    liana__bytes_list__init(list);
    list->n_value = count;
    list->value = values;
    feature->bytes_list = list;
}

void liana__example_add_int64s(liana__example_builder *builder, const char *name, const int64_t *values, size_t count)
{
    Liana__Int64List *list = liana__arena_allocate(&builder->arena, sizeof *list);
    Liana__Feature *feature = add_entry(builder, name, LIANA__FEATURE__KIND_INT64_LIST, list);
    if (!feature) return;
    liana__int64_list__init(list);
    list->n_value = count;
    list->value = (int64_t *)(uintptr_t)values;
    feature->int64_list = list;
}

void liana__example_add_floats(liana__example_builder *builder, const char *name, const float *values, size_t count)
{
    Liana__FloatList *list = liana__arena_allocate(&builder->arena, sizeof *list);
    Liana__Feature *feature = add_entry(builder, name, LIANA__FEATURE__KIND_FLOAT_LIST, list);
    if (!feature) return;
    liana__float_list__init(list);
    list->n_value = count;
    list->value = (float *)(uintptr_t)values;
    feature->float_list = list;
}

liana_status liana__example_pack(liana__example_builder *builder, const uint8_t **bytes, size_t *size,
                                 liana__error *error)
{
    *bytes = NULL;
    *size = 0;
    Liana__Features features = LIANA__FEATURES__INIT;
    features.n_feature = builder->count;
    features.feature = builder->entries;
    Liana__Example message = LIANA__EXAMPLE__INIT;
    message.features = &features;
    free(builder->packed);
    builder->packed = NULL;
    size_t packed_size = builder->failed ? 0 : liana__example__get_packed_size(&message);
    if (!builder->failed) builder->packed = malloc(packed_size ? packed_size : 1);
    bool failed = !builder->packed;
    if (!failed) *size = liana__example__pack(&message, builder->packed);
    *bytes = builder->packed;
    liana__arena_free(&builder->arena);
    builder->count = 0;
    builder->failed = false;
    return failed ? liana__fail_memory(error, "a tf.Example") : LIANA_OK;
}

void liana__example_builder_free(liana__example_builder *builder)
{
    liana__arena_free(&builder->arena);
    free(builder->entries);
    free(builder->packed);
    *builder = (liana__example_builder){0};
}
