/* Finds the boxes and arrows of a model. */
#include "report/model_boxes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Kinds of layers that a group lists. */
enum { LISTED_KINDS = 3, LONGEST_TEXT = 240 };

/* A call of a layer or a nested model. */
typedef struct call {
    liana__scope_item item;
    size_t number;
    size_t *inputs; /* calls, before they are sorted */
    size_t num_inputs;
    size_t left;  /* of the inputs: not yet sorted */
    size_t place; /* in the order; then the box */
} call;

typedef struct finding {
    const liana_model *model;
    liana__arena *arena;
    call *calls;
    size_t count;
    size_t *layers, *nested; /* the first call of each, and LIANA__NONE */
    size_t *order;           /* [count]: the calls, inputs first */
    size_t *groups;          /* [count + 1]: where each group begins in the order */
    size_t *repeats;         /* [num_groups]: of how many equal parts each is */
    size_t num_groups;
    liana__error *error;
} finding;

/* ---- calls ---- */

static size_t *first_call(const finding *own, liana__scope_item item)
{
    return item.is_nested ? &own->nested[item.index] : &own->layers[item.index];
}

static liana_status find_inputs(finding *own, call *one)
{
    liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS];
    one->num_inputs = liana__scope_inputs(own->model, LIANA__NONE, one->item, one->number, inputs);
    one->inputs = liana__arena_allocate(own->arena, (one->num_inputs + 1) * sizeof *one->inputs);
    if (!one->inputs) return liana__fail_memory(own->error, "the picture of a model");
    for (size_t i = 0; i < one->num_inputs; i++) {
        one->inputs[i] = *first_call(own, inputs[i].item) + inputs[i].number;
    }
    one->left = one->num_inputs;
    return LIANA_OK;
}

static liana_status find_calls(finding *own)
{
    const liana_model *model = own->model;
    const size_t most = model->num_nodes + model->num_uses + 1;
    own->calls = liana__arena_allocate(own->arena, most * sizeof *own->calls);
    own->layers = liana__arena_allocate(own->arena, (model->num_layers + 1) * sizeof *own->layers);
    own->nested = liana__arena_allocate(own->arena, (model->num_nested + 1) * sizeof *own->nested);
    if (own->arena->failed) return liana__fail_memory(own->error, "the picture of a model");
    liana__scope_item item;
    for (size_t next = 0; liana__scope_next(model, LIANA__NONE, &next, &item);) {
        const size_t calls = liana__scope_num_calls(model, LIANA__NONE, item);
        *first_call(own, item) = own->count;
        for (size_t i = 0; i < calls; i++) own->calls[own->count++] = (call){.item = item, .number = i};
    }
    for (size_t i = 0; i < own->count; i++) LIANA_TRY(find_inputs(own, &own->calls[i]));
    return LIANA_OK;
}

/* The order of the layers, except where a layer is called again later. */
static liana_status sort_calls(finding *own)
{
    own->order = liana__arena_allocate(own->arena, (own->count + 1) * sizeof *own->order);
    bool *sorted = liana__arena_allocate(own->arena, (own->count + 1) * sizeof *sorted);
    if (!own->order || !sorted) return liana__fail_memory(own->error, "the picture of a model");
    for (size_t place = 0, from = 0; place < own->count; place++) {
        while (from < own->count && sorted[from]) from++;
        size_t next = from;
        for (; next < own->count; next++) {
            bool ready = !sorted[next];
            for (size_t i = 0; ready && i < own->calls[next].num_inputs; i++) {
                ready = sorted[own->calls[next].inputs[i]];
            }
            if (ready) break;
        }
        if (next == own->count) return liana__fail(own->error, LIANA_INTERNAL, "a model's layers form a circle");
        sorted[next] = true;
        own->order[place] = next;
        own->calls[next].place = place;
    }
    return LIANA_OK;
}

/* ---- groups ---- */

static const char *name_of(const finding *own, size_t place)
{
    return liana__scope_item_name(own->model, own->calls[own->order[place]].item);
}

/* A word of a name, up to '_'. */
static size_t word_length(const char *word)
{
    return strcspn(word, "_");
}

static bool is_number(const char *word, size_t length)
{
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)word[digits])) digits++;
    return length && digits == length;
}

