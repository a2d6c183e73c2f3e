/* Updates by slices: the items of an update, and the graphs that update a slice of them. */
#include "step/slice_update.h"

#include "ir/graph.h"
#include "ir/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void liana__rate_name(size_t number, char *name, size_t size)
{
    snprintf(name, size, "learning_rate/%zu", number);
}

/* ---- the items of an update ---- */

static liana_status check_reads(const liana__update_rule *rule, liana__error *error)
{
    /* Those of a rule with others within are of the library. */
    const liana_optimizer_type *optimizer = rule->optimizer;
    const liana_update_reads own = liana__optimizer_reads(optimizer, rule->options), *reads = &own;
    if (reads->num_rounds > LIANA_MAX_OWN_ROUNDS) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "optimizer '%s' declares %zu rounds of sums, expected 0 to %d",
                           optimizer->part.name, reads->num_rounds, LIANA_MAX_OWN_ROUNDS);
    }
    for (size_t i = 0; i < reads->num_rounds; i++) {
        const liana_sum_round *round = &reads->rounds[i];
        if (round->terms && round->num_sums >= 1 && round->num_sums <= LIANA_MAX_ROUND_SUMS) continue;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "optimizer '%s' declares %zu sums in round %zu, expected 1 to %d and their terms",
                           optimizer->part.name, round->num_sums, i, LIANA_MAX_ROUND_SUMS);
    }
    return LIANA_OK;
}

static void add_variable(liana__update_items *items, size_t index)
{
    const liana__updated_variable *variable = &items->variables[index];
    const int64_t size = liana_shape_size(&variable->shape);
    items->items[items->num_items] = (liana__slice_item){variable->name, size, items->reads.whole || variable->whole};
    items->firsts[items->num_items++] = index;
    items->num_variables++;
    items->num_chunks += liana__num_chunks(size);
}

/* An average joins the item of its owner. */
static void add_average(liana__update_items *items, size_t index)
{
    const liana__updated_variable *variable = &items->variables[index];
    const int64_t size = liana_shape_size(&variable->shape);
    for (size_t i = 0; i < items->num_items; i++) {
        const liana__updated_variable *known = &items->variables[items->firsts[i]];
        if (!known->is_average || known->owner != variable->owner) continue;
        items->items[i].size += size;
        return;
    }
    const char *name = liana__arena_format(&items->arena, "averages of '%s'", variable->owner_name);
    items->items[items->num_items] = (liana__slice_item){name, size, true};
    items->firsts[items->num_items++] = index;
}

liana_status liana__update_items_create(const liana__updated_variable *variables, size_t count,
                                        const liana__update_rule *rule, liana__update_items *items, liana__error *error)
{
    *items = (liana__update_items){.variables = variables, .count = count, .rule = *rule};
    LIANA_TRY(check_reads(rule, error));
    items->reads = liana__rule_reads(rule);
    items->items = liana__arena_allocate(&items->arena, (count + 1) * sizeof *items->items);
    items->firsts = liana__arena_allocate(&items->arena, (count + 1) * sizeof *items->firsts);
    for (size_t i = 0; !items->arena.failed && i < count; i++) {
        (variables[i].is_average ? add_average : add_variable)(items, i);
    }
    if (!items->arena.failed) return LIANA_OK;
    liana__update_items_free(items);
    return liana__fail_memory(error, "the list of what an update changes");
}

void liana__update_items_free(liana__update_items *items)
{
    liana__arena_free(&items->arena);
    *items = (liana__update_items){0};
}

const liana__updated_variable *liana__update_item_variable(const liana__update_items *items, size_t item)
{
    return &items->variables[items->firsts[item]];
}

/* ---- pieces ---- */

static bool is_variable(const liana__update_items *items, size_t item)
{
    return !liana__update_item_variable(items, item)->is_average;
}

static const liana__updated_variable *variable_of(const liana__update_items *items, const liana__slice_piece *piece)
{
    return liana__update_item_variable(items, piece->item);
}

static liana__update_rule rule_of(const liana__update_items *items, const liana__slice_piece *piece)
{
    return liana__rule_of(&items->rule, variable_of(items, piece)->name);
}

