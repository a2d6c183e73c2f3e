/* Loads libzmq. */
#include "distribute/transport/zmq_calls.h"

LIANA__LIBRARY_DEFINE(zmq, LIANA__ZMQ_NAMES, LIANA_ZMQ_FILE, "clusters of processes need", "libzmq5");

liana_status liana__zmq_load(liana__error *error)
{
    return liana__library_load(&liana__zmq_library.library, error);
}
