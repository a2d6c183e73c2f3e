/* Running a program: the request of a run, its feeds, and its results. */
#include "base/context.h"
#include "base/scoped.h"
#include "ir/shape.h"
#include "program/program.h"

/* ---- names ---- */

static liana_status fail_unknown(const liana_program *program, const char *what, const char *name,
                                 const liana__nearest_search *search)
{
    return liana__fail(&program->context->error, LIANA_NOT_FOUND, "%s: the graph has no %s '%.200s'%s", program->name,
                       what, name, liana__hint(search->nearest).text);
}

static liana_status fail_input(const liana_program *program, const char *name)
{
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < program->graph->num_inputs; i++) {
        liana__nearest_add(&search, program->graph->inputs[i]->name);
    }
    return fail_unknown(program, "input", name, &search);
}

static liana_status fail_result(const liana_program *program, const char *name)
{
    const liana_graph *graph = program->graph;
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < graph->num_outputs; i++) liana__nearest_add(&search, graph->outputs[i].name);
    for (size_t i = 0; i < graph->num_named; i++) liana__nearest_add(&search, graph->named[i]->name);
    for (size_t i = 0; i < graph->num_inputs; i++) liana__nearest_add(&search, graph->inputs[i]->name);
    for (size_t i = 0; i < graph->num_variables; i++) liana__nearest_add(&search, graph->variables[i]->name);
    return fail_unknown(program, "output or tensor", name, &search);
}

static liana_status fail_assignment(const liana_program *program, const char *name)
{
    const liana_graph *graph = program->graph;
    liana__nearest_search search = liana__nearest_begin(name);
    for (size_t i = 0; i < graph->num_targets; i++) liana__nearest_add(&search, graph->targets[i].name);
    for (size_t i = 0; i < graph->num_assignments; i++) {
        liana__nearest_add(&search, graph->assignments[i].variable->name);
    }
    return fail_unknown(program, "target and no assignment to a variable", name, &search);
}

/* ---- the request ---- */

static liana_status find_fetch(liana_program *program, const liana_fetch *fetch, size_t number, liana__node **node)
{
    liana__error *error = &program->context->error;
    liana_tensor tensor = fetch->name ? liana_graph_tensor(program->graph, fetch->name) : fetch->tensor;
    *node = tensor.graph == program->graph ? liana__tensor_node(tensor) : NULL;
    if (!*node && fetch->name) return fail_result(program, fetch->name);
    if (!*node) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: fetch %zu has no name, and is no tensor of the graph",
                           program->name, number);
    }
    size_t size = liana__byte_size((*node)->dtype, &(*node)->shape);
    if (fetch->data && fetch->size == size) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the result %s%s%s is %s, %zu bytes; found room for %zu%s",
                       program->name, fetch->name ? "'" : "", fetch->name ? fetch->name : liana__node_print(*node).text,
                       fetch->name ? "'" : "", liana__type_print((*node)->dtype, &(*node)->shape).text, size,
                       fetch->size, fetch->data ? "" : " at no address");
}

static int compare_nodes(const void *a, const void *b)
{
    uint32_t x = (*(liana__node *const *)a)->id, y = (*(liana__node *const *)b)->id;
    return (x > y) - (x < y);
}

/* Lists the results in ascending order, each once. */
static liana_status list_results(liana_program *program, const liana_fetches *fetches, liana__wanted *wanted)
{
    if (fetches->count > program->result_capacity || !program->results) {
        free(program->results);
        free(program->wanted);
        program->result_capacity = 0;
        program->results = calloc(fetches->count + 1, sizeof(liana__node *));
        program->wanted = calloc(fetches->count + 1, sizeof(liana__node *));
        if (!program->results || !program->wanted) return liana__fail_memory(&program->context->error, "a run");
        program->result_capacity = fetches->count;
    }
    for (size_t i = 0; i < fetches->count; i++) {
        LIANA_TRY(find_fetch(program, &fetches->items[i], i, &program->wanted[i]));
        program->results[i] = program->wanted[i];
    }
    if (fetches->count > 1) qsort(program->results, fetches->count, sizeof(liana__node *), compare_nodes);
    for (size_t i = 0; i < fetches->count; i++) {
        if (i > 0 && program->results[i] == program->results[i - 1]) continue;
        program->results[wanted->num_results++] = program->results[i];
    }
    wanted->results = program->results;
    return LIANA_OK;
}