static bool is_complete(const liana__update_items *items, const liana__slice_piece *piece)
{
    return piece->begin == 0 && piece->end == items->items[piece->item].size;
}

liana_shape liana__piece_shape(const liana__update_items *items, const liana__slice_piece *piece)
{
    if (is_complete(items, piece)) return variable_of(items, piece)->shape;
    return liana_shape_of(piece->end - piece->begin);
}

void liana__piece_name(const liana__update_items *items, const liana__slice_piece *piece, char *name, size_t size)
{
    const char *variable = variable_of(items, piece)->name;
    if (is_complete(items, piece)) {
        snprintf(name, size, "%s", variable);
    } else {
        snprintf(name, size, "%s[%lld:%lld]", variable, (long long)piece->begin, (long long)piece->end);
    }
}

void liana__piece_slot_name(const liana__update_items *items, const liana__slice_piece *piece, size_t slot, char *name,
                            size_t size)
{
    char variable[512];
    const liana__update_rule rule = rule_of(items, piece);
    liana__piece_name(items, piece, variable, sizeof variable);
    liana__rule_slot_variable(&rule, slot, variable, name, size);
}

/* Whether a piece begins and ends at chunks. */
static bool fits_chunks(const liana__slice_piece *piece, int64_t size)
{
    return piece->begin % LIANA__CHUNK == 0 && (piece->end % LIANA__CHUNK == 0 || piece->end == size);
}

static liana_status check_piece(const liana__update_items *items, const liana__slice_piece *piece, liana__error *error)
{
    const liana__slice_item *item = &items->items[piece->item];
    const char *optimizer = items->rule.optimizer->part.name;
    long long begin = piece->begin, end = piece->end, size = item->size;
    if (begin < 0 || begin >= end || end > size) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a slice has the elements %lld to %lld of '%s', expected a range of its %lld elements",
                           begin, end, item->name, size);
    }
    if (is_complete(items, piece)) return LIANA_OK;
    if (!is_variable(items, piece->item)) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "a slice has the elements %lld to %lld of the %s, expected all %lld: the averages of a layer "
            "have one owner",
            begin, end, item->name, size);
    }
    if (items->reads.whole) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "a slice has the elements %lld to %lld of '%s', expected all %lld: optimizer '%s' reads whole "
            "variables",
            begin, end, item->name, size, optimizer);
    }
    if (item->whole) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "a slice has the elements %lld to %lld of '%s', expected all %lld: its regularizer or "
                           "constraint reads the whole variable",
                           begin, end, item->name, size);
    }
    if (items->reads.num_rounds == 0 || fits_chunks(piece, size)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "a slice has the elements %lld to %lld of '%s' (%lld elements), expected multiples of %d or the "
                       "end: optimizer '%s' reads sums over chunks",
                       begin, end, item->name, size, LIANA__CHUNK, optimizer);
}

static liana_status check_slice(const liana__update_items *items, const liana__update_slice *slice, liana__error *error)
{
    for (size_t i = 0; i < slice->num_pieces; i++) {
        const liana__slice_piece *piece = &slice->pieces[i];
        if (piece->item >= items->num_items || (i > 0 && piece->item <= slice->pieces[i - 1].item)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "piece %zu of a slice is of item %zu, expected items in order, below %zu", i,
                               piece->item, items->num_items);
        }
        LIANA_TRY(check_piece(items, piece, error));
    }
    return LIANA_OK;
}

/* ---- sums ---- */

int64_t liana__slice_num_chunks(const liana__update_items *items, const liana__update_slice *slice)
{
    int64_t count = 0;
    for (size_t i = 0; i < slice->num_pieces; i++) {
        const liana__slice_piece *piece = &slice->pieces[i];
        if (is_variable(items, piece->item)) count += liana__num_chunks(piece->end - piece->begin);
    }
    return count;
}

/* The trainable variables before an item, and their chunks. */
static size_t variables_before(const liana__update_items *items, size_t item, int64_t *num_chunks)
{
    size_t count = 0;
    *num_chunks = 0;
    for (size_t i = 0; i < item; i++) {
        if (!is_variable(items, i)) continue;
        count++;
        *num_chunks += liana__num_chunks(items->items[i].size);
    }
    return count;
}