/* Whether a word says a block or stage: "block1a", "stage", "block"; *needs_number: its number is the next word. */
static bool says_block(const char *word, size_t length, bool *needs_number)
{
    static const char *const words[] = {"block", "stage"};
    for (size_t i = 0; i < 2; i++) {
        const size_t size = strlen(words[i]);
        if (length < size || strncmp(word, words[i], size) != 0) continue;
        *needs_number = length == size;
        return *needs_number || isdigit((unsigned char)word[size]);
    }
    return false;
}

size_t liana__model_block_name(const char *name, bool stage)
{
    size_t end = 0, before = 0, at = 0;
    while (name[at]) {
        const size_t length = word_length(name + at);
        const char *next = name[at + length] ? name + at + length + 1 : "";
        bool needs_number = false;
        if (says_block(name + at, length, &needs_number) && (!needs_number || is_number(next, word_length(next)))) {
            before = end ? end : at ? at - 1 : 0;
            end = at + length + (needs_number ? 1 + word_length(next) : 0);
        }
        at += length + (name[at + length] == '_');
    }
    if (!end || !stage) return end;
    /* "block2a" is of "block2"; "conv2_block1" of "conv2"; "stage_0_block_1" of "stage_0". */
    size_t cut = end;
    while (cut && isalpha((unsigned char)name[cut - 1])) cut--;
    return cut && cut < end ? cut : before ? before : end;
}

/* Groups layers in a row whose names say the same block. */
static void group_by_names(finding *own, bool stages)
{
    own->num_groups = 0;
    for (size_t i = 0; i < own->count; i++) {
        const char *name = name_of(own, i), *last = i ? name_of(own, i - 1) : "";
        const size_t length = liana__model_block_name(name, stages);
        const bool same =
            i && length && length == liana__model_block_name(last, stages) && strncmp(name, last, length) == 0;
        if (!same) own->groups[own->num_groups++] = i;
    }
}

/* How many calls before each one are read by calls after it: 0 where all ways go through it. */
static void count_passing(const finding *own, size_t *passing)
{
    size_t *latest = own->groups; /* the last call that reads each */
    for (size_t i = 0; i < own->count; i++) {
        latest[i] = i;
        passing[i] = 0;
    }
    for (size_t i = 0; i < own->count; i++) {
        const call *one = &own->calls[own->order[i]];
        for (size_t k = 0; k < one->num_inputs; k++) latest[own->calls[one->inputs[k]].place] = i;
    }
    for (size_t i = 0; i < own->count; i++) {
        for (size_t k = i + 1; k < latest[i]; k++) passing[k]++;
    }
}

/* Whether a layer multiplies with a matrix or kernel: it begins a group where layers follow each other. */
static bool has_kernel(const finding *own, size_t place)
{
    const call *one = &own->calls[own->order[place]];
    const liana__layer *layer = one->item.is_nested ? NULL : &own->model->layers[one->item.index];
    for (size_t i = 0; layer && i < layer->num_weights; i++) {
        if (own->model->weights[layer->first_weight + i].shape.rank > 1) return true;
    }
    return one->item.is_nested;
}

/* Groups layers between places that at most `tolerated` arrows pass. */
static void group_between(finding *own, const size_t *passing, size_t tolerated)
{
    own->num_groups = 0;
    for (size_t i = 0; i < own->count; i++) {
        const bool is_free = passing[i] <= tolerated, was_free = i && passing[i - 1] <= tolerated;
        /* The layer where branches meet ends their group. */
        const bool met = i > 1 && was_free && passing[i - 2] > tolerated;
        const bool begins = was_free && (!is_free || met || has_kernel(own, i));
        if (!i || begins) own->groups[own->num_groups++] = i;
    }
}

/* Networks such as NASNet have arrows past every layer: there some are tolerated. */
static liana_status group_by_passes(finding *own)
{
    enum { MOST_TOLERATED = 3, LEAST_GROUPS = 12 };
    size_t *passing = liana__arena_allocate(own->arena, (own->count + 1) * sizeof *passing);
    if (!passing) return liana__fail_memory(own->error, "the picture of a model");
    count_passing(own, passing);
    for (size_t tolerated = 0; tolerated <= MOST_TOLERATED; tolerated++) {
        group_between(own, passing, tolerated);
        if (own->num_groups >= LEAST_GROUPS) break;
    }
    return LIANA_OK;
}

