/* Keras 3's layout of weights: each object with variables has a group `vars` with datasets 0, 1, ...
 *
 * Its path tells what it is: `layers/dense_1/vars` is the second Dense of the model's list of layers,
 * `layers/functional/layers/dense/vars` one of a nested model, and `layers/lstm/cell/vars` belongs to the layer `lstm`.
 * A layer of a subclassed model has the name of its attribute instead of `layers/dense_1`. tf.keras 2.12 to 2.14 wrote
 * `_layer_checkpoint_dependencies` for `layers`, and on Windows put whole paths with '\' into one name. */
#include "formats/hdf5/hdf5_keras.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 48, MAX_GROUPS = 1000000, MAX_PATHS = 64 << 20, MAX_PARTS = 64 };

/* A group `vars`. */
typedef struct entry {
    const char *layer; /* the path of its layer: "layers/functional/layers/dense" */
    const char *rest;  /* where it stands below: "", "cell", "forward_layer/cell" */
    const char *name;  /* its attribute; NULL: none */
    liana__hdf5_node vars;
} entry;

typedef struct reading {
    liana__hdf5 *file;
    entry *entries;
    size_t num_entries;
    size_t capacity;
    size_t num_groups;
    size_t num_bytes; /* of all paths */
    bool has_optimizer;
    liana__hdf5_node optimizer; /* its group `vars` */
    liana__error *error;
} reading;

/* ---- the order of weights ---- */

/* Children of layers whose order is not that of their names. */
static int rank_of(const char *part, size_t length)
{
    static const char *const ordered[] = {"forward_layer", "backward_layer", "query_dense", "key_dense",
                                          "gate_dense",    "value_dense",    "output_dense"};
    if (length && *part == '_') return rank_of(part + 1, length - 1);
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        if (strlen(ordered[i]) == length && memcmp(ordered[i], part, length) == 0) return (int)i + 1;
    }
    return 0;
}

/* Compares texts so that a number in them counts as a number: "dense_2" stands before "dense_10". */
static int compare_natural(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t i = 0, k = 0;
    while (i < a_size && k < b_size) {
        if (isdigit((unsigned char)a[i]) && isdigit((unsigned char)b[k])) {
            size_t first = i, second = k;
            while (i < a_size && isdigit((unsigned char)a[i])) i++;
            while (k < b_size && isdigit((unsigned char)b[k])) k++;
            while (first < i && a[first] == '0') first++;
            while (second < k && b[second] == '0') second++;
            if (i - first != k - second) return i - first < k - second ? -1 : 1;
            int order = memcmp(a + first, b + second, i - first);
            if (order) return order;
        } else {
            if (a[i] != b[k]) return (unsigned char)a[i] < (unsigned char)b[k] ? -1 : 1;
            i++;
            k++;
        }
    }
    return i < a_size ? 1 : k < b_size ? -1 : 0;
}

/* Compares paths part by part. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *b) {
        size_t a_size = strcspn(a, "/"), b_size = strcspn(b, "/");
        int order = rank_of(a, a_size) - rank_of(b, b_size);
        if (!order) order = compare_natural(a, a_size, b, b_size);
        if (order) return order;
        a += a_size;
        a += *a == '/';
        b += b_size;
        b += *b == '/';
    }
    return *a ? 1 : *b ? -1 : 0;
}

static int compare_entries(const void *a, const void *b)
{
    const entry *first = a, *second = b;
    int order = compare_paths(first->layer, second->layer);
    if (!order) order = strcmp(first->layer, second->layer);
    if (!order) order = compare_paths(first->rest, second->rest);
    return order ? order : strcmp(first->rest, second->rest);
}

/* ---- the groups ---- */

/* Whether a part of a path is no layer's: what a model or a layer keeps besides its weights. */
static bool is_foreign(const char *part)
{
    static const char *const names[] = {"optimizer",     "metrics",   "_metrics",          "seed_generator",
                                        "_loss_tracker", "generator", "_random_generator", "random_generator"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(part, names[i]) == 0) return true;
    }
    return false;
}

/* Cuts a path at its '/', in place. 0: too many parts. */
static size_t cut_path(char *path, const char *parts[MAX_PARTS])
{
    size_t count = 0;
    for (char *at = path; *at;) {
        if (count == MAX_PARTS) return 0;
        parts[count++] = at;
        at += strcspn(at, "/");
        if (*at) *at++ = 0;
    }
    return count;
}

