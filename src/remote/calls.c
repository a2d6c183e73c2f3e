/* Loads libcurl, libcrypto and expat. */
#include "remote/calls.h"

LIANA__LIBRARY_DEFINE(curl, LIANA__CURL_NAMES, LIANA_CURL_FILE, "remote files need", "libcurl4");
LIANA__LIBRARY_DEFINE(crypto, LIANA__CRYPTO_NAMES, LIANA_CRYPTO_FILE, "remote files need", "libssl3");
LIANA__LIBRARY_DEFINE(expat, LIANA__EXPAT_NAMES, LIANA_EXPAT_FILE, "remote files need", "libexpat1");

liana_status liana__remote_load(liana__error *error)
{
    LIANA_TRY(liana__library_load(&liana__curl_library.library, error));
    LIANA_TRY(liana__library_load(&liana__crypto_library.library, error));
    return liana__library_load(&liana__expat_library.library, error);
}