int64_t liana__slice_first_chunk(const liana__update_items *items, const liana__update_slice *slice)
{
    if (slice->num_pieces == 0) return 0;
    const liana__slice_piece *first = &slice->pieces[0];
    int64_t before;
    variables_before(items, first->item, &before);
    return is_variable(items, first->item) ? before + first->begin / LIANA__CHUNK : before;
}

liana_shape liana__slice_sums_shape(const liana__update_items *items, const liana__update_slice *slice, size_t round,
                                    size_t *first)
{
    const liana_sum_round *known = &items->reads.rounds[round];
    int64_t count = 0, chunks, num_sums = (int64_t)known->num_sums;
    *first = 0;
    if (known->scope == LIANA_SUM_OF_ALL) return liana_shape_of(num_sums);
    if (slice->num_pieces) *first = variables_before(items, slice->pieces[0].item, &chunks);
    for (size_t i = 0; i < slice->num_pieces; i++) count += is_variable(items, slice->pieces[i].item);
    return liana_shape_of(count, num_sums);
}

void liana__finish_sums(const liana__update_items *items, size_t round, const float *chunk_sums, float *sums)
{
    const liana_sum_round *known = &items->reads.rounds[round];
    const size_t num_sums = known->num_sums;
    double all[LIANA_MAX_ROUND_SUMS] = {0};
    for (size_t item = 0; item < items->num_items; item++) {
        if (!is_variable(items, item)) continue;
        double total[LIANA_MAX_ROUND_SUMS] = {0};
        for (int64_t chunk = liana__num_chunks(items->items[item].size); chunk > 0; chunk--) {
            for (size_t k = 0; k < num_sums; k++) total[k] += (double)*chunk_sums++;
        }
        for (size_t k = 0; k < num_sums; k++) {
            all[k] += total[k];
            if (known->scope == LIANA_SUM_OF_VARIABLE) *sums++ = (float)total[k];
        }
    }
    for (size_t k = 0; known->scope == LIANA_SUM_OF_ALL && k < num_sums; k++) *sums++ = (float)all[k];
}

/* ---- graphs ---- */

/* A graph that is being built. */
typedef struct builder {
    const liana__update_items *items;
    const liana__update_slice *slice;
    liana_graph *graph;
    liana_tensor *gradient_sums;  /* by piece; invalid for averages */
    liana_tensor *statistic_sums; /* by variable; invalid for variables that the slice does not have */
    liana_tensor count, learning_rate, iteration;
    liana_tensor *more_rates;                /* those of the rule behind the first */
    liana_tensor sums[LIANA_MAX_SUM_ROUNDS]; /* finished ones */
    size_t num_rounds;                       /* of finished sums */
} builder;

static bool is_average_of_piece(const builder *b, const liana__slice_piece *piece, size_t index)
{
    const liana__updated_variable *variable = &b->items->variables[index];
    return variable->is_average && variable->owner == variable_of(b->items, piece)->owner;
}

static void make_average_input(builder *b, size_t index)
{
    const liana__updated_variable *average = &b->items->variables[index];
    if (b->statistic_sums[index].id) return;
    b->statistic_sums[index] = liana_graph_input(b->graph, average->name, LIANA_F32, average->shape);
}

static void make_average_inputs(builder *b, const liana__slice_piece *piece)
{
    for (size_t i = 0; i < b->items->count; i++) {
        if (is_average_of_piece(b, piece, i)) make_average_input(b, i);
    }
}

/* The average whose statistic the update of a piece begins with; the number of variables: none. */
static size_t find_beginning(const liana__update_items *items, const liana__slice_piece *piece)
{
    const char *wanted = variable_of(items, piece)->begins_as;
    size_t found = wanted ? 0 : items->count;
    while (found < items->count && strcmp(items->variables[found].name, wanted) != 0) found++;
    return found;
}