/* A Pipeline keeps the layers that it holds as a model keeps its own. So do layers that stand within others. */
static bool holds_layers(const char *layer, const char *rest)
{
    static const char pipeline[] = "pipeline";
    const char *slash = layer ? strrchr(layer, '/') : NULL;
    const char *class_name = slash ? slash + 1 : "";
    const bool is_pipeline = strncmp(class_name, pipeline, strlen(pipeline)) == 0;
    const char *behind = is_pipeline ? class_name + strlen(pipeline) : class_name;
    if (layer && *rest) return true;
    return is_pipeline && (!*behind || (*behind == '_' && strspn(behind + 1, "0123456789") == strlen(behind + 1)));
}

/* Splits the path of a group `vars` into the layer's and the rest. False: it belongs to no layer. */
static bool split_path(liana__arena *arena, const char *path, entry *result)
{
    const char *parts[MAX_PARTS];
    char *copy = liana__arena_string(arena, path);
    size_t count = copy ? cut_path(copy, parts) : 0;
    const char *layer = NULL, *rest = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(parts[i], "layers") == 0 && i + 1 < count && !holds_layers(layer, rest)) {
            layer = liana__arena_format(arena, "%s%slayers/%s", layer ? layer : "", layer ? "/" : "", parts[i + 1]);
            rest = "";
            i++;
        } else if (is_foreign(parts[i])) {
            return false;
        } else if (!layer) {
            layer = parts[i];
        } else {
            rest = liana__arena_format(arena, "%s%s%s", rest, *rest ? "/" : "", parts[i]);
        }
        if (!layer || !rest) return false;
    }
    result->layer = layer;
    result->rest = rest;
    return layer != NULL;
}

typedef struct name_search {
    liana__arena *arena;
    const char *name;
} name_search;

static liana_status take_name(void *user, const char *text, size_t length, liana__error *error)
{
    name_search *search = user;
    if (search->name) return liana__fail(error, LIANA_INVALID_DATA, "has several texts, expected one");
    search->name = liana__arena_format(search->arena, "%.*s", (int)(length < 4096 ? length : 4096), text);
    return search->name ? LIANA_OK : liana__fail_memory(error, "a name");
}

static liana_status add_entry(reading *own, const char *path, liana__hdf5_node vars)
{
    name_search search = {.arena = &own->file->arena};
    entry one = {.vars = vars};
    bool found;
    if (strcmp(path, LIANA__HDF5_OPTIMIZER) == 0) {
        own->has_optimizer = true;
        own->optimizer = vars;
    }
    if (!split_path(&own->file->arena, path, &one)) return LIANA_OK;
    if (liana__hdf5_tree_texts(own->file->tree, vars, "name", take_name, &search, &found, own->error) != LIANA_OK) {
        return liana__fail_within(own->error, "'%s': attribute 'name' of '%s/vars'", own->file->path, path);
    }
    one.name = search.name && *search.name ? search.name : NULL;
    if (!liana__grow(&own->entries, own->num_entries, &own->capacity, sizeof *own->entries)) {
        return liana__fail_memory(own->error, path);
    }
    own->entries[own->num_entries++] = one;
    return LIANA_OK;
}

typedef struct place {
    reading *own;
    const char *path;
    int depth;
} place;

/* The name of a group as a path: of Windows's, and of what older versions called the layers. */
static const char *path_of(liana__arena *arena, const char *above, const char *name)
{
    static const char older[] = "_layer_checkpoint_dependencies";
    liana__text text = {0};
    if (*above) liana__text_add(&text, "%s/", above);
    while (*name) {
        size_t length = strcspn(name, "\\");
        if (length == strlen(older) && memcmp(name, older, length) == 0) {
            liana__text_add(&text, "layers");
        } else {
            liana__text_add_bytes(&text, name, length);
        }
        name += length;
        if (*name) liana__text_add(&text, "/");
        name += *name != 0;
    }
    const char *path = text.failed || !text.data ? NULL : liana__arena_string(arena, text.data);
    liana__text_free(&text);
    return path;
}