static int64_t count_weights(const finding *own, const call *one)
{
    const liana__layer *layer = &own->model->layers[one->item.index];
    int64_t count = 0;
    for (size_t i = 0; i < layer->num_weights; i++) {
        count += liana_shape_size(&own->model->weights[layer->first_weight + i].shape);
    }
    return count;
}

/* Whether two layers are of one kind, with as many weights and results of one shape. */
static bool are_alike(const finding *own, size_t a, size_t b)
{
    const call *one = &own->calls[own->order[a]], *other = &own->calls[own->order[b]];
    if (one->item.is_nested || other->item.is_nested) return false;
    if (own->model->layers[one->item.index].type != own->model->layers[other->item.index].type) return false;
    if (count_weights(own, one) != count_weights(own, other)) return false;
    const liana__scope_result results[2] = {{one->item, one->number, 0}, {other->item, other->number, 0}};
    const liana_shape *first = &liana__scope_result_node(own->model, &results[0])->shape,
                      *second = &liana__scope_result_node(own->model, &results[1])->shape;
    return first->rank == second->rank &&
           memcmp(first->dims, second->dims, (size_t)first->rank * sizeof *first->dims) == 0;
}

/* How often the groups from `first` on come one time after the other. own->groups ends with the number of calls. */
static size_t count_repeats(const finding *own, size_t first, size_t period)
{
    const size_t begin = own->groups[first];
    size_t times = 1;
    for (; first + (times + 1) * period <= own->num_groups; times++) {
        const size_t length = own->groups[first + period] - begin, other = own->groups[first + times * period];
        if (own->groups[first + (times + 1) * period] - other != length) break;
        size_t same = 0;
        while (same < length && are_alike(own, begin + same, other + same)) same++;
        if (same < length) break;
    }
    return times;
}

/* A block that follows itself several times becomes one group, such as the ten blocks of 35 x 35 of
 * InceptionResNetV2. */
static void fold_repeats(finding *own)
{
    enum { LONGEST_PERIOD = 12 };
    size_t count = 0;
    own->groups[own->num_groups] = own->count;
    for (size_t i = 0, taken; i < own->num_groups; i += taken) {
        size_t repeats = 1;
        taken = 1;
        for (size_t period = 1; period <= LONGEST_PERIOD; period++) {
            const size_t times = count_repeats(own, i, period);
            if (times < 2 || times * period <= taken) continue;
            repeats = times;
            taken = times * period;
        }
        own->groups[count] = own->groups[i];
        own->repeats[count++] = repeats;
    }
    own->num_groups = count;
}

/* Joins groups in a row, as many as it takes to have few. */
static void join_groups(finding *own)
{
    const size_t each = (own->num_groups + LIANA__MOST_BOXES - 1) / LIANA__MOST_BOXES;
    size_t count = 0;
    for (size_t i = 0; i < own->num_groups; i += each) {
        own->repeats[count] = each > 1 ? 1 : own->repeats[i];
        own->groups[count++] = own->groups[i];
    }
    own->num_groups = count;
}

static liana_status group(finding *own)
{
    own->groups = liana__arena_allocate(own->arena, (own->count + 1) * sizeof *own->groups);
    own->repeats = liana__arena_allocate(own->arena, (own->count + 1) * sizeof *own->repeats);
    if (!own->groups || !own->repeats) return liana__fail_memory(own->error, "the picture of a model");
    own->num_groups = own->count;
    for (size_t i = 0; i < own->count; i++) {
        own->groups[i] = i;
        own->repeats[i] = 1;
    }
    for (int stages = 0; stages < 2 && own->num_groups > LIANA__FEW_BOXES; stages++) group_by_names(own, stages);
    if (own->num_groups > LIANA__FEW_BOXES) LIANA_TRY(group_by_passes(own));
    if (own->num_groups > LIANA__FEW_BOXES) fold_repeats(own);
    if (own->num_groups > LIANA__MOST_BOXES) join_groups(own);
    own->groups[own->num_groups] = own->count;
    return LIANA_OK;
}

/* ---- boxes ---- */

