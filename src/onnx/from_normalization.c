/* Normalisation. Before opset 17 LayerNormalization is written as arithmetic, which is recognised. */
#include "onnx/import_internal.h"

#include <math.h>
#include <string.h>

/* A vector of weights. */
static liana_status give_vector(liana__import *own, liana__import_node *node, size_t result, size_t index,
                                liana__import_constant *constant)
{
    const int order[LIANA_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    float *values;
    LIANA_TRY(liana__import_permuted(own, constant, order, &values));
    return liana__import_give(own, node, result, index, values);
}

static liana_status vector_input(const liana__import *own, const liana__import_node *node, size_t index, int64_t size,
                                 liana__import_constant **constant)
{
    const liana__import_value *value = liana__import_input(node, index);
    *constant = liana__import_is_constant(value) ? value->constant : NULL;
    if (*constant && (*constant)->count == size && (*constant)->is_float) return LIANA_OK;
    return liana__import_fail(own, node, LIANA_INVALID_DATA, "input %zu is no initializer of %lld numbers", index,
                              (long long)size);
}

static liana_status read_batch_normalization(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    liana__import_constant *parts[4];
    size_t result;
    int axis;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    for (size_t i = 1; i < node->num_outputs; i++) {
        if (node->outputs[i] && node->outputs[i]->num_users) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "its statistics are read");
        }
    }
    if (x->rank < 2) return liana__import_fail(own, node, LIANA_INVALID_DATA, "found %d axes", x->rank);
    /* Images have their channels last, wherever they were. */
    if (x->rank > 2 && liana__import_has_batch(x, 0)) {
        size_t images;
        LIANA_TRY(liana__import_images(own, node, x, &images));
        liana__import_set_images(node->outputs[0], images, x->rank);
    } else {
        liana__import_set_like(node->outputs[0], x, x->result);
    }
    liana__import_value *output = node->outputs[0];
    LIANA_TRY(liana__import_single(own, node, output, 1, &axis));
    const int64_t channels = liana__import_size(own, output, 1);
    for (size_t i = 0; i < 4; i++) LIANA_TRY(vector_input(own, node, i + 1, channels, &parts[i]));
    const liana__import_options options = liana__import_options_new(own);
    const bool is_last = axis == liana__import_shape(own, output->result)->rank - 1;
    if (!is_last) liana__import_set_int(&options, "axis", axis);
    liana__import_set_float(&options, "epsilon", liana__import_float(node, "epsilon", 1e-5));
    liana__import_set_float(&options, "momentum", liana__import_float(node, "momentum", 0.9));
    /* PyTorch's moving variance. */
    liana__import_set_bool(&options, "population_variance", false);
    const char *stem = liana__import_stem(own, parts[0]);
    LIANA_TRY(liana__import_add(own, node, "BatchNormalization", stem, &options, &output->result, 1, &result));
    for (size_t i = 0; i < 4; i++) LIANA_TRY(give_vector(own, node, result, i, parts[i]));
    output->result = result;
    output->has_arranged = false;
    return LIANA_OK;
}

/* ---- layer normalisation ---- */

/* One of the axes from `axis` on. gamma and beta may be missing. */
static liana_status add_layer_normalization(liana__import *own, liana__import_node *node, liana__import_value *x,
                                            int axis, double epsilon, liana__import_constant *gamma,
                                            liana__import_constant *beta, const char *type, liana__import_value *output)
{
    size_t result;
    int64_t axes[LIANA_MAX_AXES] = {0}, count = 1;
    int num_axes = 0;
    liana__import_value like = *x;
    if (x->rank - axis > 1) {
        int order[LIANA_MAX_RANK];
        for (int i = 0; i < x->rank; i++) order[i] = i;
        LIANA_TRY(liana__import_arrange(own, node, x, order, x->rank, &like.result));
        liana__import_set_plain(&like, like.result, x->rank);
    }
    for (int i = axis; i < x->rank; i++) {
        int single;
        if (liana__import_has_batch(&like, i))
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it normalises over the batch");
        LIANA_TRY(liana__import_single(own, node, &like, i, &single));
        axes[num_axes++] = single;
        count *= liana__import_size(own, &like, i);
    }
    if ((gamma && gamma->count != count) || (beta && beta->count != count)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "its scale or bias has not %lld numbers",
                                  (long long)count);
    }
    const liana__import_options options = liana__import_options_new(own);
    const bool is_rms = type[0] == 'R';
    const bool is_last = num_axes == 1 && axes[0] == liana__import_shape(own, like.result)->rank - 1;
    if (!is_last) liana__import_set_ints(&options, "axis", axes, num_axes);
    liana__import_set_float(&options, "epsilon", epsilon);
    if (!is_rms) liana__import_set_bool(&options, "scale", gamma != NULL);
    if (!is_rms) liana__import_set_bool(&options, "center", beta != NULL);
    const char *stem = liana__import_stem(own, gamma);
    LIANA_TRY(liana__import_add(own, node, type, stem, &options, &like.result, 1, &result));
    if (gamma) LIANA_TRY(give_vector(own, node, result, 0, gamma));
    if (beta) LIANA_TRY(give_vector(own, node, result, gamma != NULL, beta));
    liana__import_set_like(output, &like, result);
    return LIANA_OK;
}