static void make_inputs(builder *b, bool with_averages)
{
    const liana__update_items *items = b->items;
    for (size_t i = 0; i < b->slice->num_pieces; i++) {
        const liana__slice_piece *piece = &b->slice->pieces[i];
        if (is_variable(items, piece->item)) {
            char name[512];
            liana__piece_name(items, piece, name, sizeof name);
            b->gradient_sums[i] = liana_graph_input(b->graph, name, LIANA_F32, liana__piece_shape(items, piece));
            const size_t beginning = find_beginning(items, piece);
            if (beginning < items->count) make_average_input(b, beginning);
        } else if (with_averages) {
            make_average_inputs(b, piece);
        }
    }
    b->count = liana_graph_input(b->graph, "count", LIANA_F32, LIANA_SCALAR);
    b->learning_rate = liana_graph_input(b->graph, "learning_rate", LIANA_F32, LIANA_SCALAR);
    b->iteration = liana_graph_input(b->graph, "iteration", LIANA_F32, LIANA_SCALAR);
    for (size_t i = 1; i < liana__rule_num_rates(&items->rule); i++) {
        char name[64];
        liana__rate_name(i, name, sizeof name);
        b->more_rates[i - 1] = liana_graph_input(b->graph, name, LIANA_F32, LIANA_SCALAR);
    }
    bool has_variables = liana__slice_num_chunks(items, b->slice) > 0;
    for (size_t round = 0; has_variables && round < b->num_rounds; round++) {
        char name[32];
        size_t first;
        snprintf(name, sizeof name, "sums/%zu", round);
        liana_shape shape = liana__slice_sums_shape(items, b->slice, round, &first);
        b->sums[round] = liana_graph_input(b->graph, name, LIANA_F32, shape);
    }
}

/* `num_rounds`: of finished sums that the graph reads. */
static liana_status begin_graph(liana_context *context, const liana__update_items *items,
                                const liana__update_slice *slice, size_t num_rounds, bool with_averages, builder *b)
{
    LIANA_TRY(check_slice(items, slice, &context->error));
    *b = (builder){.items = items, .slice = slice, .num_rounds = num_rounds};
    LIANA_TRY(liana_graph_create(context, &b->graph));
    liana__arena *arena = &b->graph->arena;
    b->gradient_sums = liana__arena_allocate(arena, (slice->num_pieces + 1) * sizeof *b->gradient_sums);
    b->statistic_sums = liana__arena_allocate(arena, (items->count + 1) * sizeof *b->statistic_sums);
    b->more_rates = liana__arena_allocate(arena, liana__rule_num_rates(&items->rule) * sizeof *b->more_rates);
    if (!b->gradient_sums || !b->statistic_sums || !b->more_rates) {
        liana_graph_destroy(b->graph);
        return liana__fail_memory(&context->error, "the update of a slice");
    }
    make_inputs(b, with_averages);
    return LIANA_OK;
}

static liana_status finish_graph(const builder *b, liana_graph **out)
{
    liana_status status = liana_graph_status(b->graph);
    if (status != LIANA_OK) {
        liana_graph_destroy(b->graph);
        return status;
    }
    *out = b->graph;
    return LIANA_OK;
}

/* Element `column` of row `row` of a matrix, or element `column` of a vector, as a scalar. */
static liana_tensor element_of(liana_tensor sums, int64_t row, int64_t column)
{
    bool is_vector = liana_tensor_shape(sums).rank == 1;
    const int64_t start[2] = {is_vector ? column : row, column}, limit[2] = {start[0] + 1, column + 1};
    return liana_op_reshape(liana_op_slice(sums, start, limit, NULL), LIANA_SCALAR);
}

/* The mean gradient of the loss, which the penalty of the piece is part of. */
static liana_tensor gradient_of(const builder *b, size_t index, liana_tensor variable)
{
    const liana__regularizer *regularizer = variable_of(b->items, &b->slice->pieces[index])->regularizer;
    liana_tensor gradient = liana_op_divide(b->gradient_sums[index], b->count), change;
    if (!regularizer || !regularizer->type) return gradient;
    liana_tensor penalty = liana__regularizer_of_variable(regularizer, variable);
    liana_gradients(penalty, &variable, 1, &change);
    return liana_op_add(gradient, change);
}

