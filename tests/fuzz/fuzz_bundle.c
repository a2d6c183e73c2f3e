/* Bundles of bad numbers: three files in one input. Each is its size in 2 bytes (little-endian) and its bytes: the
 * report, the graph, and the rest are the tensors. They are read as they are; then with a report that fits the tensors,
 * whose facts and finding are the input's report, and with the graph's header and checksums put right. */
#include "harness/try/try_graph.h"

#include "base/context.h"
#include "base/file.h"
#include "formats/safetensors.h"
#include "ir/graph_file.h"
#include "train/training/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_EXAMPLES = 4 };

typedef struct piece {
    const uint8_t *bytes;
    size_t size;
} piece;

static void demand(bool condition)
{
    if (!condition) abort();
}

static piece take_piece(piece *from)
{
    size_t size = from->size >= 2 ? from->bytes[0] + (size_t)from->bytes[1] * 256 : 0,
           head = from->size >= 2 ? 2 : from->size;
    if (size > from->size - head) size = from->size - head;
    piece taken = {from->bytes + head, size};
    from->bytes += head + size;
    from->size -= head + size;
    return taken;
}

static void put(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    demand(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Whether both are written as the same JSON, in which bytes that are no UTF-8 are replaced. */
static bool same_json(const liana__value *a, const liana__value *b)
{
    liana__text texts[2] = {{0}};
    liana__value_write_json(a, 0, &texts[0]);
    liana__value_write_json(b, 0, &texts[1]);
    bool same = texts[0].data && texts[1].data && strcmp(texts[0].data, texts[1].data) == 0;
    for (int i = 0; i < 2; i++) liana__text_free(&texts[i]);
    return same;
}

/* An incident that was read is run, reported and written; the written file reads as the same. */
static void use(liana_context *context, liana__incident *incident, const char *folder)
{
    liana__error error = {0};
    liana__text text = {0};
    if (!liana__graph_is_small(incident->graph)) return;
    if (liana__incident_examine(incident, &error) != LIANA_OK) {
        demand(error.message[0]);
        return;
    }
    liana__incident_report(incident, &text);
    demand(text.data && text.length > 0);
    liana__text_free(&text);
    liana__incident_summary(incident, &text);
    demand(text.data && text.length > 0);
    liana__text_free(&text);

    const char *path;
    liana__incident again;
    const liana__value *recorded;
    demand(liana__bundle_write(incident, folder, &path, &error) == LIANA_OK && path);
    demand(liana__bundle_read(context, path, &again, &recorded, &error) == LIANA_OK);
    demand(again.num_rows == incident->num_rows && again.graph->num_nodes == incident->graph->num_nodes);
    demand(same_json(recorded, incident->finding));
    liana__incident_free(&again);
    demand(liana__folder_remove(path, &error) == LIANA_OK);
}

static void read_folder(liana_context *context, const char *folder)
{
    liana__incident incident;
    const liana__value *recorded = NULL;
    liana__error error = {0};
    liana_status status = liana__bundle_read(context, folder, &incident, &recorded, &error);
    if (status == LIANA_OK) {
        demand(incident.graph && incident.facts && recorded);
        use(context, &incident, folder);
        /* The report's own finding is printed next to the new one: it may be any map. */
        const liana__incident before = {.facts = incident.facts, .finding = (liana__value *)recorded};
        liana__text text = {0};
        liana__incident_report(&before, &text);
        liana__text_free(&text);
    } else {
        demand(status == LIANA_DATA_LOSS || status == LIANA_INVALID_DATA || status == LIANA_OUT_OF_RANGE ||
               status == LIANA_UNIMPLEMENTED || status == LIANA_OUT_OF_MEMORY);
        demand(error.status == status && strstr(error.message, folder));
    }
    liana__incident_free(&incident);
}

static void put_right(const char *folder, piece report, piece graph)
{
    char path[600];
    liana__safetensors file;
    liana__error error = {0};
    snprintf(path, sizeof path, "%s/tensors.safetensors", folder);
    if (liana__safetensors_open(path, &file, &error) != LIANA_OK) return;
    uint32_t checksum;
    liana_status status = liana__safetensors_checksum(&file, &checksum, &error);
    liana__safetensors_close(&file);
    if (status != LIANA_OK) return;
    size_t room = 2 * report.size + 200;
    char *text = malloc(room);
    demand(text != NULL);
    int length = snprintf(text, room,
                          "{\"format\": \"liana numbers\", \"version\": 1, \"examples\": %d, \"tensors_crc32\": %u,"
                          "\"facts\": %.*s, \"finding\": %.*s}",
                          (int)(graph.size % MOST_EXAMPLES), checksum, (int)report.size, (const char *)report.bytes,
                          (int)report.size, (const char *)report.bytes);
    put(folder, "report.json", text, (size_t)length);
    free(text);
    if (graph.size < LIANA__GRAPH_FILE_HEADER) return;
    uint8_t *copy = malloc(graph.size);
    demand(copy != NULL);
    memcpy(copy, graph.bytes, graph.size);
    liana__repair_graph(copy, graph.size);
    put(folder, "graph.bin", copy, graph.size);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static liana_context *context;
    if (!context) demand(liana_context_create(&(liana_context_options){.num_threads = 1}, &context) == LIANA_OK);
    char folder[512];
    const char *temporary = getenv("TMPDIR"); /* /dev/shm is many times faster than a disk */
    snprintf(folder, sizeof folder, "%s/liana-fuzz-%ld.bundle", temporary ? temporary : "/tmp", (long)getpid());
    liana__error error = {0};
    demand(liana__folder_make(folder, &error) == LIANA_OK);
    piece left = {bytes, size}, report = take_piece(&left), graph = take_piece(&left);
    put(folder, "report.json", report.bytes, report.size);
    put(folder, "graph.bin", graph.bytes, graph.size);
    put(folder, "tensors.safetensors", left.bytes, left.size);
    read_folder(context, folder);
    put_right(folder, report, graph);
    read_folder(context, folder);
    demand(liana__folder_remove(folder, &error) == LIANA_OK);
    return 0;
}
