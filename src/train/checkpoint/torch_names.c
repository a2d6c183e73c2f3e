/* The names and layouts of PyTorch's tensors, and the networks that agree with Keras's. */
#include "train/checkpoint/torch_names.h"

#include "base/format.h"
#include "base/scoped.h"
#include "base/text.h"
#include "base/value_read.h"
#include "formats/json.h"

#include <stdio.h>
#include <string.h>

/* ---- tensors ---- */

bool liana__torch_has_names(const liana__safetensors_contents *contents)
{
    bool found = false;
    for (size_t i = 0; i < contents->num_tensors; i++) {
        if (strchr(contents->tensors[i].name, '/')) return false;
        found = found || liana__ends_with(contents->tensors[i].name, ".weight");
    }
    return found;
}

const char *liana__torch_module(const liana__safetensors_tensor *tensor, liana__arena *arena)
{
    const char *dot = strrchr(tensor->name, '.');
    char *module = dot ? liana__arena_format(arena, "%.*s", (int)(dot - tensor->name), tensor->name) : NULL;
    if (!module || !strstr(module, ".denselayer")) return module;
    /* torchvision's published DenseNets have "norm.1" and "conv.1" for what it calls norm1 and conv1 now. */
    const size_t length = strlen(module);
    if (length < 2 || module[length - 2] != '.' || module[length - 1] < '1' || module[length - 1] > '2') return module;
    module[length - 2] = module[length - 1];
    module[length - 1] = '\0';
    return module;
}

static void keep_layout(const liana__safetensors_tensor *tensor, const char *short_name, liana__torch_weight *weight)
{
    *weight = (liana__torch_weight){.short_name = short_name, .rank = tensor->rank};
    memcpy(weight->shape, tensor->shape, sizeof weight->shape);
}

/* [out, in, spatial...] becomes [spatial..., in, out]. */
static void change_layout(const liana__safetensors_tensor *tensor, liana__torch_weight *weight)
{
    *weight = (liana__torch_weight){.short_name = "kernel", .rank = tensor->rank, .is_transposed = true};
    const int spatial = tensor->rank - 2;
    for (int i = 0; i < spatial; i++) weight->shape[i] = tensor->shape[i + 2];
    weight->shape[spatial] = tensor->shape[1];
    weight->shape[spatial + 1] = tensor->shape[0];
}

/* A rank of 1 is a scale. A matrix is a Dense layer's, or an Embedding's. A convolution of one input channel in each
 * group is a depthwise one. */
static int weights_of_weight(const liana__safetensors_tensor *tensor, liana__torch_weight *weights)
{
    if (tensor->rank < 2) {
        keep_layout(tensor, "gamma", &weights[0]);
        return 1;
    }
    change_layout(tensor, &weights[0]);
    if (tensor->rank == 2) {
        keep_layout(tensor, "embeddings", &weights[1]);
        return 2;
    }
    if (tensor->shape[1] != 1) return 1;
    weights[1] = weights[0];
    weights[1].short_name = "depthwise_kernel";
    weights[1].shape[tensor->rank - 2] = tensor->shape[0];
    weights[1].shape[tensor->rank - 1] = 1;
    return 2;
}

int liana__torch_weights(const liana__safetensors_tensor *tensor,
                         liana__torch_weight weights[LIANA__TORCH_MOST_WEIGHTS])
{
    static const struct {
        const char *torch, *keras;
    } names[] = {{"bias", "bias"}, {"running_mean", "moving_mean"}, {"running_var", "moving_variance"}};
    const char *dot = strrchr(tensor->name, '.'), *leaf = dot ? dot + 1 : tensor->name;
    if (strcmp(leaf, "num_batches_tracked") == 0) return 0;
    if (strcmp(leaf, "weight") == 0) return weights_of_weight(tensor, weights);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(leaf, names[i].torch) == 0) leaf = names[i].keras;
    }
    keep_layout(tensor, leaf, &weights[0]);
    if (strcmp(leaf, "bias") != 0) return 1;
    keep_layout(tensor, "beta", &weights[1]);
    return 2;
}

