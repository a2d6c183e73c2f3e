/* model_boxes.h - a model as boxes and arrows: a box for each layer, nested model or group of layers. */
#ifndef LIANA_REPORT_MODEL_BOXES_H
#define LIANA_REPORT_MODEL_BOXES_H

#include "layers/model.h"
#include "report/graph_layout.h"

/* More boxes than this are grouped; the most that a picture has in any case. */
enum { LIANA__FEW_BOXES = 60, LIANA__MOST_BOXES = 240 };

typedef struct liana__model_box {
    const char *name;   /* of the layer; of a group its prefix, or "FIRST to LAST" */
    const char *kind;   /* "Conv2D"; of a group "14 layers: 3 Conv2D, ...", or "10 x 14 layers: ..." */
    const char *shape;  /* "(None, 7, 7, 32)": of the first call's results; of a group that of its last layer */
    int64_t parameters; /* of the first call; later ones share them */
    int64_t trainable;  /* of these */
    size_t num_layers;  /* with those of nested models; a layer that is called again counts once */
    size_t repeats;     /* of a group: how often its layers come, one time after the other */
    bool is_input, is_output, is_nested, is_shared, is_group;
} liana__model_box;

typedef struct liana__model_boxes {
    liana__model_box *boxes; /* in an order in which arrows lead to later boxes */
    size_t count;
    liana__graph_edge *edges; /* each pair once */
    size_t num_edges;
    bool grouped;
} liana__model_boxes;

/* Up to LIANA__FEW_BOXES layers have a box each; a layer that is called twice has two. Of more layers, blocks become
 * one: by the names that Keras's architectures give them (block1a_..., conv2_block1_...), then by the stages of these
 * blocks, then by the places that all ways pass and the layers with kernels between them; then groups that repeat
 * become one; then evenly. Everything is in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__model_boxes_find(const liana_model *model, liana__arena *arena, liana__model_boxes *found,
                                     liana__error *error) LIANA_MUST_USE;

/* The block that a layer belongs to by its name, as the length of the part of the name that says so: 7 for
 * "block1a_dwconv". 0: none. `stage`: the stage of that block, 6 ("block1"). */
size_t liana__model_block_name(const char *name, bool stage);

/* "3,538,984", in `text`. */
void liana__print_grouped(int64_t number, char *text, size_t size);

#endif
