/* Compares the versions, settings, data and arithmetic of the processes of a cluster. */
#include "step/agreement.h"

#include "base/crc32c.h"
#include "base/message.h"
#include "base/random.h"
#include "base/scoped.h"
#include "kernels/onednn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana__program_destroy, liana__program)

/* ---- facts ---- */

void liana__facts_free(liana__facts *facts)
{
    liana__text_free(&facts->message);
    liana__arena_free(&facts->arena);
    *facts = (liana__facts){0};
}

void liana__facts_add(liana__facts *facts, const char *key, const char *value)
{
    liana__message_put_text(&facts->message, key);
    liana__message_put_text(&facts->message, value ? value : "null");
    facts->count++;
}

void liana__facts_add_number(liana__facts *facts, const char *key, double value)
{
    const char *text = liana__arena_format(&facts->arena, "%.17g", value);
    if (text) liana__facts_add(facts, key, text);
}

void liana__facts_add_seed(liana__facts *facts, uint64_t seed)
{
    const char *text = liana__arena_format(&facts->arena, "%llu", (unsigned long long)seed);
    if (text) liana__facts_add(facts, "seed", text);
}

static bool has_maps(const liana__value *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->kind == LIANA__VALUE_MAP) return true;
    }
    return false;
}

/* Where a member of a map or list is: `.key`, `[name]` of a map that has one, `[number]`. */
static const char *key_of(liana__facts *facts, const char *key, const liana__value *tree, size_t i)
{
    if (tree->kind == LIANA__VALUE_MAP) {
        return liana__arena_format(&facts->arena, "%s%s%s", key, *key ? "." : "", tree->keys[i]);
    }
    const liana__value *item = tree->items[i];
    const liana__value *name = item->kind == LIANA__VALUE_MAP ? liana__value_get(item, "name") : NULL;
    if (!name || name->kind != LIANA__VALUE_STRING) return liana__arena_format(&facts->arena, "%s[%zu]", key, i);
    return liana__arena_format(&facts->arena, "%s[%s]", key, name->string);
}

void liana__facts_add_tree(liana__facts *facts, const char *key, const liana__value *tree)
{
    const bool is_map = tree->kind == LIANA__VALUE_MAP, is_list = tree->kind == LIANA__VALUE_LIST && has_maps(tree);
    for (size_t i = 0; (is_map || is_list) && i < tree->count; i++) {
        const char *below = key_of(facts, key, tree, i);
        if (below) liana__facts_add_tree(facts, below, tree->items[i]);
    }
    if (is_map || is_list) return;
    LIANA__SCOPED(liana__text) text = {0};
    liana__value_write_json(tree, 0, &text);
    if (text.failed) facts->message.failed = true;
    liana__facts_add(facts, key, text.data);
}

/* One of two lists of facts, while it is read. */
typedef struct fact_reader {
    liana__message_reader reader;
    const char *key, *value; /* NULL: no more */
} fact_reader;

static fact_reader open_facts(const liana__gathered *all, size_t process)
{
    return (fact_reader){.reader = {.data = all->data + all->offsets[process],
                                    .size = all->offsets[process + 1] - all->offsets[process]}};
}

static void next_fact(fact_reader *own)
{
    own->key = own->reader.size ? liana__message_get_text(&own->reader) : NULL;
    own->value = own->key ? liana__message_get_text(&own->reader) : NULL;
}

/* A key that another process lacks, or has elsewhere. */
static const char *find_value(const liana__gathered *all, size_t process, const char *key)
{
    fact_reader own = open_facts(all, process);
    for (next_fact(&own); own.value; next_fact(&own)) {
        if (strcmp(own.key, key) == 0) return own.value;
    }
    return NULL;
}

/* The first fact of `a` that `b` has otherwise. */
static bool find_difference(const liana__gathered *all, size_t a, size_t b, const char **key, const char **values)
{
    fact_reader own = open_facts(all, a), other = open_facts(all, b);
    for (next_fact(&own); own.value; next_fact(&own)) {
        next_fact(&other);
        const bool aligned = other.value && strcmp(own.key, other.key) == 0;
        values[0] = own.value;
        values[1] = aligned ? other.value : find_value(all, b, own.key);
        *key = own.key;
        if (!values[1] || strcmp(values[0], values[1]) != 0) return true;
    }
    return false;
}

/* The first process that is there: mostly the chief. Those that are gone have said nothing. */
static size_t first_of(const liana__gathered *all, size_t count)
{
    size_t first = 0;
    while (first + 1 < count && all->offsets[first + 1] == all->offsets[first]) first++;
    return first;
}