/* Marks the nodes that a name asks for: the assignments of a target, or that to a variable. */
static liana_status mark_named(liana_program *program, const char *name)
{
    const liana_graph *graph = program->graph;
    bool found = false;
    if (!name) name = "";
    for (size_t i = 0; i < graph->num_targets; i++) {
        if (strcmp(graph->targets[i].name, name) != 0) continue;
        program->is_assigned[graph->targets[i].assignment] = found = true;
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        if (strcmp(graph->assignments[i].variable->name, name) != 0) continue;
        program->is_assigned[i] = found = true;
    }
    return found ? LIANA_OK : fail_assignment(program, name);
}

static liana_status list_assignments(liana_program *program, const liana_run_options *options, liana__wanted *wanted)
{
    const size_t count = program->graph->num_assignments;
    if (count > program->assignment_capacity || !program->assignments) {
        free(program->assignments);
        free(program->is_assigned);
        program->assignment_capacity = 0;
        program->assignments = calloc(count + 1, sizeof *program->assignments);
        program->is_assigned = calloc(count + 1, sizeof *program->is_assigned);
        if (!program->assignments || !program->is_assigned) {
            return liana__fail_memory(&program->context->error, "a run");
        }
        program->assignment_capacity = count;
    }
    for (size_t i = 0; i < count; i++) program->is_assigned[i] = options->assign_all;
    for (size_t i = 0; i < options->assign.count; i++) LIANA_TRY(mark_named(program, options->assign.items[i]));
    for (size_t i = 0; i < count; i++) {
        if (program->is_assigned[i]) program->assignments[wanted->num_assignments++] = i;
    }
    wanted->assignments = program->assignments;
    return LIANA_OK;
}

/* ---- feeds ---- */

/* Checks a feed against the graph's input of its name. */
static liana_status check_feed(const liana_program *program, const liana_feeds *feeds, size_t number)
{
    const liana_array *feed = &feeds->items[number];
    liana__error *error = &program->context->error;
    if (!feed->name) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: feed %zu has no name", program->name, number);
    }
    int index = liana__graph_find_input(program->graph, feed->name);
    if (index < 0) return fail_input(program, feed->name);
    const liana__node *node = program->graph->inputs[index];
    for (size_t i = 0; i < number; i++) {
        if (strcmp(feeds->items[i].name, feed->name) != 0) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the input '%s' is fed twice", program->name, feed->name);
    }
    if ((liana_dtype)feed->dtype != node->dtype || !liana_shape_equal(&feed->shape, &node->shape)) {
        bool can_print = (unsigned)feed->dtype < LIANA_NUM_DTYPES && (unsigned)feed->shape.rank <= LIANA_MAX_RANK;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the input '%s' is fed %s, expected %s", program->name,
                           feed->name,
                           can_print ? liana__type_print((liana_dtype)feed->dtype, &feed->shape).text
                                     : "what is no type",
                           liana__type_print(node->dtype, &node->shape).text);
    }
    if (feed->data) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the feed for the input '%s' has no data", program->name,
                       feed->name);
}

static liana_status fail_missing_feeds(const liana_program *program, const liana__compiled_set *set)
{
    LIANA__SCOPED(liana__text) names = {0};
    size_t count = 0;
    for (size_t i = 0; i < set->num_inputs; i++) {
        const liana__node *node = set->inputs[i];
        if (set->feeds[i]) continue;
        liana__text_add(&names, "%s'%.100s' (%s)", count++ ? ", " : "", node->name,
                        liana__type_print(node->dtype, &node->shape).text);
    }
    return liana__fail(&program->context->error, LIANA_INVALID_ARGUMENT,
                       "%s: what is asked for needs the input%s %s, which %s not fed", program->name,
                       count == 1 ? "" : "s", names.data ? names.data : "", count == 1 ? "was" : "were");
}

/* Finds the feed of each needed input. */
static liana_status find_feeds(const liana_program *program, liana__compiled_set *set, const liana_feeds *feeds)
{
    for (size_t i = 0; i < set->num_inputs; i++) {
        set->feeds[i] = NULL;
        for (size_t k = 0; k < feeds->count && !set->feeds[i]; k++) {
            if (strcmp(feeds->items[k].name, set->inputs[i]->name) == 0) set->feeds[i] = &feeds->items[k];
        }
    }
    for (size_t i = 0; i < set->num_inputs; i++) {
        if (!set->feeds[i]) return fail_missing_feeds(program, set);
    }
    return LIANA_OK;
}

