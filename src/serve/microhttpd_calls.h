/* microhttpd_calls.h - libmicrohttpd's functions, from the library that liana__microhttpd_load loads (base/library.h).
 * For http_server.c and http_listen.c only. */
#ifndef LIANA_SERVE_MICROHTTPD_CALLS_H
#define LIANA_SERVE_MICROHTTPD_CALLS_H

#include "base/library.h"

#include <microhttpd.h>

/* clang-format off */
#define LIANA__MICROHTTPD_NAMES(X) \
    X(MHD_add_response_header) X(MHD_create_response_from_buffer) X(MHD_create_response_from_callback) \
    X(MHD_destroy_response) X(MHD_get_connection_info) X(MHD_get_daemon_info) X(MHD_is_feature_supported) \
    X(MHD_lookup_connection_value) X(MHD_queue_response) X(MHD_quiesce_daemon) X(MHD_start_daemon) X(MHD_stop_daemon)
/* clang-format on */

LIANA__LIBRARY_DECLARE(microhttpd, LIANA__MICROHTTPD_NAMES);

#define MHD_add_response_header liana__microhttpd_library.MHD_add_response_header
#define MHD_create_response_from_buffer liana__microhttpd_library.MHD_create_response_from_buffer
#define MHD_create_response_from_callback liana__microhttpd_library.MHD_create_response_from_callback
#define MHD_destroy_response liana__microhttpd_library.MHD_destroy_response
#define MHD_get_connection_info liana__microhttpd_library.MHD_get_connection_info
#define MHD_get_daemon_info liana__microhttpd_library.MHD_get_daemon_info
#define MHD_is_feature_supported liana__microhttpd_library.MHD_is_feature_supported
#define MHD_lookup_connection_value liana__microhttpd_library.MHD_lookup_connection_value
#define MHD_queue_response liana__microhttpd_library.MHD_queue_response
#define MHD_quiesce_daemon liana__microhttpd_library.MHD_quiesce_daemon
#define MHD_start_daemon liana__microhttpd_library.MHD_start_daemon
#define MHD_stop_daemon liana__microhttpd_library.MHD_stop_daemon

/* Errors: UNAVAILABLE, with the library's name. */
liana_status liana__microhttpd_load(liana__error *error) LIANA_MUST_USE;

#endif
