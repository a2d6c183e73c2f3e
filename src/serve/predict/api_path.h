/* api_path.h - the addresses of TensorFlow Serving's REST interface:
 * /v1/models/NAME[/versions/N | /labels/L][/metadata | :predict | :classify | :regress] */
#ifndef LIANA_SERVE_PREDICT_API_PATH_H
#define LIANA_SERVE_PREDICT_API_PATH_H

#include "serve/predict/registry.h"

typedef struct liana__api_path {
    char model[256], label[64];
    liana__version_wish wish; /* its label is `label` */
    liana__serve_method method;
    bool is_metadata, is_list; /* "/v1/models" */
} liana__api_path;

/* `path` is behind the first slash. False: it is no such address; method is then OTHER. */
bool liana__api_path_read(const char *path, liana__api_path *read);

#endif
