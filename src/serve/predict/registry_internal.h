/* registry_internal.h - the parts of a registry, for registry.c (lending, telling) and reload.c (loading). */
#ifndef LIANA_SERVE_PREDICT_REGISTRY_INTERNAL_H
#define LIANA_SERVE_PREDICT_REGISTRY_INTERNAL_H

#include "serve/predict/registry.h"
#include "serve/predict/version_scan.h"

/* As TensorFlow Serving names them. */
typedef enum liana__version_state {
    LIANA__VERSION_START,
    LIANA__VERSION_LOADING,
    LIANA__VERSION_AVAILABLE,
    LIANA__VERSION_UNLOADING,
    LIANA__VERSION_END,
} liana__version_state;

/* A version in memory, which requests have. */
struct liana__served {
    liana__servable *servable;
    liana__model_metrics *metrics;
    int64_t number;
    size_t borrowed;
    struct liana__served *after; /* in the list of those that are to be closed */
};

typedef struct liana__version {
    int64_t number;
    liana__version_state state;
    liana__error error; /* why it is not available; or a note of one that is */
    uint64_t stamp;     /* of the files that were loaded, or tried */
    uint64_t seen;      /* of the files when they were last looked at */
    bool was_tried, is_kept;
    liana__served *served; /* NULL: none */
} liana__version;

typedef struct liana__served_model {
    char *name, *folder;
    liana__model_metrics metrics;
    liana__version *versions; /* the newest first */
    size_t num_versions, capacity;
    struct liana__served_model *after;
} liana__served_model;

struct liana__registry {
    liana__registry_options options;
    pthread_mutex_t lock;                      /* of all below */
    liana__served_model *models, **last_model; /* none goes */
    liana__served *retired;
    liana__model_metrics other;
};

/* Loads what is new, and unloads what is not wanted, of one model. `is_first`: at the start, when files need not be
 * looked at twice. */
void liana__reload_model(liana__registry *registry, liana__served_model *model, bool all, bool is_first);
/* Closes versions that nobody has any more. */
void liana__reload_close_retired(liana__registry *registry);
/* Takes a version out of its model; it is closed when nobody has it. With the lock. */
void liana__reload_retire(liana__registry *registry, liana__served *served);

#endif