static bool is_same(const liana__gathered *all, size_t first, size_t process)
{
    const size_t from = all->offsets[first], size = all->offsets[first + 1] - from, begin = all->offsets[process];
    if (all->offsets[process + 1] == begin) return true;
    return all->offsets[process + 1] - begin == size && memcmp(all->data + from, all->data + begin, size) == 0;
}

liana_status liana__facts_explain(const liana__gathered *all, size_t first, size_t process, liana__error *error)
{
    const char *key = "facts", *values[2] = {"some", "others"};
    if (!find_difference(all, first, process, &key, values) && find_difference(all, process, first, &key, values)) {
        const char *own = values[0];
        values[0] = values[1];
        values[1] = own;
    }
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "the processes of the cluster differ: %s is %.200s on the chief, and %.200s on process %zu; start "
        "all of them with the same liana, configuration and data",
        key, values[0] ? values[0] : "not there", values[1] ? values[1] : "not there", process);
}

static liana_status gather(const liana__facts *facts, liana__cluster *cluster, liana__gathered *all, size_t *differs,
                           liana__error *error)
{
    if (facts->message.failed || facts->arena.failed) return liana__fail_memory(error, "what processes have in common");
    LIANA_TRY(liana__cluster_gather_sized(cluster, facts->message.data, facts->message.length, all, error));
    *differs = 1;
    const size_t count = liana__cluster_size(cluster), first = first_of(all, count);
    while (*differs < count && is_same(all, first, *differs)) ++*differs;
    return LIANA_OK;
}

liana_status liana__facts_compare(const liana__facts *facts, liana__cluster *cluster, bool *same, liana__error *error)
{
    LIANA__SCOPED(liana__gathered) all = {0};
    size_t differs = 0;
    *same = false;
    LIANA_TRY(gather(facts, cluster, &all, &differs, error));
    *same = differs == liana__cluster_size(cluster);
    return LIANA_OK;
}

liana_status liana__facts_agree(const liana__facts *facts, liana__cluster *cluster, liana__error *error)
{
    LIANA__SCOPED(liana__gathered) all = {0};
    const size_t count = liana__cluster_size(cluster);
    size_t differs = 0;
    LIANA_TRY(gather(facts, cluster, &all, &differs, error));
    return differs < count ? liana__facts_explain(&all, first_of(&all, count), differs, error) : LIANA_OK;
}

static liana_status compare_numbers(const liana__facts *facts, liana__cluster *cluster, bool *same, liana__error *error)
{
    char text[64];
    LIANA__SCOPED(liana__facts) number = {0};
    if (facts->message.failed || facts->arena.failed) number.message.failed = true;
    snprintf(text, sizeof text, "%zu %08x", facts->message.length,
             liana__crc32c_extend(0, facts->message.data, facts->message.length));
    liana__facts_add(&number, "facts", text);
    return liana__facts_compare(&number, cluster, same, error);
}

liana_status liana__facts_agree_shortly(const liana__facts *facts, liana__cluster *cluster, liana__error *error)
{
    bool same = true;
    LIANA_TRY(compare_numbers(facts, cluster, &same, error));
    return same ? LIANA_OK : liana__facts_agree(facts, cluster, error);
}

/* ---- instruction sets ---- */

liana_status liana__agree_on_isa(liana_context *context, liana__cluster *cluster, const liana__notes *notes,
                                 liana__error *error)
{
    const uint32_t own = (uint32_t)context->isa;
    LIANA__SCOPED_MEMORY uint32_t *all = calloc(liana__cluster_size(cluster), sizeof *all);
    uint32_t lowest = own;
    if (!all) return liana__fail_memory(error, "what processes have in common");
    LIANA_TRY(liana__cluster_gather(cluster, &own, sizeof own, all, error));
    size_t process = cluster->place.rank;
    for (size_t i = 0; i < liana__cluster_size(cluster); i++) {
        if (!liana__cluster_is_member(cluster, i) || all[i] >= lowest) continue;
        lowest = all[i];
        process = i;
    }
    if (lowest == own) return LIANA_OK;
    liana__note(notes, "process %zu has the instruction set %s: this process, which has %s, computes with that as well",
                process, liana__isa_name((liana__isa)lowest), liana__isa_name(context->isa));
    context->isa = (liana__isa)lowest;
    liana__onednn_limit(context->isa);
    return LIANA_OK;
}

/* ---- arithmetic ---- */

enum { DIGEST_SEED = 7 };

const char *const liana__same_processors =
    "use machines of one kind, or start all processes with the same LIANA_MAX_ISA";

