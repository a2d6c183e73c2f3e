/* Feeds any bytes to the readers of servers' answers and credentials. */
#include "harness/try/try_remote.h"

#include "remote/aws_credentials.h"
#include "remote/calls.h"
#include "remote/google_credentials.h"
#include "remote/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool condition, const char *what, const liana__error *error)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n%s\n", what, error->message);
    abort();
}

static bool try_list(liana_status (*read)(const char *, size_t, liana__arena *, liana__listing *, liana__error *),
                     const char *text, size_t size)
{
    liana__arena arena = {0};
    liana__error error = {0};
    liana__listing listing = {0};
    liana_status status = read(text, size, &arena, &listing, &error);
    if (status != LIANA_OK) demand(status == LIANA_INVALID_DATA && *error.message, "the answer is at fault", &error);
    for (size_t i = 0; status == LIANA_OK && i < listing.count; i++) {
        const liana__listed *item = &listing.items[i];
        demand(item->key && item->version && item->size <= INT64_MAX, "an object has a key and a size", &error);
    }
    demand(status != LIANA_OK || !listing.next || *listing.next, "a token is none or some", &error);
    liana__listing_free(&listing);
    liana__arena_free(&arena);
    return status == LIANA_OK;
}

bool liana__try_listing(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    liana__arena arena = {0};
    liana__error error = {0};
    demand(liana__remote_load(&error) == LIANA_OK, "the libraries are here", &error);
    liana__listed object;
    bool taken = try_list(liana__listing_read_xml, text, size);
    taken |= try_list(liana__listing_read_json, text, size);
    taken |= liana__listing_read_object(text, size, &arena, &object, &error) == LIANA_OK;
    liana__refusal refusal = liana__listing_read_refusal(text, size);
    for (const char *at = refusal.text; *at; at++) demand(*at >= 0x20 && *at < 0x7f, "a refusal can be shown", &error);
    liana__arena_free(&arena);
    return taken;
}

bool liana__try_credentials(const uint8_t *bytes, size_t size)
{
    liana__arena arena = {0};
    liana__error error = {0};
    demand(liana__remote_load(&error) == LIANA_OK, "the libraries are here", &error);
    liana__google_credentials google = {0};
    const char *key = liana__ini_value((const char *)bytes, size, "default", "aws_access_key_id", &arena);
    const char *region = liana__ini_value((const char *)bytes, size, "profile x", "region", &arena);
    demand(!key || *key, "a value is none or some", &error);
    demand(!region || !strchr(region, '\n'), "a value is in one line", &error);
    liana_status status =
        liana__google_credentials_read((const char *)bytes, size, "tried.json", &arena, &google, &error);
    demand(status == LIANA_OK || status == LIANA_INVALID_CONFIG, "the file is at fault", &error);
    demand(status != LIANA_OK || (google.account && google.secret && google.exchange), "credentials are whole", &error);
    liana__aws_credentials aws = {0};
    liana_status given = liana__aws_credentials_read((const char *)bytes, size, &arena, &aws, &error);
    demand(given == LIANA_OK || given == LIANA_INVALID_DATA, "the answer is at fault", &error);
    demand(given != LIANA_OK || (aws.access_key && aws.secret_key && aws.expires), "keys are whole", &error);
    liana__arena_free(&arena);
    return status == LIANA_OK || given == LIANA_OK || key || region;
}