void liana__torch_transpose(const liana__safetensors_tensor *tensor, const float *from, float *to)
{
    const size_t outputs = (size_t)tensor->shape[0], inputs = (size_t)tensor->shape[1];
    size_t spatial = 1;
    for (int axis = 2; axis < tensor->rank; axis++) spatial *= (size_t)tensor->shape[axis];
    for (size_t out = 0; out < outputs; out++) {
        for (size_t in = 0; in < inputs; in++) {
            const float *values = from + (out * inputs + in) * spatial;
            for (size_t place = 0; place < spatial; place++) to[(place * inputs + in) * outputs + out] = values[place];
        }
    }
}

/* ---- networks ---- */

/* A layer's name, and the module's. */
typedef struct pair {
    const char *layer, *module;
} pair;

static const char *find_pair(const pair *pairs, size_t count, const char *layer)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(pairs[i].layer, layer) == 0) return pairs[i].module;
    }
    return NULL;
}
#define FIND_PAIR(pairs, layer) find_pair(pairs, sizeof(pairs) / sizeof *(pairs), layer)

static bool find_densenet(const char *layer, char *module, size_t size)
{
    static const pair whole[] = {
        {"conv1/conv", "features.conv0"}, {"conv1_conv", "features.conv0"}, {"conv1/bn", "features.norm0"},
        {"conv1_bn", "features.norm0"},   {"bn", "features.norm5"},         {"predictions", "classifier"},
    };
    static const pair in_block[] = {{"0_bn", "norm1"}, {"1_conv", "conv1"}, {"1_bn", "norm2"}, {"2_conv", "conv2"}};
    static const pair in_transition[] = {{"bn", "norm"}, {"conv", "conv"}};
    const char *found = FIND_PAIR(whole, layer);
    int stage, block, end = 0;
    if (found) {
        liana__format(module, size, "%s", found);
    } else if (sscanf(layer, "conv%1d_block%2d_%n", &stage, &block, &end) == 2 && end) {
        found = FIND_PAIR(in_block, layer + end);
        if (found) liana__format(module, size, "features.denseblock%d.denselayer%d.%s", stage - 1, block, found);
    } else if (sscanf(layer, "pool%1d_%n", &stage, &end) == 1 && end) {
        found = FIND_PAIR(in_transition, layer + end);
        if (found) liana__format(module, size, "features.transition%d.%s", stage - 1, found);
    }
    return found != NULL;
}

static bool find_efficientnet(const char *layer, char *module, size_t size)
{
    static const pair whole[] = {{"stem_conv", "conv_stem"},
                                 {"stem_bn", "bn1"},
                                 {"top_conv", "conv_head"},
                                 {"top_bn", "bn2"},
                                 {"predictions", "classifier"}};
    static const pair in_first[] = {{"dwconv", "conv_dw"},           {"bn", "bn1"},
                                    {"se_reduce", "se.conv_reduce"}, {"se_expand", "se.conv_expand"},
                                    {"project_conv", "conv_pw"},     {"project_bn", "bn2"}};
    static const pair in_others[] = {{"expand_conv", "conv_pw"},      {"expand_bn", "bn1"},
                                     {"dwconv", "conv_dw"},           {"bn", "bn2"},
                                     {"se_reduce", "se.conv_reduce"}, {"se_expand", "se.conv_expand"},
                                     {"project_conv", "conv_pwl"},    {"project_bn", "bn3"}};
    const char *found = FIND_PAIR(whole, layer);
    int stage, end = 0;
    char repeat;
    if (found) {
        liana__format(module, size, "%s", found);
    } else if (sscanf(layer, "block%1d%c_%n", &stage, &repeat, &end) == 2 && end) {
        found = stage == 1 ? FIND_PAIR(in_first, layer + end) : FIND_PAIR(in_others, layer + end);
        if (found) liana__format(module, size, "blocks.%d.%d.%s", stage - 1, repeat - 'a', found);
    }
    return found != NULL;
}