void liana__print_grouped(int64_t number, char *text, size_t size)
{
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)number);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < size; i++) {
        if (i && (length - i) % 3 == 0 && digits[i - 1] != '-') text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = 0;
}

static void add_shape(const liana__layer_node *node, char *text, size_t size)
{
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used, "%s(None", used ? ", " : "");
    for (int d = 1; d < node->shape.rank && used < size; d++) {
        const bool is_free = node->free >> d & 1;
        used += (size_t)(is_free ? snprintf(text + used, size - used, ", None")
                                 : snprintf(text + used, size - used, ", %lld", (long long)node->shape.dims[d]));
    }
    if (used < size) snprintf(text + used, size - used, ")");
}

static const char *shape_of(const finding *own, const call *one)
{
    char text[LONGEST_TEXT] = "";
    liana__scope_result result = {one->item, one->number, 0};
    const size_t count = one->item.is_nested ? own->model->nested[one->item.index].num_outputs
                                             : liana__scope_result_node(own->model, &result)->num_outputs;
    for (; result.output < count; result.output++) {
        add_shape(liana__scope_result_node(own->model, &result), text, sizeof text);
    }
    return liana__arena_string(own->arena, text);
}

static void count_parameters(const finding *own, const call *one, liana__model_box *box)
{
    const liana_model *model = own->model;
    const liana__nested *nested = one->item.is_nested ? &model->nested[one->item.index] : NULL;
    const size_t first = nested ? nested->first_layer : one->item.index, layers = nested ? nested->num_layers : 1;
    for (size_t i = first; i < first + layers; i++) {
        const liana__layer *layer = &model->layers[i];
        for (size_t k = 0; k < layer->num_weights; k++) {
            const liana__weight *weight = &model->weights[layer->first_weight + k];
            const int64_t size = liana_shape_size(&weight->shape);
            box->parameters += size;
            if (liana__weight_trainable(model, layer->first_weight + k)) box->trainable += size;
        }
    }
}

static const char *kind_of(const finding *own, const call *one)
{
    if (!one->item.is_nested) return own->model->layers[one->item.index].type->part.name;
    const liana__nested *nested = &own->model->nested[one->item.index];
    return liana__arena_format(own->arena, "%s of %zu layers", nested->functional ? "Functional" : "Sequential",
                               nested->num_layers);
}

static bool is_output(const finding *own, const call *one)
{
    liana__scope_result outputs[LIANA_MAX_MODEL_OUTPUTS];
    const size_t count = liana__scope_outputs(own->model, LIANA__NONE, outputs);
    for (size_t i = 0; i < count; i++) {
        const bool same = outputs[i].item.is_nested == one->item.is_nested && outputs[i].item.index == one->item.index;
        if (same && outputs[i].number == one->number) return true;
    }
    return false;
}

/* Layers of nested models count as well. A later call of a layer is no further layer. */
static size_t count_layers(const finding *own, size_t begin, size_t end)
{
    size_t count = 0;
    for (size_t i = begin; i < end; i++) {
        const call *one = &own->calls[own->order[i]];
        if (one->number) continue;
        count += one->item.is_nested ? own->model->nested[one->item.index].num_layers : 1;
    }
    return count;
}

/* "14 layers: 3 Conv2D, 3 BatchNormalization, 2 Activation, ..." */
static const char *list_kinds(const finding *own, size_t begin, size_t end, size_t repeats)
{
    end = begin + (end - begin) / repeats;
    const char *kinds[LISTED_KINDS + 1];
    size_t counts[LISTED_KINDS + 1] = {0}, num_kinds = 0, others = 0;
    for (size_t i = begin; i < end; i++) {
        const call *one = &own->calls[own->order[i]];
        const char *kind = one->item.is_nested ? "nested model" : own->model->layers[one->item.index].type->part.name;
        size_t k = 0;
        while (k < num_kinds && strcmp(kinds[k], kind) != 0) k++;
        if (k == LISTED_KINDS) {
            others++;
            continue;
        }
        if (k == num_kinds) kinds[num_kinds++] = kind;
        counts[k]++;
    }
    char text[LONGEST_TEXT];
    size_t used = 0;
    if (repeats > 1) used += (size_t)snprintf(text, sizeof text, "%zu x ", repeats);
    used += (size_t)snprintf(text + used, sizeof text - used, "%zu layers:", count_layers(own, begin, end));
    for (size_t k = 0; k < num_kinds && used < sizeof text; k++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %zu %s", k ? "," : "", counts[k], kinds[k]);
    }
    if (others && used < sizeof text) snprintf(text + used, sizeof text - used, ", ...");
    return liana__arena_string(own->arena, text);
}