static liana_status read_layer_normalization(liana__import *own, liana__import_node *node)
{
    liana__import_value *x, *gamma = liana__import_input(node, 1), *beta = liana__import_input(node, 2);
    int axis;
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_axis_of(own, node, liana__import_int(node, "axis", -1), x->rank, &axis));
    if ((gamma && !liana__import_is_constant(gamma)) || (beta && !liana__import_is_constant(beta))) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "its scale or bias is computed from the data");
    }
    const char *type = strcmp(node->op, "RMSNormalization") == 0 ? "RMSNormalization" : "LayerNormalization";
    return add_layer_normalization(own, node, x, axis, liana__import_float(node, "epsilon", 1e-5),
                                   gamma ? gamma->constant : NULL, beta ? beta->constant : NULL, type,
                                   node->outputs[0]);
}

/* ---- the same as arithmetic ---- */

static liana__import_node *user_of(const liana__import_value *value, const char *op, size_t input)
{
    for (size_t i = 0; value && i < value->num_users; i++) {
        liana__import_node *user = value->users[i];
        if (strcmp(user->op, op) == 0 && liana__import_input(user, input) == value && user->num_outputs) return user;
    }
    return NULL;
}

/* The constant among the two inputs of a node, whose other input is `value`. */
static liana__import_constant *other_constant(const liana__import_node *node, const liana__import_value *value)
{
    if (!node || node->num_inputs != 2) return NULL;
    const liana__import_value *other = node->inputs[node->inputs[0] == value];
    return liana__import_is_constant(other) ? other->constant : NULL;
}

/* The only user, if it is such an operator with a constant. */
static liana__import_node *next_with_constant(const liana__import_value *value, const char *op,
                                              liana__import_constant **constant)
{
    liana__import_node *next = liana__import_only_user(value);
    *constant = next && strcmp(next->op, op) == 0 && next->num_outputs ? other_constant(next, value) : NULL;
    return *constant ? next : NULL;
}

/* x - mean(x), squared, its mean, + epsilon, sqrt; (x - mean) / that; * gamma; + beta. */
typedef struct pattern {
    liana__import_node *nodes[9];
    size_t count;
    liana__import_value *x, *output;
    double epsilon;
    liana__import_constant *gamma, *beta;
} pattern;

static bool note(pattern *own, liana__import_node *node)
{
    if (!node || node->is_done || own->count == sizeof own->nodes / sizeof *own->nodes) return false;
    own->nodes[own->count++] = node;
    return true;
}

static bool is_last_axis(liana__import *own, liana__import_node *node, int rank)
{
    const int64_t *axes;
    int64_t count;
    if (liana__import_integers(own, node, "axes", 1, &axes, &count) != LIANA_OK) return false;
    return count == 1 && (axes[0] == -1 || axes[0] == rank - 1) && liana__import_int(node, "keepdims", 1);
}

static bool find_variance(liana__import *own, liana__import_node *subtract, pattern *found, liana__import_node **divide)
{
    liana__import_constant *two, *epsilon;
    liana__import_value *apart = subtract->outputs[0];
    liana__import_node *power = user_of(apart, "Pow", 0);
    const bool is_square = power && (two = other_constant(power, apart)) && two->count == 1;
    const float *exponent = is_square ? liana__import_floats(own, two) : NULL;
    if (!power) power = user_of(apart, "Mul", 0);
    const bool is_product = power && !exponent && liana__import_input(power, 1) == apart;
    if (!is_product && !(exponent && exponent[0] == 2.0f)) return false;
    liana__import_node *mean = liana__import_only_user(power->outputs[0]);
    if (!mean || strcmp(mean->op, "ReduceMean") != 0 || !is_last_axis(own, mean, found->x->rank)) return false;
    liana__import_node *add = next_with_constant(mean->outputs[0], "Add", &epsilon);
    const float *number = add && epsilon->count == 1 ? liana__import_floats(own, epsilon) : NULL;
    liana__import_node *root = number ? liana__import_only_user(add->outputs[0]) : NULL;
    if (!root || strcmp(root->op, "Sqrt") != 0 || !root->num_outputs) return false;
    *divide = liana__import_only_user(root->outputs[0]);
    const bool divides = *divide && strcmp((*divide)->op, "Div") == 0 && liana__import_input(*divide, 0) == apart &&
                         liana__import_input(*divide, 1) == root->outputs[0];
    found->epsilon = number ? (double)number[0] : 0;
    return divides && apart->num_users == 2 + (size_t)is_product && note(found, power) && note(found, mean) &&
           note(found, add) && note(found, root) && note(found, *divide);
}

