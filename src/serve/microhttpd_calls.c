/* Loads libmicrohttpd. */
#include "serve/microhttpd_calls.h"

LIANA__LIBRARY_DEFINE(microhttpd, LIANA__MICROHTTPD_NAMES, LIANA_MICROHTTPD_FILE,
                      "live pages and servers of predictions need", "libmicrohttpd12");

liana_status liana__microhttpd_load(liana__error *error)
{
    return liana__library_load(&liana__microhttpd_library.library, error);
}