static liana_status take_group(void *user, const char *name, liana__hdf5_node child, bool is_group, liana__error *error)
{
    const place *here = user;
    reading *own = here->own;
    if (!is_group) return LIANA_OK;
    if (own->num_groups++ == MAX_GROUPS || here->depth == MAX_DEPTH) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' has more than %d groups or %d levels", own->file->path,
                           MAX_GROUPS, MAX_DEPTH);
    }
    if (strcmp(name, "vars") == 0) return *here->path ? add_entry(own, here->path, child) : LIANA_OK;
    place below = {own, path_of(&own->file->arena, here->path, name), here->depth + 1};
    if (!below.path) return liana__fail_memory(error, own->file->path);
    own->num_bytes += strlen(below.path);
    if (own->num_bytes > MAX_PATHS) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' has paths of more than %d bytes", own->file->path,
                           MAX_PATHS);
    }
    liana_status status = liana__hdf5_tree_children(own->file->tree, child, take_group, &below, error);
    /* The innermost call has put the file's name before the message. */
    if (status != LIANA_OK && !strstr(error->message, own->file->path)) {
        liana__fail_within(error, "'%s': group '%s'", own->file->path, below.path);
    }
    return status;
}

/* ---- layers ---- */

typedef struct weight_list {
    reading *own;
    const entry *of;
    const char *layer; /* its name */
    liana__hdf5_weight *weights;
    size_t count;
    size_t capacity;
} weight_list;

static liana_status take_weight(void *user, const char *name, liana__hdf5_node child, bool is_group,
                                liana__error *error)
{
    weight_list *list = user;
    liana__hdf5 *file = list->own->file;
    if (is_group) return LIANA_OK;
    if (list->count == LIANA__HDF5_MAX_WEIGHTS ||
        !liana__grow(&list->weights, list->count, &list->capacity, sizeof *list->weights)) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s' has more than %d weights", file->path,
                           LIANA__HDF5_MAX_WEIGHTS);
    }
    liana__hdf5_weight *weight = &list->weights[list->count];
    const char *rest = list->of->rest;
    *weight = (liana__hdf5_weight){.layer = list->layer, .node = child};
    weight->name = liana__arena_format(&file->arena, "%s%s%s", rest, *rest ? "/" : "", name);
    if (!weight->name) return liana__fail_memory(error, file->path);
    if (liana__hdf5_tree_describe(file->tree, child, &weight->data, error) != LIANA_OK) {
        return liana__fail_within(error, "'%s': layer '%s': weight '%s'", file->path, list->layer, weight->name);
    }
    list->count++;
    return LIANA_OK;
}

static int compare_weights(const void *a, const void *b)
{
    const liana__hdf5_weight *first = a, *second = b;
    int order = compare_paths(first->name, second->name);
    return order ? order : strcmp(first->name, second->name);
}

/* The name of the layer at a path whose entries begin at `of`; without an attribute the last part of the path. */
static const char *name_of(const entry *of)
{
    if (of->name && !*of->rest) return of->name;
    const char *slash = strrchr(of->layer, '/');
    return slash ? slash + 1 : of->layer;
}