/* ---- running ---- */

static liana_status check_variables(const liana_program *program, const liana__compiled_set *set)
{
    bool all = true;
    for (size_t i = 0; i < set->num_read && all; i++) all = program->variables->states[set->read[i]].initialized;
    if (all) return LIANA_OK;
    LIANA__SCOPED_MEMORY bool *read = calloc(program->variables->values.count + 1, sizeof *read);
    if (!read) return liana__fail_memory(&program->context->error, "a run");
    for (size_t i = 0; i < set->num_read; i++) read[set->read[i]] = true;
    return liana__variables_require(program->variables, program->name, read);
}

static size_t output_of(const liana__compiled_set *set, const liana__node *node)
{
    size_t output = 0;
    while (set->results[output] != node) output++;
    return output;
}

static liana_status fetch(const liana_program *program, const liana__compiled_set *set, const liana_fetches *fetches)
{
    liana__error *error = &program->context->error;
    for (size_t i = 0; i < fetches->count; i++) {
        size_t output = output_of(set, program->wanted[i]);
        LIANA_TRY(set->parts ? liana__device_parts_fetch(set->parts, output, fetches->items[i].data, error)
                             : liana__program_fetch(set->program, output, fetches->items[i].data, error));
    }
    return LIANA_OK;
}

static void note_assigned(const liana_program *program, const liana__compiled_set *set)
{
    for (size_t i = 0; i < set->num_assignments; i++) program->variables->states[set->assigned[i]].initialized = true;
}

static liana_status run_on_one(const liana_program *program, const liana__compiled_set *set,
                               const liana_run_options *options)
{
    liana__error *error = &program->context->error;
    for (size_t i = 0; i < set->num_inputs; i++) {
        const liana_array *feed = set->feeds[i];
        LIANA_TRY(liana__program_feed(set->program, i, (liana_dtype)feed->dtype, &feed->shape, feed->data, error));
    }
    LIANA_TRY(check_variables(program, set));
    LIANA_TRY(liana__program_run(set->program, error));
    note_assigned(program, set);
    return fetch(program, set, &options->fetches);
}

static liana_status run_set(const liana_program *program, liana__compiled_set *set, const liana_run_options *options)
{
    LIANA_TRY(find_feeds(program, set, &options->feeds));
    if (!set->parts) return run_on_one(program, set, options);
    LIANA_TRY(check_variables(program, set));
    if (liana__device_parts_run(set->parts, set->feeds, &program->context->error) != LIANA_OK) {
        return liana__fail_within(&program->context->error, "%s", program->name);
    }
    LIANA_TRY(fetch(program, set, &options->fetches));
    liana__device_parts_commit(set->parts);
    note_assigned(program, set);
    return LIANA_OK;
}

static liana_status check_lists(const liana_program *program, const liana_run_options *options)
{
    const struct {
        const char *what;
        const void *items;
        size_t count;
    } lists[] = {{"feeds", options->feeds.items, options->feeds.count},
                 {"fetches", options->fetches.items, options->fetches.count},
                 {"assign", options->assign.items, options->assign.count}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (lists[i].items || lists[i].count == 0) continue;
        return liana__fail(&program->context->error, LIANA_INVALID_ARGUMENT, "%s: the list .%s of %zu is missing",
                           program->name, lists[i].what, lists[i].count);
    }
    return LIANA_OK;
}

static liana_status run_once(liana_program *program, const liana_run_options *options)
{
    if (!options) return LIANA_OK;
    LIANA_TRY(program->graph->status);
    LIANA_TRY(check_lists(program, options));
    for (size_t i = 0; i < options->feeds.count; i++) LIANA_TRY(check_feed(program, &options->feeds, i));
    liana__wanted wanted = {0};
    LIANA_TRY(list_results(program, &options->fetches, &wanted));
    LIANA_TRY(list_assignments(program, options, &wanted));
    if (wanted.num_results + wanted.num_assignments == 0) return LIANA_OK;
    liana__compiled_set *set;
    LIANA_TRY(liana__program_find_set(program, &wanted, &set));
    return run_set(program, set, options);
}

liana_status liana_program_run(liana_program *program, const liana_run_options *options)
{
    LIANA__REQUIRE(NULL, program);
    LIANA__CONTEXT_CALL(program->context, run_once(program, options));
}