static bool find_pattern(liana__import *own, liana__import_node *mean, pattern *found)
{
    liana__import_node *divide = NULL;
    found->x = liana__import_input(mean, 0);
    if (!found->x || found->x->kind != LIANA__IMPORT_RESULT || !found->x->rank) return false;
    liana__import_node *subtract = liana__import_only_user(mean->outputs[0]);
    if (!subtract || strcmp(subtract->op, "Sub") != 0 || !is_last_axis(own, mean, found->x->rank)) return false;
    if (liana__import_input(subtract, 0) != found->x || liana__import_input(subtract, 1) != mean->outputs[0])
        return false;
    if (!note(found, mean) || !note(found, subtract) || !find_variance(own, subtract, found, &divide)) return false;
    const int64_t size = liana__import_size(own, found->x, found->x->rank - 1);
    found->output = divide->outputs[0];
    liana__import_node *scale = next_with_constant(found->output, "Mul", &found->gamma);
    const bool scales = scale && found->gamma->count == size && found->gamma->rank == 1 && note(found, scale);
    if (!scales) {
        found->gamma = NULL;
        return true;
    }
    found->output = scale->outputs[0];
    liana__import_node *add = next_with_constant(found->output, "Add", &found->beta);
    const bool adds = add && found->beta->count == size && found->beta->rank == 1 && note(found, add);
    if (adds) found->output = add->outputs[0];
    if (!adds) found->beta = NULL;
    return true;
}

liana_status liana__import_layer_normalization(liana__import *own, liana__import_node *mean, bool *is_done)
{
    pattern found = {.count = 0};
    *is_done = strcmp(mean->op, "ReduceMean") == 0 && mean->num_outputs && find_pattern(own, mean, &found);
    if (!*is_done) return LIANA_OK;
    for (size_t i = 0; i < found.count; i++) found.nodes[i]->is_done = true;
    return add_layer_normalization(own, found.gamma ? found.nodes[found.count - 1 - (found.beta != NULL)] : mean,
                                   found.x, found.x->rank - 1, found.epsilon, found.gamma, found.beta,
                                   "LayerNormalization", found.output);
}

/* ---- groups ---- */

typedef struct group_parts {
    liana__import_value *x, *output;
    liana__import_constant *gamma, *beta;
} group_parts;

static liana_status add_groups(liana__import *own, liana__import_node *node, const group_parts *parts, int64_t groups,
                               double epsilon)
{
    size_t images, result;
    LIANA_TRY(liana__import_images(own, node, parts->x, &images));
    const int rank = liana__import_shape(own, images)->rank;
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_int(&options, "groups", groups);
    liana__import_set_float(&options, "epsilon", epsilon);
    const char *stem = liana__import_stem(own, parts->gamma);
    LIANA_TRY(liana__import_add(own, node, "GroupNormalization", stem, &options, &images, 1, &result));
    LIANA_TRY(give_vector(own, node, result, 0, parts->gamma));
    LIANA_TRY(give_vector(own, node, result, 1, parts->beta));
    liana__import_set_images(parts->output, result, rank);
    return LIANA_OK;
}

/* ---- groups as PyTorch exports them ---- */

/* Whether all numbers of a constant input are `value`. */
static bool is_all(liana__import *own, const liana__import_value *given, float value)
{
    const float *numbers =
        liana__import_is_constant(given) && given->constant->is_float && given->constant->count < 1 << 16
            ? liana__import_floats(own, given->constant)
            : NULL;
    bool is_same = numbers != NULL;
    for (int64_t i = 0; is_same && i < given->constant->count; i++) is_same = numbers[i] == value;
    return is_same;
}

