/* Feeds any bytes to the readers of messages between the processes of a training: those of loaders, rows of a stream,
 * facts that are compared, predictions. */
#include "harness/try/try_message.h"

#include "data/loader/row_message.h"
#include "data/loader/step_workers.h"
#include "step/agreement.h"
#include "train/objective/gathered_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool condition, const char *what, const liana__error *error)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n%s\n", what, error->message);
    abort();
}

/* ---- what loaders find in a step of two processes ---- */

enum { BATCH = 16, MICROBATCH = 4 };

typedef struct message {
    const uint8_t *bytes;
    size_t size;
} message;

static void divide(void *user, int64_t num_shards, int64_t *bounds)
{
    (void)user;
    bounds[0] = 0;
    bounds[1] = num_shards / 2;
    bounds[2] = num_shards;
}

/* The other process sends the tried bytes. */
static liana_status gather(void *user, const void *data, size_t size, liana__told *all, liana__error *error)
{
    const message *tried = user;
    all[0] = (liana__told){malloc(size + 1), size};
    all[1] = (liana__told){malloc(tried->size + 1), tried->size};
    if (!all[0].data || !all[1].data) {
        free(all[0].data);
        free(all[1].data);
        return liana__fail_memory(error, "a message");
    }
    if (size) memcpy(all[0].data, data, size);
    if (tried->size) memcpy(all[1].data, tried->bytes, tried->size);
    return LIANA_OK;
}

static void try_findings(const message *tried)
{
    const liana__input_workers workers = {
        .count = 2, .microbatch = MICROBATCH, .divide = divide, .gather = gather, .user = (void *)(uintptr_t)tried};
    liana__step_workers step = {0};
    liana__gaps none = {0}, gaps = {0};
    liana__error error = {0}, failure = {0};
    const liana__step_findings own = {.gaps = &none};
    bool failed = false;
    int64_t begin, end;
    if (liana__step_workers_make(&step, &workers, BATCH, false, &error) == LIANA_OK) {
        liana__step_workers_divide(&step, &workers, 0, BATCH, &begin, &end);
        const liana_status status =
            liana__step_workers_meet(&step, &workers, BATCH, &own, &gaps, &failed, &failure, &error);
        demand(status == LIANA_OK || *error.message, "an error has a message", &error);
        demand(status != LIANA_OK || failed || (step.num_examples >= 0 && step.num_examples <= BATCH),
               "a step has no more examples than positions", &error);
    }
    liana__gaps_free(&gaps);
    liana__step_workers_free(&step);
}

/* ---- rows ---- */

static void try_rows(const message *tried)
{
    static const size_t sizes[] = {12, 4};
    const liana_shape triple = liana_shape_of(3);
    liana__batch_rows rows = {.count = 2,
                              .image = -1,
                              .label = -1,
                              .components = {{.name = "a", .dtype = LIANA_F32, .shape = triple},
                                             {.name = "b", .dtype = LIANA_S32}}};
    liana__ring_slot slot = {0};
    liana__error error = {0};
    memcpy(rows.sizes, sizes, sizeof sizes);
    const int64_t count = tried->size ? tried->bytes[0] % (BATCH + 1) : 0;
    const size_t skipped = tried->size > 0;
    const liana__told told = {(char *)(uintptr_t)(tried->bytes + skipped), tried->size - skipped};
    if (liana__ring_slot_make(&slot, BATCH, &rows, false, &error) == LIANA_OK) {
        const liana_status status = liana__row_message_read(&slot, &told, count, &error);
        demand(status == LIANA_OK || *error.message, "an error has a message", &error);
    }
    liana__ring_slot_free(&slot, BATCH);
}

/* ---- predictions ---- */

/* Of as many examples as the first byte says, with a target of 4 bytes and 3 numbers each. */
static void try_predictions(const message *tried)
{
    enum { OUTPUTS = 3 };
    uint64_t positions[BATCH], records[BATCH];
    char *ids[BATCH];
    const char unknown = 0;
    float outputs[BATCH * OUTPUTS];
    int32_t targets[BATCH] = {0};
    liana__gathered_rows rows = {.outputs = outputs, .capacity = BATCH};
    rows.batch.positions = positions;
    rows.batch.records = records;
    rows.batch.ids = ids;
    liana__batch_add(&rows.batch, "target", LIANA_S32, &LIANA_SCALAR, targets);
    const size_t skipped = tried->size > 0;
    const int64_t count = skipped ? tried->bytes[0] % (BATCH + 1) : 0;
    const liana__told told = {(char *)(uintptr_t)(tried->bytes + skipped), tried->size - skipped};
    const liana__error none = {.message = "predictions"};
    for (int i = 0; i < BATCH; i++) ids[i] = (char *)(uintptr_t)&unknown;
    if (!liana__gathered_rows_read(&rows, OUTPUTS, &told, count)) return;
    demand(rows.batch.count == count, "all rows are there", &none);
    const char *end = told.data + told.size;
    for (int64_t i = 0; i < count; i++) {
        const char *id = ids[i];
        demand(!id || (id >= told.data && id < end && memchr(id, '\0', (size_t)(end - id))), "an id ends", &none);
    }
}

/* ---- facts ---- */

/* Two lists, the first of which has as many bytes as the first byte says. */
static void try_facts(const message *tried)
{
    const size_t begin = tried->size > 0, left = tried->size - begin;
    const size_t first = begin && tried->bytes[0] < left ? tried->bytes[0] : left / 2;
    size_t offsets[] = {begin, begin + first, tried->size};
    const liana__gathered all = {(char *)(uintptr_t)tried->bytes, offsets};
    liana__error error = {0};
    const liana_status status = liana__facts_explain(&all, 0, 1, &error);
    demand(status == LIANA_INVALID_CONFIG && *error.message, "a difference is named", &error);
}

void liana__try_message(const uint8_t *bytes, size_t size)
{
    static void (*const readers[])(const message *tried) = {try_findings, try_rows, try_facts, try_predictions};
    if (!size) return;
    /* Memory of its own, so that a sanitizer sees a read beyond it. */
    uint8_t *exact = malloc(size - 1 ? size - 1 : 1);
    if (!exact) return;
    memcpy(exact, bytes + 1, size - 1);
    const message tried = {exact, size - 1};
    readers[bytes[0] % (sizeof readers / sizeof *readers)](&tried);
    free(exact);
}