static liana_tensor variable_of_piece(const builder *b, const liana__slice_piece *piece)
{
    char name[512];
    liana__piece_name(b->items, piece, name, sizeof name);
    return liana_graph_variable(b->graph, name, LIANA_F32, liana__piece_shape(b->items, piece));
}

/* The optimizer's inputs for a piece, which is trainable piece number `row` of the slice. */
static liana_optimizer_step step_of(const builder *b, size_t index, int64_t row)
{
    const liana__update_items *items = b->items;
    const liana__slice_piece *piece = &b->slice->pieces[index];
    const liana_shape shape = liana__piece_shape(items, piece);
    char name[512];
    const char *variable = variable_of(items, piece)->name;
    const size_t beginning = find_beginning(items, piece);
    const liana__update_rule rule = rule_of(items, piece);
    const liana_tensor rate = rule.number ? b->more_rates[rule.number - 1] : b->learning_rate;
    liana_optimizer_step step = liana__rule_begin(&rule, variable);
    step.variable = variable_of_piece(b, piece);
    if (beginning < items->count) step.variable = liana_op_divide(b->statistic_sums[beginning], b->count);
    step.learning_rate = liana__multiply_rate(items->rate_multipliers, variable, rate);
    step.common_rate = rate;
    step.gradient = gradient_of(b, index, step.variable);
    step.iteration = b->iteration;
    size_t num_slots = liana__rule_num_slots(&rule);
    for (size_t slot = 0; slot < num_slots; slot++) {
        const liana_shape of_slot = liana__rule_slot_shape(&rule, slot, &shape);
        liana__piece_slot_name(items, piece, slot, name, sizeof name);
        step.slots[slot] = liana_graph_variable(b->graph, name, LIANA_F32, of_slot);
    }
    for (size_t round = 0; round < b->num_rounds; round++) {
        for (size_t k = 0; k < items->reads.rounds[round].num_sums; k++) {
            step.sums[round][k] = element_of(b->sums[round], row, (int64_t)k);
        }
    }
    return step;
}

/* [chunks]: the sum of each chunk of `count` terms. A row of chunks is one op, which adds each row up by itself; the
 * chunks stand in rows, so that nobody adds up parts of a chunk apart from each other. */
static liana_tensor sum_chunks(liana_tensor terms, int64_t count)
{
    liana_tensor flat = liana_op_reshape(terms, liana_shape_of(count)), sums[2];
    int64_t full = count / LIANA__CHUNK, end = full * LIANA__CHUNK, rest = count - end;
    size_t num_sums = 0;
    if (full > 0) {
        liana_tensor part = rest ? liana_op_slice(flat, (const int64_t[]){0}, &end, NULL) : flat;
        part = liana_op_reshape(part, liana_shape_of(full, LIANA__CHUNK));
        sums[num_sums++] = liana_op_reduce_sum(part, LIANA_AXES(1), false);
    }
    if (rest > 0) {
        liana_tensor part = full ? liana_op_slice(flat, &end, &count, NULL) : flat;
        sums[num_sums++] = liana_op_reduce_sum(liana_op_reshape(part, liana_shape_of(1, rest)), LIANA_AXES(1), false);
    }
    return num_sums == 1 ? sums[0] : liana_op_concat(sums, num_sums, 0);
}

/* [chunks of the piece, sums of the round] */
static liana_tensor sum_piece(const builder *b, size_t round, size_t index, int64_t row)
{
    const liana__slice_piece *piece = &b->slice->pieces[index];
    const liana_sum_round *known = &b->items->reads.rounds[round];
    const int64_t count = piece->end - piece->begin;
    liana_optimizer_step step = step_of(b, index, row);
    liana_tensor terms[LIANA_MAX_ROUND_SUMS] = {{0}}, columns[LIANA_MAX_ROUND_SUMS];
    const liana__update_rule rule = rule_of(b->items, piece);
    liana__rule_terms(&rule, round, &step, terms);
    for (size_t k = 0; k < known->num_sums; k++) {
        liana_shape found = liana_tensor_shape(terms[k]), expected = liana_tensor_shape(step.variable);
        bool fits = liana_shape_equal(&found, &expected) && liana_tensor_dtype(terms[k]) == LIANA_F32;
        if (!fits && liana_graph_status(b->graph) == LIANA_OK) {
            return liana__graph_fail(b->graph, LIANA_HERE, LIANA_INVALID_ARGUMENT,
                                     "term %zu of optimizer '%s' is %s, expected the variable's type, %s", k,
                                     b->items->rule.optimizer->part.name,
                                     liana__type_print(liana_tensor_dtype(terms[k]), &found).text,
                                     liana__type_print(LIANA_F32, &expected).text);
        }
        columns[k] = liana_op_reshape(sum_chunks(terms[k], count), liana_shape_of(liana__num_chunks(count), 1));
    }
    return known->num_sums == 1 ? columns[0] : liana_op_concat(columns, known->num_sums, 1);
}