static const char *group_name(const finding *own, size_t begin, size_t end)
{
    const char *first = name_of(own, begin), *last = name_of(own, end - 1);
    for (int stage = 0; stage < 2; stage++) {
        const size_t length = liana__model_block_name(first, stage);
        if (length && length == liana__model_block_name(last, stage) && strncmp(first, last, length) == 0) {
            return liana__arena_format(own->arena, "%.*s", (int)length, first);
        }
    }
    return liana__arena_format(own->arena, "%s to %s", first, last);
}

static void fill_box(const finding *own, size_t group, liana__model_box *box)
{
    const size_t begin = own->groups[group], end = own->groups[group + 1];
    const call *last = &own->calls[own->order[end - 1]];
    const bool alone = end - begin == 1;
    *box = (liana__model_box){.num_layers = count_layers(own, begin, end), .shape = shape_of(own, last)};
    for (size_t i = begin; i < end; i++) {
        const call *one = &own->calls[own->order[i]];
        if (!one->number) count_parameters(own, one, box);
        box->is_output |= is_output(own, one);
    }
    box->is_shared = alone && last->number > 0;
    box->is_input = alone && !last->item.is_nested && own->model->layers[last->item.index].type->max_inputs == 0;
    box->is_nested = alone && last->item.is_nested;
    box->is_group = !alone;
    box->name = alone ? name_of(own, begin) : group_name(own, begin, end);
    box->repeats = own->repeats[group];
    box->kind = alone ? kind_of(own, last) : list_kinds(own, begin, end, box->repeats);
}

/* ---- arrows ---- */

static bool has_edge(const liana__model_boxes *found, size_t first, liana__graph_edge edge)
{
    for (size_t i = first; i < found->num_edges; i++) {
        if (found->edges[i].from == edge.from && found->edges[i].to == edge.to) return true;
    }
    return false;
}

static liana_status find_edges(const finding *own, const size_t *boxes, liana__model_boxes *found)
{
    size_t most = 1;
    for (size_t i = 0; i < own->count; i++) most += own->calls[i].num_inputs;
    found->edges = liana__arena_allocate(own->arena, most * sizeof *found->edges);
    if (!found->edges) return liana__fail_memory(own->error, "the picture of a model");
    for (size_t i = 0, first = 0; i < own->count; i++) {
        const call *one = &own->calls[own->order[i]];
        if (i && boxes[i] != boxes[i - 1]) first = found->num_edges;
        for (size_t k = 0; k < one->num_inputs; k++) {
            const liana__graph_edge edge = {boxes[own->calls[one->inputs[k]].place], boxes[i]};
            if (edge.from == edge.to || has_edge(found, first, edge)) continue;
            found->edges[found->num_edges++] = edge;
        }
    }
    return LIANA_OK;
}

liana_status liana__model_boxes_find(const liana_model *model, liana__arena *arena, liana__model_boxes *found,
                                     liana__error *error)
{
    finding own = {.model = model, .arena = arena, .error = error};
    *found = (liana__model_boxes){0};
    LIANA_TRY(find_calls(&own));
    LIANA_TRY(sort_calls(&own));
    LIANA_TRY(group(&own));
    found->boxes = liana__arena_allocate(arena, (own.num_groups + 1) * sizeof *found->boxes);
    size_t *boxes = liana__arena_allocate(arena, (own.count + 1) * sizeof *boxes);
    if (!found->boxes || !boxes) return liana__fail_memory(error, "the picture of a model");
    for (size_t i = 0; i < own.num_groups; i++) {
        fill_box(&own, i, &found->boxes[i]);
        for (size_t place = own.groups[i]; place < own.groups[i + 1]; place++) boxes[place] = i;
    }
    found->count = own.num_groups;
    found->grouped = own.num_groups < own.count;
    return arena->failed ? liana__fail_memory(error, "the picture of a model") : find_edges(&own, boxes, found);
}