static const liana__torch_network networks[] = {
    {.mark = "features.denseblock1.denselayer1.conv1.weight",
     .name = "DenseNet of torchvision or timm",
     .find_module = find_densenet},
    {.mark = "features.denseblock1.denselayer1.conv.1.weight",
     .name = "DenseNet of torchvision",
     .find_module = find_densenet},
    {.mark = "blocks.0.0.se.conv_reduce.weight",
     .mark2 = "blocks.1.0.conv_pwl.weight",
     .name = "tf_efficientnet of timm",
     .find_module = find_efficientnet,
     .note =
         "tf_efficientnet and efficientnet of timm have the same names, but efficientnet pads images in another way "
         "than Keras's; the file does not say which it is, and is read as tf_efficientnet whose images are "
         "normalised by ImageNet's mean and deviation",
     .family = "tf_efficientnet_b",
     .is_normalised = true},
    {.mark = "layer1.0.conv1.weight",
     .mark2 = "layer1.0.bn1.weight",
     .name = "ResNet of torchvision or timm",
     .difference =
         "has its strides in the 3 x 3 convolutions of the blocks (ResNet v1.5), where Keras's has them in the "
         "first 1 x 1 convolution"},
    {.mark = "stages.0.blocks.0.conv1.weight",
     .mark2 = "stem.conv.weight",
     .name = "ResNetV2 of timm",
     .difference = "standardises its kernels, or has its strides in other blocks than Keras's"},
    {.mark = "features.1.conv.0.0.weight",
     .mark2 = "features.18.0.weight",
     .name = "MobileNetV2 of torchvision",
     .difference =
         "pads both sides of an image before a convolution of stride 2, where Keras's pads one, and adds 1e-5 "
         "to variances, not 1e-3"},
    {.mark = "features.1.0.block.0.0.weight",
     .name = "EfficientNet of torchvision",
     .difference = "pads both sides of an image before a convolution of stride 2, where Keras's pads one"},
    {.mark = "blocks.0.0.conv_dw.weight",
     .mark2 = "conv_stem.weight",
     .name = "MobileNet of timm",
     .difference =
         "pads both sides of an image before a convolution of stride 2, where Keras's pads one, and adds 1e-5 "
         "to variances, not 1e-3"},
};

/* The tensor of that name, or with a prefix as programs that wrap a network give it ("module.", "backbone."). */
static const char *find_prefix(const liana__safetensors *file, const char *mark, liana__arena *arena)
{
    const size_t length = strlen(mark);
    for (size_t i = 0; i < file->contents.num_tensors; i++) {
        const char *name = file->contents.tensors[i].name;
        const size_t whole = strlen(name);
        if (whole < length || strcmp(name + whole - length, mark) != 0) continue;
        if (whole == length || name[whole - length - 1] == '.') {
            return liana__arena_format(arena, "%.*s", (int)(whole - length), name);
        }
    }
    return NULL;
}

const liana__torch_network *liana__torch_find_network(const liana__safetensors *file, liana__arena *arena,
                                                      const char **prefix)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const liana__torch_network *one = &networks[i];
        *prefix = find_prefix(file, one->mark, arena);
        if (!*prefix) continue;
        const char *other = one->mark2 ? liana__arena_format(arena, "%s%s", *prefix, one->mark2) : NULL;
        if (!one->mark2 || (other && liana__safetensors_find(file, other))) return one;
    }
    return NULL;
}

/* Three numbers of a map, if it has them. */
static void read_three(const liana__value *map, const char *key, float numbers[3])
{
    const liana__value *list = liana__value_list_of(map, key);
    bool good = list && list->count == 3;
    for (size_t i = 0; good && i < 3; i++) good = liana__value_is_number(list->items[i]) && list->items[i]->number > 0;
    for (size_t i = 0; good && i < 3; i++) numbers[i] = (float)list->items[i]->number;
}

const liana__torch_config liana__torch_imagenet = {true, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};

liana_status liana__torch_read_config(const liana__torch_network *network, const char *path,
                                      liana__torch_config *config, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    *config = liana__torch_imagenet;
    config->is_known = !network->family;
    if (config->is_known) return LIANA_OK;
    const char *folder = liana__path_folder(&arena, path);
    const char *file = folder ? liana__path_join(&arena, folder, "config.json") : NULL;
    liana__value *root = NULL;
    if (!file || !liana__file_exists(file) || liana__json_read(file, &arena, &root, NULL) != LIANA_OK) return LIANA_OK;
    const char *name = liana__value_text_of(root, "architecture", NULL);
    if (!name) return LIANA_OK;
    if (!liana__starts_with(name, network->family)) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "%s: config.json beside it says that it is '%.100s', which pads images in another way than "
                           "Keras's EfficientNet; the weights of timm that agree are those of %s0 to 7",
                           path, name, network->family);
    }
    const liana__value *images = root->kind == LIANA__VALUE_MAP ? liana__value_get(root, "pretrained_cfg") : NULL;
    config->is_known = true;
    read_three(images, "mean", config->mean);
    read_three(images, "std", config->deviation);
    return LIANA_OK;
}
