/* zmq_calls.h - the functions of libzmq, from the library that liana__zmq_load loads (base/library.h). */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_ZMQ_CALLS_H
#define LIANA_DISTRIBUTE_TRANSPORT_ZMQ_CALLS_H

#include "base/library.h"

#include <zmq.h>

/* clang-format off */
#define LIANA__ZMQ_NAMES(X) \
    X(zmq_bind) X(zmq_close) X(zmq_connect) X(zmq_ctx_new) X(zmq_ctx_set) X(zmq_ctx_term) X(zmq_curve_keypair)    \
    X(zmq_curve_public) X(zmq_disconnect) X(zmq_errno) X(zmq_getsockopt) X(zmq_msg_close) X(zmq_msg_data)         \
    X(zmq_msg_get) X(zmq_msg_gets) X(zmq_msg_init) X(zmq_msg_init_size) X(zmq_msg_more) X(zmq_msg_move)           \
    X(zmq_msg_recv) X(zmq_msg_send) X(zmq_msg_size)                                                               \
    X(zmq_poll) X(zmq_send) X(zmq_setsockopt) X(zmq_socket) X(zmq_socket_monitor) X(zmq_strerror)                 \
    X(zmq_z85_decode)
/* clang-format on */

LIANA__LIBRARY_DECLARE(zmq, LIANA__ZMQ_NAMES);

#define zmq_bind liana__zmq_library.zmq_bind
#define zmq_close liana__zmq_library.zmq_close
#define zmq_connect liana__zmq_library.zmq_connect
#define zmq_ctx_new liana__zmq_library.zmq_ctx_new
#define zmq_ctx_set liana__zmq_library.zmq_ctx_set
#define zmq_ctx_term liana__zmq_library.zmq_ctx_term
#define zmq_curve_keypair liana__zmq_library.zmq_curve_keypair
#define zmq_curve_public liana__zmq_library.zmq_curve_public
#define zmq_disconnect liana__zmq_library.zmq_disconnect
#define zmq_errno liana__zmq_library.zmq_errno
#define zmq_getsockopt liana__zmq_library.zmq_getsockopt
#define zmq_msg_close liana__zmq_library.zmq_msg_close
#define zmq_msg_data liana__zmq_library.zmq_msg_data
#define zmq_msg_get liana__zmq_library.zmq_msg_get
#define zmq_msg_gets liana__zmq_library.zmq_msg_gets
#define zmq_msg_init liana__zmq_library.zmq_msg_init
#define zmq_msg_init_size liana__zmq_library.zmq_msg_init_size
#define zmq_msg_more liana__zmq_library.zmq_msg_more
#define zmq_msg_move liana__zmq_library.zmq_msg_move
#define zmq_msg_recv liana__zmq_library.zmq_msg_recv
#define zmq_msg_send liana__zmq_library.zmq_msg_send
#define zmq_msg_size liana__zmq_library.zmq_msg_size
#define zmq_poll liana__zmq_library.zmq_poll
#define zmq_send liana__zmq_library.zmq_send
#define zmq_setsockopt liana__zmq_library.zmq_setsockopt
#define zmq_socket liana__zmq_library.zmq_socket
#define zmq_socket_monitor liana__zmq_library.zmq_socket_monitor
#define zmq_strerror liana__zmq_library.zmq_strerror
#define zmq_z85_decode liana__zmq_library.zmq_z85_decode

/* Loads the library. Call it before the first of these functions. Errors: UNIMPLEMENTED. */
liana_status liana__zmq_load(liana__error *error) LIANA_MUST_USE;

#endif
