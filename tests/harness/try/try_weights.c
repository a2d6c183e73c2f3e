/* Feeds any bytes to the readers of weight files. */
#include "harness/try/try_weights.h"

#include "formats/hdf5.h"
#include "formats/safetensors.h"
#include "formats/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void demand(bool condition)
{
    if (!condition) abort();
}

/* A file in memory, open as *descriptor. */
static void make_file(const uint8_t *bytes, size_t size, int *descriptor, char path[64])
{
    *descriptor = memfd_create("try", MFD_CLOEXEC);
    demand(*descriptor >= 0 && write(*descriptor, bytes, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", *descriptor);
}

bool liana__try_safetensors(const uint8_t *bytes, size_t size)
{
    char path[64];
    int descriptor;
    make_file(bytes, size, &descriptor, path);
    liana__error error = {0};
    liana__safetensors file;
    bool good = liana__safetensors_open(path, &file, &error) == LIANA_OK;
    if (!good) {
        demand(error.status != LIANA_OK && strstr(error.message, path));
    } else {
        for (size_t i = 0; i < file.contents.num_tensors; i++) {
            void *data;
            demand(liana__safetensors_take(&file, &file.contents.tensors[i], &data, &error) == LIANA_OK);
            free(data);
        }
        liana__safetensors_close(&file);
    }
    close(descriptor);
    return good;
}

/* Whether all arrays could be read. */
static bool read_all(const liana__hdf5 *file)
{
    enum { MOST = 1 << 20 }; /* elements, of all weights together: for speed */
    liana__error error = {0};
    size_t total = 0;
    bool good = true;
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    for (size_t l = 0; l < contents->num_layers; l++) {
        for (size_t w = 0; w < contents->layers[l].num_weights; w++) {
            const liana__hdf5_weight *weight = &contents->layers[l].weights[w];
            total += weight->data.num_elements;
            if (total > MOST) return good;
            float *values = malloc(weight->data.num_elements * sizeof *values + 1);
            demand(values != NULL);
            bool read = liana__hdf5_read(file, weight, values, &error) == LIANA_OK;
            demand(read || error.message[0]);
            good = good && read;
            free(values);
        }
    }
    return good;
}

/* A copy that says that it is classic: other layouts are libhdf5's. */
static uint8_t *classic_copy(const uint8_t *bytes, size_t size)
{
    enum { VERSION = 8 };
    uint8_t *copy = malloc(size + 1);
    demand(copy != NULL);
    memcpy(copy, bytes, size);
    if (size > VERSION && copy[VERSION] > 1) copy[VERSION] = 0;
    return copy;
}

bool liana__try_hdf5(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = classic_copy(bytes, size);
    char path[64];
    int descriptor;
    make_file(copy, size, &descriptor, path);
    free(copy);
    liana__error error = {0};
    liana__hdf5 *file;
    bool good = liana__hdf5_open(path, &file, &error) == LIANA_OK;
    if (!good) {
        demand(error.status != LIANA_OK && strstr(error.message, path));
    } else {
        good = read_all(file);
        liana__hdf5_close(file);
    }
    close(descriptor);
    return good;
}

bool liana__try_zip(const uint8_t *bytes, size_t size)
{
    enum { MOST = 1 << 22 }; /* bytes, of all entries together: for speed */
    char path[64];
    int descriptor;
    make_file(bytes, size, &descriptor, path);
    liana__error error = {0};
    liana__zip *archive;
    bool good = liana__zip_open(path, &archive, &error) == LIANA_OK;
    if (!good) {
        demand(error.status != LIANA_OK && strstr(error.message, path));
    } else {
        size_t count, total = 0;
        const liana__zip_entry *entries = liana__zip_entries(archive, &count);
        for (size_t i = 0; i < count; i++) {
            char *data;
            total += entries[i].size < MOST ? (size_t)entries[i].size : MOST;
            if (total >= MOST) break;
            bool read = liana__zip_read(archive, &entries[i], &data, &error) == LIANA_OK;
            demand(read || error.message[0]);
            good = good && read;
            free(data);
        }
    }
    liana__zip_close(archive);
    close(descriptor);
    return good;
}

typedef struct tree_walk {
    liana__hdf5_tree *tree;
    int depth;
    int *num_nodes;
} tree_walk;

static liana_status ignore_text(void *user, const char *text, size_t length, liana__error *error)
{
    (void)error;
    size_t *sum = user;
    for (size_t i = 0; i < length; i++) *sum += (size_t)text[i];
    return LIANA_OK;
}

static void read_dataset(const liana__hdf5_tree *tree, liana__hdf5_node node)
{
    enum { MOST = 1 << 16 };
    liana__error error = {0};
    liana__hdf5_data data;
    if (liana__hdf5_tree_describe(tree, node, &data, &error) != LIANA_OK) {
        demand(error.message[0]);
        return;
    }
    demand(data.rank <= LIANA__HDF5_MAX_RANK && data.dtype);
    if (data.num_elements > MOST) return;
    float *floats = malloc(data.num_elements * sizeof *floats + 1);
    int64_t *integers = malloc(data.num_elements * sizeof *integers + 1);
    demand(floats && integers);
    demand(liana__hdf5_tree_read_f32(tree, node, &data, floats, &error) == LIANA_OK || error.message[0]);
    demand(liana__hdf5_tree_read_s64(tree, node, &data, integers, &error) == LIANA_OK || error.message[0]);
    free(floats);
    free(integers);
}

static liana_status walk_child(void *user, const char *name, liana__hdf5_node child, bool is_group, liana__error *error)
{
    enum { MOST = 2000, DEPTH = 12 };
    const tree_walk *here = user;
    bool found;
    size_t sum = strlen(name);
    const char *const attributes[] = {"name", "dtype", "layer_names", "weight_names"};
    if (++*here->num_nodes > MOST || here->depth > DEPTH) return LIANA_OK;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        liana__error own = {0};
        demand(liana__hdf5_tree_texts(here->tree, child, attributes[i], ignore_text, &sum, &found, &own) == LIANA_OK ||
               own.message[0]);
    }
    if (!is_group) {
        read_dataset(here->tree, child);
        return LIANA_OK;
    }
    tree_walk below = {here->tree, here->depth + 1, here->num_nodes};
    return liana__hdf5_tree_children(here->tree, child, walk_child, &below, error);
}

bool liana__try_hdf5_tree(const uint8_t *bytes, size_t size)
{
    liana__error error = {0};
    liana__hdf5_tree *tree;
    int num_nodes = 0;
    if (liana__hdf5_tree_take("bytes", (char *)classic_copy(bytes, size), size, &tree, &error) != LIANA_OK) {
        demand(strstr(error.message, "'bytes'") != NULL);
        return false;
    }
    tree_walk root = {tree, 0, &num_nodes};
    bool good = liana__hdf5_tree_children(tree, liana__hdf5_tree_root(tree), walk_child, &root, &error) == LIANA_OK;
    demand(good || error.message[0]);
    liana__hdf5_tree_close(tree);
    return good;
}
