/* Writes and reads bundles. */
#include "train/training/bundle.h"

#include "base/scoped.h"
#include "base/value_read.h"
#include "formats/json.h"
#include "ir/graph_file.h"
#include "ops/ops.h"
#include "program/variables_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char GRAPH[] = "graph.bin", TENSORS[] = "tensors.safetensors", REPORT[] = "report.json",
                  REPORT_TEXT[] = "report.txt", FORMAT[] = "liana numbers";

/* ---- writing ---- */

static void add_tensors(liana__arena *arena, const char *kind, liana__node *const *nodes, const void *const *data,
                        size_t count, liana__safetensors_tensor *tensors)
{
    for (size_t i = 0; i < count; i++) {
        tensors[i] = (liana__safetensors_tensor){.name = liana__arena_format(arena, "%s/%s", kind, nodes[i]->name),
                                                 .dtype = liana__file_dtype(nodes[i]->dtype),
                                                 .rank = nodes[i]->shape.rank,
                                                 .data = data[i]};
        memcpy(tensors[i].shape, nodes[i]->shape.dims, sizeof tensors[i].shape);
    }
}

static liana_status write_tensors(liana__incident *incident, const char *path, uint32_t *checksum, liana__error *error)
{
    const liana_graph *graph = incident->graph;
    liana__arena *arena = &incident->arena;
    const size_t count = graph->num_inputs + graph->num_variables;
    liana__safetensors_tensor *tensors = liana__arena_allocate(arena, (count + 1) * sizeof *tensors);
    if (!tensors) return liana__fail_memory(error, "a bundle");
    add_tensors(arena, "inputs", graph->inputs, incident->inputs, graph->num_inputs, tensors);
    add_tensors(arena, "variables", graph->variables, incident->variables, graph->num_variables,
                tensors + graph->num_inputs);
    if (arena->failed) return liana__fail_memory(error, "a bundle");
    const liana__safetensors_contents contents = {.tensors = tensors, .num_tensors = count};
    return liana__safetensors_write(path, &contents, true, checksum, error);
}

static liana_status write_graph(const liana__incident *incident, const char *path, liana__error *error)
{
    LIANA__SCOPED_MEMORY uint8_t *bytes = NULL;
    size_t size;
    LIANA_TRY(liana__graph_write(incident->graph, &bytes, &size, error));
    return liana__file_replace(path, bytes, size, error);
}

static liana_status write_report(liana__incident *incident, const char *path, uint32_t checksum, liana__error *error)
{
    liana__arena *arena = &incident->arena;
    liana__value *root = liana__value_map(arena);
    liana__value_set(arena, root, "format", liana__value_string(arena, FORMAT));
    liana__value_set(arena, root, "version", liana__value_int(arena, LIANA__BUNDLE_VERSION));
    liana__value_set(arena, root, "examples", liana__value_int(arena, incident->num_rows));
    liana__value_set(arena, root, "tensors_crc32", liana__value_int(arena, checksum));
    liana__value_set(arena, root, "facts", incident->facts);
    liana__value_set(arena, root, "finding", incident->finding);
    return liana__json_write(path, arena->failed ? NULL : root, error);
}

static liana_status write_files(liana__incident *incident, const char *folder, liana__error *error)
{
    liana__arena *arena = &incident->arena;
    const char *graph = liana__path_join(arena, folder, GRAPH), *tensors = liana__path_join(arena, folder, TENSORS),
               *report = liana__path_join(arena, folder, REPORT), *text = liana__path_join(arena, folder, REPORT_TEXT);
    uint32_t checksum;
    if (arena->failed) return liana__fail_memory(error, "a bundle");
    LIANA_TRY(write_graph(incident, graph, error));
    LIANA_TRY(write_tensors(incident, tensors, &checksum, error));
    LIANA_TRY(write_report(incident, report, checksum, error));
    LIANA__SCOPED(liana__text) lines = {0};
    liana__incident_report(incident, &lines);
    return lines.data ? liana__file_replace(text, lines.data, lines.length, error)
                      : liana__fail_memory(error, "the report of a step");
}

