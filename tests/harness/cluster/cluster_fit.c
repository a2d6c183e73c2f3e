/* Programs in threads, each of which is a process of a cluster. */
#include "harness/cluster/cluster_fit.h"

#include "base/file.h"
#include "train/checkpoint/checkpoint.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = LIANA__TINY_FEATURES };

typedef struct process {
    liana__hub *hub;
    size_t rank;
    const liana__cluster_program *program;
    liana__cluster_result *result;
} process;

bool liana__cluster_keep_epoch(void *user, const liana_epoch *epoch)
{
    liana__cluster_result *own = user;
    own->loss = epoch->training.loss;
    own->validation_loss = epoch->validation.loss;
    own->num_epochs++;
    own->counters = own->cluster->counters;
    own->cluster->transport->counters(own->cluster->instance, &own->counters.transport);
    return true;
}

static void keep_note(void *user, const char *note)
{
    liana__cluster_result *own = user;
    const size_t length = strlen(own->notes);
    snprintf(own->notes + length, sizeof own->notes - length, "%s\n", note);
}

static liana_model *build_model(liana_context *context, bool is_wide)
{
    liana_model *model = NULL;
    if (liana_model_create(context, NULL, &model) != LIANA_OK) return NULL;
    liana_input(model, .shape = LIANA_INTS(FEATURES));
    liana_dense(model, .units = is_wide ? 8192 : 24, .activation = "tanh");
    liana_batch_normalization(model, .momentum = 0.9);
    liana_dense(model, .units = is_wide ? 8 : 1);
    if (is_wide) liana_dense(model, .units = 1);
    return model;
}

/* Moving averages apart from trained weights. */
static liana_status keep_weights(liana_model *model, liana__cluster_result *result)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        liana_array array;
        const char *name = liana_model_weight(model, i).name;
        if (!strstr(name, "moving_")) continue;
        LIANA_TRY(liana_model_get_weights(model, name, &array));
        const size_t added = (size_t)liana_shape_size(&array.shape) * sizeof(float);
        result->averages = realloc(result->averages, result->averages_size + added);
        if (!result->averages) return LIANA_OUT_OF_MEMORY;
        memcpy(result->averages + result->averages_size, array.data, added);
        result->averages_size += added;
    }
    return liana__tiny_keep_weights(model, &result->weights, &result->size);
}

liana_status liana__cluster_fit_rows(liana_context *context, const liana__cluster_program *program,
                                     liana__cluster_result *result)
{
    liana_model *model = build_model(context, program->is_wide);
    if (!model) return liana_context_status(context);
    liana_dataset *data = liana__tiny_rows(context);
    const liana_fit_options options = {.training = data,
                                       .epochs = program->epochs ? program->epochs : 2,
                                       .steps = program->steps,
                                       .batch_size = program->batch_size ? program->batch_size : 16,
                                       .microbatch = program->microbatch ? program->microbatch : 2,
                                       .optimizer =
                                           program->optimizer ? program->optimizer : "{name: SGD, learning_rate: 0.05}",
                                       .loss = "mean_squared_error",
                                       .named_callbacks = program->callbacks,
                                       .checkpoints = program->checkpoints,
                                       .checkpoint_steps = program->checkpoint_steps,
                                       .resume = program->resume,
                                       .strategy = program->strategy,
                                       .seed = 5,
                                       .on_note = keep_note,
                                       .on_epoch = liana__cluster_keep_epoch,
                                       .user = result};
    liana_status status = liana_fit(model, &options);
    if (status == LIANA_OK) status = keep_weights(model, result);
    liana_model_destroy(model);
    liana_dataset_close(data);
    return status;
}

static void *run_process(void *user)
{
    process *own = user;
    liana__cluster_result *got = own->result;
    liana_context *context = NULL;
    liana__cluster cluster = {0};
    got->status = liana_context_create(&(liana_context_options){.num_threads = 1}, &context);
    if (got->status == LIANA_OK) {
        liana__hub_join(own->hub, own->rank, &cluster);
        got->cluster = &cluster;
        got->status = liana__cluster_join(context, &cluster);
    }
    if (got->status == LIANA_OK) got->status = own->program->run(context, own->program, got);
    if (got->status != LIANA_OK) snprintf(got->message, sizeof got->message, "%s", liana_context_message(context));
    liana__cluster_close(&cluster);
    liana_context_destroy(context);
    return NULL;
}

void liana__run_cluster(const liana__cluster_program *program, size_t num_workers, size_t num_servers,
                        liana__cluster_result *results)
{
    pthread_t threads[LIANA__MOST_PROCESSES];
    process processes[LIANA__MOST_PROCESSES];
    const size_t count = num_workers + num_servers;
    assert_compare(count, <=, LIANA__MOST_PROCESSES);
    liana__hub *hub = liana__hub_create(num_workers, num_servers);
    assert_non_null(hub);
    liana__hub_set(hub, true, !program->has_no_mirrors);
    if (program->hub) *program->hub = hub;
    liana__hub_set_control(hub, &program->control);
    for (size_t i = 0; i < count; i++) {
        results[i] = (liana__cluster_result){0};
        processes[i] = (process){hub, i, program, &results[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < count && !program->may_fail; i++) {
        if (results[i].status != LIANA_OK) print_error("process %zu: %s\n", i, results[i].message);
        assert_int_equal(results[i].status, LIANA_OK);
    }
    if (!program->dies) assert_int_equal(liana__hub_num_kept(hub), 0);
    liana__hub_destroy(hub);
}

void liana__free_results(liana__cluster_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(results[i].weights);
        free(results[i].averages);
    }
}

/* ---- its results ---- */

uint64_t liana__cluster_fit_number(const char *folder, const char *key)
{
    liana__arena arena = {0};
    liana__error error = {0};
    const char *path = NULL;
    char file[640], quoted[64];
    assert_ok(liana__checkpoint_newest(folder, &arena, &path, &error), &error);
    snprintf(file, sizeof file, "%s/state.json", path);
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    char *text, *last = NULL;
    size_t size;
    assert_ok(liana__file_read(file, 1 << 24, &text, &size, &error), &error);
    for (char *found = text; (found = strstr(found, quoted)); found++) last = found;
    assert_non_null(last);
    const uint64_t number = strtoull(last + strlen(quoted), NULL, 10);
    free(text);
    liana__arena_free(&arena);
    return number;
}
