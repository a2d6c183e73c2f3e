/* Takes elements in turn from datasets, or from the files of one. If all lengths are known, so is the order, and any
 * element is found directly. */
#include "data/dataset/cycle.h"
#include "data/dataset/dataset_source.h"
#include "data/dataset/turns.h"

#include <stdlib.h>
#include <string.h>

typedef struct interleave {
    size_t cycle_length;
    int64_t block_length;
    liana__turns *turns; /* NULL: the datasets are replayed */
    uint64_t *starts;    /* of the parts of the one input; NULL: each input is a part */
} interleave;

static void close_turns(liana_dataset *dataset)
{
    liana__turns_destroy(((interleave *)dataset->own)->turns);
}

static size_t trace(const liana_dataset *dataset, uint64_t *index)
{
    const interleave *own = dataset->own;
    if (!own->turns) return 0;
    size_t part = liana__turns_find(own->turns, index);
    if (!own->starts) return part;
    *index += own->starts[part];
    return 0;
}

/* ---- replayed ---- */

typedef struct interleave_cursor {
    liana__cycle cycle;
    size_t num_opened;
} interleave_cursor;

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)start;
    const interleave *own = cursor->dataset->own;
    interleave_cursor *at = cursor->own;
    return liana__cycle_init(&at->cycle, own->cycle_length, own->block_length, error);
}

static void free_cursor(liana__cursor *cursor)
{
    liana__cycle_free(&((interleave_cursor *)cursor->own)->cycle);
}

static liana_status open_next(liana__cursor *cursor, liana__cycle_place *place, liana__error *error)
{
    interleave_cursor *at = cursor->own;
    if (at->num_opened == cursor->dataset->num_inputs) return LIANA_END_OF_DATA;
    size_t input = at->num_opened++;
    liana__at start = {liana__seed_of_input(cursor->seed, input), cursor->epoch, 0};
    return liana__cursor_open(cursor->dataset->inputs[input], cursor->pace, &start, &place->cursor, error);
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    interleave_cursor *at = cursor->own;
    return liana__cycle_next(&at->cycle, cursor, open_next, element, error);
}

/* ---- making it ---- */

static liana_status check_options(interleave *own, size_t num_parts, const liana_interleave_datasets_options *options,
                                  liana__error *error)
{
    int64_t cycle = options->cycle_length, block = options->block_length ? options->block_length : 1;
    if (cycle == 0) cycle = num_parts < LIANA__MAX_TURNS ? (int64_t)num_parts : LIANA__MAX_TURNS;
    own->cycle_length = (size_t)cycle;
    own->block_length = block;
    if (cycle >= 1 && cycle <= LIANA__MAX_TURNS && block >= 1) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_ARGUMENT,
        "cycle_length is %lld and block_length %lld, expected 1 to %d and at least 1 (or 0: all datasets "
        "and 1)",
        (long long)cycle, (long long)block, LIANA__MAX_TURNS);
}

static liana_status make_turns(liana_dataset *dataset, const uint64_t *lengths, size_t num_parts, liana__error *error)
{
    interleave *own = dataset->own;
    return liana__turns_create(lengths, num_parts, own->cycle_length, (uint64_t)own->block_length, &own->turns, error);
}

/* The length of all together, if it is known. Endless datasets have their turns too. */
static liana_status add_lengths(liana_dataset *dataset, liana__error *error)
{
    dataset->length = 0;
    for (size_t i = 0; i < dataset->num_inputs; i++) {
        const liana_dataset *input = dataset->inputs[i];
        dataset->random_access = dataset->random_access && input->random_access && input->length >= 0;
        if (input->length == LIANA_INFINITE) dataset->length = LIANA_INFINITE;
        if (input->length == LIANA_UNKNOWN && dataset->length != LIANA_INFINITE) dataset->length = LIANA_UNKNOWN;
        if (dataset->length >= 0 && __builtin_add_overflow(dataset->length, input->length, &dataset->length)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "there would be more than 2^63 elements");
        }
    }
    if (!dataset->random_access) return LIANA_OK;
    uint64_t *lengths = calloc(dataset->num_inputs, sizeof *lengths);
    if (!lengths) return liana__fail_memory(error, dataset->name);
    for (size_t i = 0; i < dataset->num_inputs; i++) lengths[i] = (uint64_t)dataset->inputs[i]->length;
    liana_status status = make_turns(dataset, lengths, dataset->num_inputs, error);
    free(lengths);
    return status;
}

liana_dataset *liana_dataset_interleave_datasets(liana_dataset *const *datasets, size_t num_datasets,
                                                 const liana_interleave_datasets_options *options)
{
    static const liana_interleave_datasets_options defaults;
    liana_dataset *dataset =
        liana__dataset_join(&liana__stage_interleave_datasets, datasets, num_datasets, sizeof(interleave));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    liana_status status = check_options(dataset->own, num_datasets, options ? options : &defaults, error);
    for (size_t i = 1; i < num_datasets && status == LIANA_OK; i++) {
        status = liana__spec_match(&datasets[i]->spec, &dataset->spec, error);
        if (status != LIANA_OK) liana__fail_within(error, "dataset %zu", i);
    }
    if (status == LIANA_OK) status = add_lengths(dataset, error);
    return liana__dataset_finish(dataset, status);
}

/* Where each file's records begin, and how many they are. */
static liana_status find_files(liana_dataset *dataset, const liana__source *source, size_t *num_files,
                               uint64_t **lengths, liana__error *error)
{
    interleave *own = dataset->own;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        const char *file = NULL;
        count = 0;
        for (uint64_t i = 0; i < source->num_records; i++) {
            liana_record_address address = liana__source_address(source, i);
            if (address.record < 0) {
                return liana__fail(error, LIANA_INVALID_ARGUMENT,
                                   "'%s' is one example: only files of many examples (TFRecord, tar) can be taken in "
                                   "turn",
                                   address.file);
            }
            if (i == 0 || (address.file != file && strcmp(address.file, file) != 0)) {
                if (pass) own->starts[count] = i;
                count++;
            }
            file = address.file;
            if (pass) (*lengths)[count - 1] = i + 1 - own->starts[count - 1];
        }
        if (pass) break;
        own->starts = liana__arena_allocate(&dataset->arena, count * sizeof *own->starts);
        *lengths = liana__arena_allocate(&dataset->arena, count * sizeof **lengths);
        if (dataset->arena.failed) return liana__fail_memory(error, dataset->name);
    }
    *num_files = count;
    return LIANA_OK;
}

liana_dataset *liana__dataset_interleave_files(liana_dataset *files, const liana_interleave_datasets_options *options)
{
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_interleave_datasets, files, sizeof(interleave));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    size_t num_files = 0;
    uint64_t *lengths = NULL;
    liana_status status = find_files(dataset, files->source, &num_files, &lengths, error);
    if (status == LIANA_OK) status = check_options(dataset->own, num_files, options, error);
    if (status == LIANA_OK) status = make_turns(dataset, lengths, num_files, error);
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_interleave_datasets = {
    LIANA_PART(STAGE, liana_stage_type, "interleave_datasets", "Takes elements from several datasets in turn."),
    .options_size = offsetof(interleave, turns),
    .close = close_turns,
    .trace = trace,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(interleave_cursor),
    .cursor_free = free_cursor,
};