/* Whether a Reshape gives back the shape of x. */
static bool restores(liana__import *own, const liana__import_node *reshape, const liana__import_value *x)
{
    const liana__import_value *shape = liana__import_input(reshape, 1);
    const liana__import_node *from = shape ? shape->producer : NULL;
    if (from && strcmp(from->op, "Shape") == 0 && liana__import_input(from, 0) == x) {
        return liana__import_int(from, "start", 0) == 0 && !liana__import_attribute(from, "end");
    }
    if (!liana__import_is_constant(shape) || shape->constant->count != x->rank) return false;
    const int64_t *dims = liana__import_ints(own, shape->constant);
    bool is_same = dims != NULL;
    for (int i = 0; is_same && i < x->rank; i++) {
        is_same = dims[i] == liana__import_size(own, x, i) || dims[i] == 0 || (i == 0 && dims[i] == -1);
    }
    return is_same;
}

static liana__import_node *next_op(const liana__import_value *value, const char *op)
{
    liana__import_node *next = liana__import_only_user(value);
    return next && strcmp(next->op, op) == 0 && next->num_outputs && liana__import_input(next, 0) == value ? next
                                                                                                           : NULL;
}

/* Reshape to [batch, groups, -1], InstanceNormalization by ones and zeros, Reshape back; * gamma; + beta. */
static bool find_groups(liana__import *own, liana__import_node *first, pattern *found, int64_t *groups)
{
    const liana__import_value *shape = liana__import_input(first, 1);
    found->x = liana__import_input(first, 0);
    if (strcmp(first->op, "Reshape") != 0 || !first->num_outputs || !found->x || found->x->rank < 3) return false;
    if (found->x->kind != LIANA__IMPORT_RESULT || !liana__import_is_constant(shape) || shape->constant->count != 3)
        return false;
    liana__import_node *normalize = next_op(first->outputs[0], "InstanceNormalization");
    liana__import_node *back = normalize ? next_op(normalize->outputs[0], "Reshape") : NULL;
    if (!back || !restores(own, back, found->x) || !is_all(own, liana__import_input(normalize, 1), 1)) return false;
    const int64_t *dims = liana__import_ints(own, shape->constant), channels = liana__import_size(own, found->x, 1);
    if (!dims || dims[1] < 1 || channels % dims[1] || !is_all(own, liana__import_input(normalize, 2), 0)) return false;
    if (normalize->inputs[1]->constant->count != dims[1]) return false;
    *groups = dims[1];
    found->epsilon = liana__import_float(normalize, "epsilon", 1e-5);
    found->output = back->outputs[0];
    liana__import_node *scale = next_with_constant(found->output, "Mul", &found->gamma);
    const bool scales = scale && found->gamma->count == channels && found->gamma->dims[0] == channels;
    liana__import_node *add = scales ? next_with_constant(scale->outputs[0], "Add", &found->beta) : NULL;
    const bool adds = add && found->beta->count == channels && found->beta->dims[0] == channels;
    const bool notes = adds && note(found, first) && note(found, normalize) && note(found, back) &&
                       note(found, scale) && note(found, add);
    if (notes) found->output = add->outputs[0];
    return notes && found->gamma->rank == found->x->rank - 1 && found->beta->rank == found->x->rank - 1;
}

liana_status liana__import_group_normalization(liana__import *own, liana__import_node *first, bool *is_done)
{
    pattern found = {.count = 0};
    int64_t groups;
    *is_done = find_groups(own, first, &found, &groups);
    if (!*is_done) return LIANA_OK;
    for (size_t i = 0; i < found.count; i++) found.nodes[i]->is_done = true;
    const group_parts parts = {found.x, found.output, found.gamma, found.beta};
    return add_groups(own, found.nodes[3], &parts, groups, found.epsilon);
}

static liana_status read_groups(liana__import *own, liana__import_node *node, int64_t groups)
{
    group_parts parts = {.output = node->outputs[0]};
    LIANA_TRY(liana__import_result(own, node, 0, &parts.x));
    if (parts.x->rank < 2) return liana__import_fail(own, node, LIANA_INVALID_DATA, "found %d axes", parts.x->rank);
    const int64_t channels = liana__import_size(own, parts.x, 1);
    LIANA_TRY(vector_input(own, node, 1, channels, &parts.gamma));
    LIANA_TRY(vector_input(own, node, 2, channels, &parts.beta));
    return add_groups(own, node, &parts, groups, liana__import_float(node, "epsilon", 1e-5));
}

static liana_status read_instance_normalization(liana__import *own, liana__import_node *node)
{
    return read_groups(own, node, -1);
}

static liana_status read_group_normalization(liana__import *own, liana__import_node *node)
{
    return read_groups(own, node, liana__import_int(node, "num_groups", 0));
}

const liana__import_op liana__import_normalizations[] = {
    {"BatchNormalization", read_batch_normalization}, {"LayerNormalization", read_layer_normalization},
    {"RMSNormalization", read_layer_normalization},   {"InstanceNormalization", read_instance_normalization},
    {"GroupNormalization", read_group_normalization}, {0},
};
