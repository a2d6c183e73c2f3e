/* registry.h - the models of a server and their versions: loads them, reloads what changes, and lends them to requests.
 *
 * A version that comes answers once it is loaded; those before it answer until then, and until the requests that have
 * them are done. One that cannot be loaded stays out, and the ones before it go on. A version whose folder is removed
 * is unloaded if another one answers; if none is left, it goes on from memory, and its status says so. */
#ifndef LIANA_SERVE_PREDICT_REGISTRY_H
#define LIANA_SERVE_PREDICT_REGISTRY_H

#include "base/value.h"
#include "serve/predict/servable.h"
#include "serve/predict/serve_metrics.h"

/* A model to serve. */
typedef struct liana__model_place {
    const char *name, *folder;
} liana__model_place;

/* "canary" is version 3 of each model that has it. */
typedef struct liana__version_label {
    const char *label;
    int64_t number;
} liana__version_label;

typedef struct liana__registry_options {
    const liana__model_place *places; /* [num_places] */
    size_t num_places;
    const char *parent;   /* a folder whose folders are models, also those that come later; NULL: none */
    int64_t num_versions; /* the newest ones that are served; 0: all */
    const liana__version_label *labels;
    size_t num_labels;
    liana__servable_options servable;
    /* What happens: "flowers: version 2 answers". On the thread that polls; may be NULL. */
    void (*say)(void *user, const char *line);
    void *user;
} liana__registry_options;

typedef struct liana__registry liana__registry;

/* Loads all models. Texts of the options must outlive it. Errors: INVALID_CONFIG (no model there, a name twice, a name
 * that no address can have), those of a model of which no version can be loaded. */
liana_status liana__registry_open(const liana__registry_options *options, liana__registry **registry,
                                  liana__error *error) LIANA_MUST_USE;
/* No request has a model any more. NULL is allowed. */
void liana__registry_close(liana__registry *registry);
/* Looks at the folders, loads and unloads. `all`: also versions that could not be loaded before, and runs that have
 * trained on. By one thread at a time. */
void liana__registry_poll(liana__registry *registry, bool all);

/* ---- on any thread ---- */

/* Which version: the newest that answers, one number, or a label. */
typedef struct liana__version_wish {
    int64_t number;    /* -1: none */
    const char *label; /* NULL: none */
} liana__version_wish;

typedef struct liana__served liana__served;

/* Lends a version. Errors: NOT_FOUND (no such model, or no version of it that answers), INVALID_ARGUMENT (an unknown
 * label). */
liana_status liana__registry_borrow(liana__registry *registry, const char *model, const liana__version_wish *wish,
                                    liana__served **served, liana__error *error) LIANA_MUST_USE;
void liana__registry_return(liana__registry *registry, liana__served *served);
liana__servable *liana__served_servable(const liana__served *served);
int64_t liana__served_number(const liana__served *served);

/* {"model_version_status": [...]} of a model. Errors: NOT_FOUND. */
liana_status liana__registry_status(liana__registry *registry, const char *model, const liana__version_wish *wish,
                                    liana__arena *arena, liana__value **value, liana__error *error) LIANA_MUST_USE;
/* Whether every model has a version that answers. */
bool liana__registry_is_ready(liana__registry *registry);
/* The models by name, with their versions that answer: a list of {"name", "versions", "takes_images"}. */
liana__value *liana__registry_list(liana__registry *registry, liana__arena *arena);
/* Metrics of all models, and of requests of none, into a text. `gauges` without those of models. */
void liana__registry_add_metrics(liana__registry *registry, liana__serve_gauges *gauges, liana__text *text);
/* Of a model (NULL: it is not known); of requests of no model. */
liana__model_metrics *liana__registry_model_metrics(liana__registry *registry, const char *model);
liana__model_metrics *liana__registry_other_metrics(liana__registry *registry);

#endif