/* The first name that is free; NULL: out of memory, or there are too many. */
static const char *choose_path(liana__incident *incident, const char *folder)
{
    liana__arena *arena = &incident->arena;
    const liana__value *update = liana__value_get(incident->facts, "update");
    liana__paths names;
    size_t count = 0;
    if (liana__folder_list(folder, arena, &names, NULL) == LIANA_OK) {
        for (size_t i = 0; i < names.count; i++) count += strncmp(names.items[i], "bad-numbers-", 12) == 0;
    }
    if (count >= LIANA__MOST_BUNDLES) return NULL;
    const char *path =
        liana__arena_format(arena, "%s/bad-numbers-%lld", folder, update ? (long long)update->integer : 0);
    const char *first = path;
    for (int number = 2; path && liana__folder_exists(path); number++) {
        path = liana__arena_format(arena, "%s-%d", first, number);
    }
    return path;
}

liana_status liana__bundle_write(liana__incident *incident, const char *folder, const char **path, liana__error *error)
{
    LIANA_TRY(liana__folder_make(folder, error));
    *path = choose_path(incident, folder);
    if (!*path) return incident->arena.failed ? liana__fail_memory(error, "a bundle") : LIANA_OK;
    const char *temporary = liana__arena_format(&incident->arena, "%s.tmp", *path);
    if (!temporary) return liana__fail_memory(error, "a bundle");
    LIANA_TRY(liana__folder_remove(temporary, error));
    LIANA_TRY(liana__folder_make(temporary, error));
    liana_status status = write_files(incident, temporary, error);
    if (status == LIANA_OK) status = liana__folder_rename(temporary, *path, error);
    if (status != LIANA_OK) {
        liana_status removed = liana__folder_remove(temporary, NULL);
        (void)removed; /* the failure to write is reported */
    }
    return status;
}

/* ---- reading ---- */

static liana_status fail_report(const char *path, const char *what, liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA, "'%s': %s; this is no bundle of liana, or it was changed", path,
                       what);
}

static liana_status check_version(const liana__value *root, const char *path, liana__error *error)
{
    const int64_t version = liana__value_int_of(root, "version", 0);
    if (strcmp(liana__value_text_of(root, "format", ""), FORMAT) != 0) {
        return fail_report(path, "it has no \"format\": \"liana numbers\"", error);
    }
    if (version < 1) return fail_report(path, "it has no version", error);
    if (version <= LIANA__BUNDLE_VERSION) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s': the bundle has version %lld, this liana reads up to %d; use a newer liana", path,
                       (long long)version, LIANA__BUNDLE_VERSION);
}

static liana_status read_report(const char *path, liana__incident *incident, const liana__value **recorded,
                                int64_t *checksum, liana__error *error)
{
    liana__value *root;
    LIANA_TRY(liana__json_read(path, &incident->arena, &root, error));
    LIANA_TRY(check_version(root, path, error));
    const liana__value *facts = liana__value_get(root, "facts"), *finding = liana__value_get(root, "finding");
    incident->num_rows = liana__value_int_of(root, "examples", -1);
    *checksum = liana__value_int_of(root, "tensors_crc32", INT64_MIN);
    if (incident->num_rows < 0) return fail_report(path, "it has no number of examples", error);
    if (*checksum == INT64_MIN) return fail_report(path, "it has no checksum", error);
    if (!facts || facts->kind != LIANA__VALUE_MAP || !finding || finding->kind != LIANA__VALUE_MAP) {
        return fail_report(path, "it has no facts and no finding", error);
    }
    incident->facts = (liana__value *)facts;
    *recorded = finding;
    return LIANA_OK;
}