/* The first entry of a layer's path, or NULL. Entries are sorted. */
static const entry *find_entry(const reading *own, const char *layer)
{
    const entry wanted = {.layer = layer, .rest = ""};
    size_t low = 0, high = own->num_entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_entries(&own->entries[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < own->num_entries && strcmp(own->entries[low].layer, layer) == 0 ? &own->entries[low] : NULL;
}

/* The names of the nested models above a layer, joined by '/'. "": none. */
static const char *model_of(const reading *own, const char *layer)
{
    liana__arena *arena = &own->file->arena;
    const char *names = "";
    for (const char *end = strstr(layer, "/layers/"); end && names; end = strstr(end + 1, "/layers/")) {
        const char *above = liana__arena_format(arena, "%.*s", (int)(end - layer), layer);
        const entry *of = above ? find_entry(own, above) : NULL;
        const char *slash = above ? strrchr(above, '/') : NULL;
        const char *name = of ? name_of(of) : slash ? slash + 1 : above;
        names = name ? liana__arena_format(arena, "%s%s%s", names, *names ? "/" : "", name) : NULL;
    }
    return names;
}

/* Reads the weights of the layer whose entries begin at `first`; *next is the first of the next layer. */
static liana_status read_layer(reading *own, size_t first, size_t *next, liana__hdf5_layer *layer)
{
    liana__hdf5 *file = own->file;
    const char *path = own->entries[first].layer, *model = model_of(own, path);
    weight_list list = {.own = own, .layer = name_of(&own->entries[first])};
    liana_status status = model ? LIANA_OK : liana__fail_memory(own->error, file->path);
    for (*next = first; *next < own->num_entries && strcmp(own->entries[*next].layer, path) == 0; ++*next) {
        list.of = &own->entries[*next];
        size_t begin = list.count;
        if (status != LIANA_OK) continue;
        status = liana__hdf5_tree_children(file->tree, list.of->vars, take_weight, &list, own->error);
        if (list.count > begin) qsort(list.weights + begin, list.count - begin, sizeof *list.weights, compare_weights);
        if (status != LIANA_OK && !strstr(own->error->message, file->path)) {
            liana__fail_within(own->error, "'%s': layer '%s'", file->path, list.layer);
        }
    }
    *layer = (liana__hdf5_layer){.name = list.layer, .path = path, .num_weights = list.count};
    if (model && *model) layer->model = model;
    if (status == LIANA_OK && list.count) {
        layer->weights = liana__arena_copy(&file->arena, list.weights, list.count * sizeof *list.weights);
        if (!layer->weights) status = liana__fail_memory(own->error, file->path);
        if (!own->entries[first].name) file->contents.has_names = false;
    }
    free(list.weights);
    return status;
}

static liana_status read_layers(reading *own)
{
    liana__hdf5_contents *contents = &own->file->contents;
    size_t count = 0;
    if (own->num_entries) qsort(own->entries, own->num_entries, sizeof *own->entries, compare_entries);
    for (size_t i = 0; i < own->num_entries; i++) {
        count += i == 0 || strcmp(own->entries[i].layer, own->entries[i - 1].layer) != 0;
    }
    if (count > LIANA__HDF5_MAX_LAYERS) {
        return liana__fail(own->error, LIANA_OUT_OF_RANGE, "'%s' has %zu layers, at most %d are read", own->file->path,
                           count, LIANA__HDF5_MAX_LAYERS);
    }
    liana__hdf5_layer *layers = liana__arena_allocate(&own->file->arena, (count + 1) * sizeof *layers);
    if (!layers) return liana__fail_memory(own->error, own->file->path);
    contents->layers = layers;
    contents->has_names = true;
    for (size_t i = 0; i < own->num_entries;) {
        LIANA_TRY(read_layer(own, i, &i, &layers[contents->num_layers]));
        contents->num_weights += layers[contents->num_layers++].num_weights;
    }
    return LIANA_OK;
}

/* ---- the optimizer ---- */

liana_status liana__hdf5_keep_optimizer(liana__hdf5 *file, const liana__hdf5_weight *variables, size_t count,
                                        liana_status found, liana__error *error)
{
    if (found == LIANA_OUT_OF_MEMORY) return found;
    liana__hdf5_layer *optimizer = liana__arena_allocate(&file->arena, sizeof *optimizer);
    liana__hdf5_weight *own = liana__arena_copy(&file->arena, variables, count * sizeof *own);
    if (found != LIANA_OK) file->contents.optimizer_fault = liana__arena_string(&file->arena, error->message);
    if (file->arena.failed) return liana__fail_memory(error, file->path);
    if (found != LIANA_OK) return LIANA_OK;
    *optimizer = (liana__hdf5_layer){.name = LIANA__HDF5_OPTIMIZER, .weights = own, .num_weights = count};
    file->contents.optimizer = optimizer;
    return LIANA_OK;
}

static liana_status read_optimizer(reading *own)
{
    liana__hdf5 *file = own->file;
    const entry here = {.layer = LIANA__HDF5_OPTIMIZER, .rest = "", .vars = own->optimizer};
    weight_list list = {.own = own, .of = &here, .layer = LIANA__HDF5_OPTIMIZER};
    if (!own->has_optimizer) return LIANA_OK;
    liana_status status = liana__hdf5_tree_children(file->tree, own->optimizer, take_weight, &list, own->error);
    if (list.count) qsort(list.weights, list.count, sizeof *list.weights, compare_weights);
    status = liana__hdf5_keep_optimizer(file, list.weights, list.count, status, own->error);
    free(list.weights);
    return status;
}

liana_status liana__hdf5_read_keras3(liana__hdf5 *file, liana__error *error)
{
    reading own = {.file = file, .error = error};
    place root = {&own, "", 0};
    liana_status status = liana__hdf5_tree_children(file->tree, file->weights, take_group, &root, error);
    if (status != LIANA_OK && !strstr(error->message, file->path)) liana__fail_within(error, "'%s'", file->path);
    bool is_keras3 = own.num_entries > 0;
    if (status == LIANA_OK && is_keras3) status = read_layers(&own);
    if (status == LIANA_OK) status = read_optimizer(&own);
    file->contents.is_keras3 = is_keras3;
    free(own.entries);
    return status;
}