/* Made-up values: numbers around zero, bytes, and the class 0. */
static void fill(uint8_t *data, liana_dtype dtype, size_t size, uint32_t input)
{
    const liana__philox_key key = liana__philox_make_key(DIGEST_SEED, LIANA__STREAM_RECORD, input);
    const size_t each = dtype == LIANA_F32 ? sizeof(float) : 1;
    memset(data, 0, size);
    if (dtype != LIANA_F32 && dtype != LIANA_U8) return;
    for (size_t i = 0; i < size / each; i++) {
        const uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), 0, 0};
        uint32_t words[4];
        liana__philox(key, counter, words);
        const float number = liana__uniform_float(words[0]) - 0.5f;
        if (dtype == LIANA_F32) memcpy(data + i * each, &number, sizeof number);
        if (dtype == LIANA_U8) data[i] = (uint8_t)(words[0] >> 24);
    }
}

static liana_status feed_all(liana__program *program, liana__error *error)
{
    const liana_graph *graph = program->graph;
    for (size_t i = 0; i < graph->num_inputs; i++) {
        const liana__node *input = graph->inputs[i];
        const size_t size = liana__byte_size(input->dtype, &input->shape);
        LIANA__SCOPED_MEMORY uint8_t *data = malloc(size + 1);
        if (!data) return liana__fail_memory(error, "a made-up leaf");
        fill(data, input->dtype, size, (uint32_t)i);
        LIANA_TRY(liana__program_feed(program, i, input->dtype, &input->shape, data, error));
    }
    return LIANA_OK;
}

static liana_status digest_outputs(const liana__program *program, uint32_t *digest, liana__error *error)
{
    for (size_t i = 0; i < program->graph->num_outputs; i++) {
        const liana__node *output = program->graph->outputs[i].node;
        const size_t size = liana__byte_size(output->dtype, &output->shape);
        LIANA__SCOPED_MEMORY uint8_t *data = malloc(size + 1);
        if (!data) return liana__fail_memory(error, "a made-up leaf");
        LIANA_TRY(liana__program_fetch(program, i, data, error));
        *digest = liana__crc32c_extend(*digest, data, size);
    }
    return LIANA_OK;
}

static liana_status compute_digest(liana__device *device, liana__variables *variables, liana_graph *graph,
                                   uint32_t *digest, liana__error *error)
{
    LIANA__SCOPED_BY(liana__program_destroy_scoped) liana__program *program = NULL;
    *digest = 0;
    LIANA_TRY(liana__program_create(device, graph, "agreement", variables, &program, error));
    LIANA_TRY(feed_all(program, error));
    LIANA_TRY(liana__program_run(program, error));
    return digest_outputs(program, digest, error);
}

/* Gathers everybody's digest. `difference` describes the first difference; "": none. */
static liana_status compare_digests(liana__cluster *cluster, uint32_t own, char *difference, liana__error *error)
{
    const size_t count = liana__cluster_size(cluster);
    size_t differs = 0;
    LIANA__SCOPED_MEMORY uint32_t *all = calloc(count, sizeof *all);
    *difference = '\0';
    if (!all) return liana__fail_memory(error, "what processes have in common");
    const liana_status status = liana__cluster_gather(cluster, &own, sizeof own, all, error);
    const size_t first = cluster->chief; /* the one before may have died meanwhile */
    while (differs < count && (!liana__cluster_is_member(cluster, differs) || all[differs] == all[first])) differs++;
    cluster->computes_alike = status == LIANA_OK && differs >= count;
    if (status == LIANA_OK && differs < count) {
        snprintf(difference, LIANA__DIFFERENCE_SIZE,
                 "the processor or a library of process %zu computes other bits than those of the chief (%08x and %08x "
                 "for the same made-up examples)",
                 differs, all[differs], all[first]);
    }
    return status;
}

liana_status liana__compare_sums(liana__device *device, liana__variables *variables, liana__cluster *cluster,
                                 liana_graph *graph, char *difference, liana__error *error)
{
    uint32_t own = 0;
    const liana_status status = compute_digest(device, variables, graph, &own, error);
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    return compare_digests(cluster, own, difference, error);
}

liana_status liana__agree_on_sums(liana__device *device, liana__variables *variables, liana__cluster *cluster,
                                  liana_graph *graph, liana__error *error)
{
    char difference[LIANA__DIFFERENCE_SIZE];
    LIANA_TRY(liana__compare_sums(device, variables, cluster, graph, difference, error));
    return *difference ? liana__fail(error, LIANA_UNAVAILABLE, "%s; %s", difference, liana__same_processors) : LIANA_OK;
}