static liana_status read_graph(liana_context *context, const char *path, liana_graph **graph, liana__error *error)
{
    static const size_t LARGEST = (size_t)1 << 32;
    char *bytes;
    size_t size;
    LIANA_TRY(liana__file_read(path, LARGEST, &bytes, &size, error));
    liana_status status = liana__graph_read(context, liana__ops, bytes, size, graph, error);
    free(bytes);
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "'%s'", path);
}

static liana_status take_tensor(liana__incident *incident, const liana__safetensors *file, const char *kind,
                                const liana__node *node, const void **data, liana__error *error)
{
    const char *name = liana__arena_format(&incident->arena, "%s/%s", kind, node->name);
    if (!name) return liana__fail_memory(error, "a bundle");
    const liana__safetensors_tensor *found = liana__safetensors_find(file, name);
    if (!found) return liana__fail(error, LIANA_INVALID_DATA, "the tensor '%s' is missing", name);
    bool fits = found->dtype == liana__file_dtype(node->dtype) && found->rank == node->shape.rank &&
                found->size == liana__byte_size(node->dtype, &node->shape);
    for (int i = 0; fits && i < found->rank; i++) fits = found->shape[i] == node->shape.dims[i];
    if (!fits) {
        return liana__fail(error, LIANA_INVALID_DATA, "the tensor '%s' is not %s, as the graph says", name,
                           liana__type_print(node->dtype, &node->shape).text);
    }
    const size_t least = found->size < LIANA__ALIGNMENT ? LIANA__ALIGNMENT : found->size;
    void *copy = liana__arena_allocate(&incident->arena, least);
    if (!copy) return liana__fail_memory(error, name);
    *data = copy;
    return liana__safetensors_read(file, found, copy, error);
}

static liana_status take_tensors(liana__incident *incident, const liana__safetensors *file, int64_t checksum,
                                 liana__error *error)
{
    const liana_graph *graph = incident->graph;
    uint32_t found;
    LIANA_TRY(liana__safetensors_checksum(file, &found, error));
    if (found != (uint64_t)checksum) {
        return liana__fail(error, LIANA_DATA_LOSS, "damaged: it has the checksum 0x%08x, expected 0x%08llx", found,
                           (unsigned long long)checksum);
    }
    incident->inputs = liana__arena_allocate(&incident->arena, (graph->num_inputs + 1) * sizeof *incident->inputs);
    incident->variables =
        liana__arena_allocate(&incident->arena, (graph->num_variables + 1) * sizeof *incident->variables);
    if (!incident->inputs || !incident->variables) return liana__fail_memory(error, "a bundle");
    for (size_t i = 0; i < graph->num_inputs; i++) {
        LIANA_TRY(take_tensor(incident, file, "inputs", graph->inputs[i], &incident->inputs[i], error));
    }
    for (size_t i = 0; i < graph->num_variables; i++) {
        LIANA_TRY(take_tensor(incident, file, "variables", graph->variables[i], &incident->variables[i], error));
    }
    return LIANA_OK;
}

liana_status liana__bundle_read(liana_context *context, const char *path, liana__incident *incident,
                                const liana__value **recorded, liana__error *error)
{
    *incident = (liana__incident){0};
    liana__arena *arena = &incident->arena;
    if (!liana__folder_exists(path)) {
        return liana__fail(error, LIANA_NOT_FOUND,
                           "there is no folder '%s'; a bundle is a folder 'bad-numbers-UPDATE' of a run folder", path);
    }
    const char *graph = liana__path_join(arena, path, GRAPH), *tensors = liana__path_join(arena, path, TENSORS),
               *report = liana__path_join(arena, path, REPORT);
    if (!graph || !tensors || !report) return liana__fail_memory(error, "a bundle");
    int64_t checksum = 0;
    LIANA_TRY(read_report(report, incident, recorded, &checksum, error));
    LIANA_TRY(read_graph(context, graph, &incident->graph, error));
    liana__safetensors file;
    LIANA_TRY(liana__safetensors_open(tensors, &file, error));
    liana_status status = take_tensors(incident, &file, checksum, error);
    liana__safetensors_close(&file);
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "'%s'", tensors);
}
