/* prediction_server.h - a server of predictions: TensorFlow Serving's REST interface, uploads of images, a page.
 *
 *   GET  /                                     a page with an upload field
 *   GET  /healthz, /readyz                     200 or 503; without a token
 *   GET  /metrics, /monitoring/prometheus/metrics
 *   GET  /v1/models                            the models (liana's own)
 *   GET  /v1/models/NAME[/versions/N|/labels/L][/metadata]
 *   POST /v1/models/NAME[/versions/N|/labels/L]:predict, :classify, :regress */
#ifndef LIANA_SERVE_PREDICT_PREDICTION_SERVER_H
#define LIANA_SERVE_PREDICT_PREDICTION_SERVER_H

#include "serve/http_server.h"
#include "serve/predict/access_log.h"
#include "serve/predict/registry.h"

typedef struct liana__prediction_options {
    liana__http_options http;         /* where it listens, and limits; `answer` and what it needs are the server's */
    size_t max_memory;                /* of all bodies and their arrays together; 0: no limit */
    liana__registry_options registry; /* its `say` gets lines for people */
    liana__access_log *log;           /* gets a line for each request; borrowed; NULL: none */
    bool json;                        /* the form of the log */
} liana__prediction_options;

typedef struct liana__prediction_server liana__prediction_server;

/* Loads the models, then listens. Texts of the options must outlive it. Errors: those of liana__registry_open and
 * liana__http_server_open. */
liana_status liana__prediction_server_open(const liana__prediction_options *options, liana__prediction_server **server,
                                           liana__error *error) LIANA_MUST_USE;
const char *liana__prediction_server_url(const liana__prediction_server *server);
int liana__prediction_server_port(const liana__prediction_server *server);
/* Looks for new versions (liana__registry_poll). */
void liana__prediction_server_poll(liana__prediction_server *server, bool all);
/* Answers what has come, up to `seconds`, and takes nothing new. */
void liana__prediction_server_drain(liana__prediction_server *server, double seconds);
/* NULL is allowed. */
void liana__prediction_server_close(liana__prediction_server *server);

/* The parts of the page (cmake/page.cmake). */
void liana__serve_page_text(liana__text *text, bool needs_token);

#endif