/* Joins any number of tensors along axis 0; overwrites them. The most inputs of one concat. */
static liana_tensor join(liana_tensor *tensors, size_t count)
{
    enum { MAX_INPUTS = 1024 };
    while (count > 1) {
        size_t joined = 0;
        for (size_t first = 0; first < count; first += MAX_INPUTS) {
            size_t some = count - first < MAX_INPUTS ? count - first : MAX_INPUTS;
            tensors[joined++] = some == 1 ? tensors[first] : liana_op_concat(tensors + first, some, 0);
        }
        count = joined;
    }
    return tensors[0];
}

liana_status liana__build_slice_sums(liana_context *context, const liana__update_items *items,
                                     const liana__update_slice *slice, size_t round, liana_graph **graph)
{
    *graph = NULL;
    builder b;
    if (round >= items->reads.num_rounds) {
        return liana__fail(&context->error, LIANA_INVALID_ARGUMENT,
                           "optimizer '%s' has %zu rounds of sums, not round %zu", items->rule.optimizer->part.name,
                           items->reads.num_rounds, round);
    }
    LIANA_TRY(check_slice(items, slice, &context->error));
    if (liana__slice_num_chunks(items, slice) == 0) return LIANA_OK;
    LIANA_TRY(begin_graph(context, items, slice, round, false, &b));
    liana_tensor *sums = liana__arena_allocate(&b.graph->arena, slice->num_pieces * sizeof *sums);
    if (!sums) liana__graph_fail(b.graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the sums of an update");
    size_t count = 0;
    for (size_t i = 0; sums && i < slice->num_pieces; i++) {
        if (!is_variable(items, slice->pieces[i].item)) continue;
        sums[count] = sum_piece(&b, round, i, (int64_t)count);
        count++;
    }
    if (count > 0) liana_graph_output(b.graph, "chunk_sums", join(sums, count));
    return finish_graph(&b, graph);
}

/* [variables, sums of the round], or [sums of the round]. */
static liana_tensor finish_chunks(const builder *b, size_t round, liana_tensor chunks, liana_tensor *rows)
{
    const liana_sum_round *known = &b->items->reads.rounds[round];
    if (known->scope == LIANA_SUM_OF_ALL) return liana_op_reduce_sum(chunks, LIANA_AXES(0), false);
    int64_t first = 0;
    size_t count = 0;
    for (size_t i = 0; i < b->slice->num_pieces; i++) {
        const liana__slice_piece *piece = &b->slice->pieces[i];
        if (!is_variable(b->items, piece->item)) continue;
        const int64_t end = first + liana__num_chunks(piece->end - piece->begin);
        const int64_t from[] = {first, 0}, to[] = {end, (int64_t)known->num_sums};
        rows[count++] = liana_op_reduce_sum(liana_op_slice(chunks, from, to, NULL), LIANA_AXES(0), true);
        first = end;
    }
    return join(rows, count);
}

liana_status liana__build_finished_sums(liana_context *context, const liana__update_items *items,
                                        const liana__update_slice *slice, size_t round, liana_graph **graph)
{
    LIANA_TRY(liana__build_slice_sums(context, items, slice, round, graph));
    builder b = {.items = items, .slice = slice, .graph = *graph};
    if (!*graph) return liana__fail(&context->error, LIANA_INTERNAL, "there is no variable to add up");
    liana_tensor *rows = liana__arena_allocate(&(*graph)->arena, slice->num_pieces * sizeof *rows);
    const liana_tensor chunks = {.graph = *graph, .id = (*graph)->outputs[0].node->id};
    if (rows) liana_graph_output(*graph, "finished", finish_chunks(&b, round, chunks, rows));
    if (!rows) liana__graph_fail(*graph, LIANA_HERE, LIANA_OUT_OF_MEMORY, "out of memory for the sums of an update");
    return finish_graph(&b, graph);
}

/* ---- the update ---- */

static void update_variable(const builder *b, size_t index, int64_t row)
{
    const liana__update_items *items = b->items;
    liana_optimizer_step step = step_of(b, index, row);
    const liana__update_rule rule = rule_of(items, &b->slice->pieces[index]);
    liana__rule_update(&rule, &step);
    const liana__constraint *constraint = variable_of(items, &b->slice->pieces[index])->constraint;
    if (constraint && constraint->type) {
        liana_tensor constrained = liana__constrain(constraint, step.new_variable);
        step.new_variable = liana__rule_constrained(&rule, &step, constrained);
    }
    liana_graph_assign(variable_of_piece(b, &b->slice->pieces[index]), step.new_variable);
    size_t num_slots = liana__rule_num_slots(&rule);
    for (size_t slot = 0; slot < num_slots; slot++) liana_graph_assign(step.slots[slot], step.new_slots[slot]);
}

static liana_tensor average_variable(const builder *b, size_t index)
{
    const liana__updated_variable *average = &b->items->variables[index];
    return liana_graph_variable(b->graph, average->name, LIANA_F32, average->shape);
}

liana_tensor liana__second_moment_about(liana_tensor moment, liana_tensor mean, liana_tensor about)
{
    return liana_op_subtract(moment, liana_op_square(liana_op_subtract(mean, about)));
}

liana_tensor liana__follow_statistic(liana_tensor average, liana_tensor statistic, double momentum)
{
    if (momentum == 0) return statistic;
    liana_tensor change = liana_op_subtract(statistic, average);
    liana_tensor rate = liana_graph_scalar(average.graph, LIANA_F32, 1 - momentum);
    return liana_op_add(average, liana_op_multiply(rate, change));
}

/* The statistic of the whole update; see liana__layer_update. */
static liana_tensor whole_statistic(const builder *b, size_t index)
{
    const liana__updated_variable *variables = b->items->variables;
    liana_tensor value = liana_op_divide(b->statistic_sums[index], b->count);
    const size_t about = variables[index].about;
    if (about == LIANA__NO_VARIABLE) return value;
    if (!b->statistic_sums[about].id) {
        return liana__graph_fail(b->graph, LIANA_HERE, LIANA_INTERNAL,
                                 "the average '%s' is about '%s', expected another average of its layer",
                                 variables[index].name, variables[about].name);
    }
    return liana__second_moment_about(value, whole_statistic(b, about), average_variable(b, about));
}

static void update_averages(const builder *b, const liana__slice_piece *piece)
{
    for (size_t i = 0; i < b->items->count; i++) {
        if (!is_average_of_piece(b, piece, i)) continue;
        liana_tensor average = average_variable(b, i), statistic = whole_statistic(b, i);
        liana_graph_assign(average, liana__follow_statistic(average, statistic, b->items->variables[i].momentum));
    }
}

liana_status liana__build_slice_update(liana_context *context, const liana__update_items *items,
                                       const liana__update_slice *slice, liana_graph **graph)
{
    *graph = NULL;
    builder b;
    if (slice->num_pieces == 0) return LIANA_OK;
    LIANA_TRY(begin_graph(context, items, slice, items->reads.num_rounds, true, &b));
    int64_t row = 0;
    for (size_t i = 0; i < slice->num_pieces; i++) {
        const liana__slice_piece *piece = &slice->pieces[i];
        if (is_variable(items, piece->item)) {
            update_variable(&b, i, row++);
        } else {
            update_averages(&b, piece);
        }
    }
    return finish_graph(&b, graph);
}
