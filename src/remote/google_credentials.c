/* Finds the account and gets tokens for Google Cloud Storage. */
#include "remote/google_credentials.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "remote/calls.h"
#include "remote/credentials.h"
#include "remote/listing.h"
#include "remote/sigv4.h"

#include <stdlib.h>
#include <string.h>

/* The least that is enough (cloud.google.com/storage/docs/oauth-scopes). */
#define READ_SCOPE "https://www.googleapis.com/auth/devstorage.read_only"
#define WRITE_SCOPE "https://www.googleapis.com/auth/devstorage.read_write"
#define TOKEN_URL "https://oauth2.googleapis.com/token"

/* Tokens live an hour; one that is about to end is not begun with. */
enum { MAX_FILE = 1 << 20, LIFETIME = 3600, MARGIN = 300 };

/* ---- finding them ---- */

liana_status liana__google_credentials_read(const char *text, size_t size, const char *path, liana__arena *arena,
                                            liana__google_credentials *credentials, liana__error *error)
{
    liana__value *root;
    /* The JSON reader's message may quote the file, so it is not shown. */
    liana_status status = liana__json_parse(text, size, path, arena, &root, NULL);
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(error, path);
    if (status != LIANA_OK || root->kind != LIANA__VALUE_MAP) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%s' has no credentials: it is not a JSON mapping", path);
    }
    const char *type = liana__credentials_text(root, "type"), *exchange = liana__credentials_text(root, "token_uri");
    credentials->exchange = exchange ? exchange : TOKEN_URL;
    if (type && strcmp(type, "service_account") == 0) {
        credentials->kind = LIANA__GOOGLE_SERVICE;
        credentials->account = liana__credentials_text(root, "client_email");
        credentials->secret = liana__credentials_text(root, "private_key");
        credentials->key_id = liana__credentials_text(root, "private_key_id");
        if (credentials->account && credentials->secret) return LIANA_OK;
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "'%s': a service account without client_email or private_key; make a new key and download it", path);
    }
    if (type && strcmp(type, "authorized_user") == 0) {
        credentials->kind = LIANA__GOOGLE_USER;
        credentials->account = liana__credentials_text(root, "client_id");
        credentials->secret = liana__credentials_text(root, "client_secret");
        credentials->refresh = liana__credentials_text(root, "refresh_token");
        if (credentials->account && credentials->secret && credentials->refresh) return LIANA_OK;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "'%s': an authorized user without client_id, client_secret or refresh_token; run 'gcloud "
                           "auth application-default login'",
                           path);
    }
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "'%s' has credentials of a type other than service_account and authorized_user", path);
}

static liana_status read_file(const char *path, liana__arena *arena, liana__google_credentials *credentials,
                              liana__error *error)
{
    char *text;
    size_t size;
    LIANA_TRY(liana__file_read(path, MAX_FILE, &text, &size, error));
    liana_status status = liana__google_credentials_read(text, size, path, arena, credentials, error);
    OPENSSL_cleanse(text, size);
    free(text);
    credentials->origin = liana__arena_format(arena, "'%s'", path);
    return status;
}

static const char *find_file(liana__arena *arena)
{
    const char *folder = liana__credentials_variable("CLOUDSDK_CONFIG"), *home = liana__credentials_variable("HOME");
    const char *name = "application_default_credentials.json";
    const char *path = folder ? liana__path_join(arena, folder, name)
                       : home ? liana__arena_format(arena, "%s/.config/gcloud/%s", home, name)
                              : NULL;
    return path && liana__file_exists(path) ? path : NULL;
}

/* "host:port", or a URL. */
static const char *emulator_url(const char *host, liana__arena *arena)
{
    size_t length = strlen(host);
    while (length && host[length - 1] == '/') length--;
    return liana__arena_format(arena, "%s%.*s", strstr(host, "://") ? "" : "http://", (int)length, host);
}

liana_status liana__google_credentials_find(liana__arena *arena, liana__google_credentials *credentials,
                                            liana__error *error)
{
    const char *emulator = liana__credentials_variable("STORAGE_EMULATOR_HOST"),
               *file = liana__credentials_variable("GOOGLE_APPLICATION_CREDENTIALS");
    *credentials = (liana__google_credentials){.endpoint = "https://storage.googleapis.com"};
    if (emulator) credentials->endpoint = emulator_url(emulator, arena);
    static const char *const tokens[] = {"CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"};
    for (size_t i = 0; i < 2 && !credentials->token; i++) {
        credentials->token = liana__arena_string(arena, liana__credentials_variable(tokens[i]));
        credentials->origin = tokens[i];
    }
    if (arena->failed) return liana__fail_memory(error, "credentials");
    if (credentials->token) {
        credentials->kind = LIANA__GOOGLE_TOKEN;
        return LIANA_OK;
    }
    credentials->origin = NULL;
    if (!file && !emulator) file = find_file(arena);
    if (file) return read_file(file, arena, credentials, error);
    const char *host = liana__credentials_variable("GCE_METADATA_HOST");
    if (emulator && !host) return LIANA_OK;
    if (!host && liana__machine_says("/sys/class/dmi/id/product_name", "Google")) host = "metadata.google.internal";
    if (!host) return LIANA_OK;
    credentials->kind = LIANA__GOOGLE_METADATA;
    credentials->origin = "the machine's metadata server";
    credentials->exchange =
        liana__arena_format(arena, "http://%s/computeMetadata/v1/instance/service-accounts/default/token", host);
    return arena->failed ? liana__fail_memory(error, "credentials") : LIANA_OK;
}

/* ---- tokens ---- */

/* Base64 with '-' and '_', without padding (RFC 4648, section 5). */
static void add_base64url(liana__text *text, const void *bytes, size_t size)
{
    LIANA__SCOPED_MEMORY char *encoded = malloc(size / 3 * 4 + 8);
    if (!encoded) {
        text->failed = true;
        return;
    }
    int length = EVP_EncodeBlock((unsigned char *)encoded, bytes, (int)size);
    for (int i = 0; i < length; i++) encoded[i] = encoded[i] == '+' ? '-' : encoded[i] == '/' ? '_' : encoded[i];
    while (length && encoded[length - 1] == '=') length--;
    liana__text_add_bytes(text, encoded, (size_t)length);
}

static void add_part(liana__text *text, const liana__value *map)
{
    LIANA__SCOPED(liana__text) json = {0};
    liana__value_write_json(map, 0, &json);
    if (json.data && !json.failed) add_base64url(text, json.data, strcspn(json.data, "\n"));
    text->failed |= json.failed;
}

static bool sign(const char *pem, const liana__text *text, uint8_t *signature, size_t *size)
{
    BIO *memory = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = memory ? PEM_read_bio_PrivateKey(memory, NULL, NULL, NULL) : NULL;
    EVP_MD_CTX *context = key ? EVP_MD_CTX_new() : NULL;
    bool done = context && EVP_PKEY_base_id(key) == EVP_PKEY_RSA &&
                EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(context, signature, size, (const unsigned char *)text->data, text->length) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    BIO_free(memory);
    return done;
}

/* The JWT of RFC 7523: header, claims, RS256 signature. */
static liana_status add_assertion(liana__text *jwt, const liana__google_credentials *credentials, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *header = liana__value_map(&arena), *claims = liana__value_map(&arena);
    time_t now = time(NULL);
    liana__value_set(&arena, header, "alg", liana__value_string(&arena, "RS256"));
    liana__value_set(&arena, header, "typ", liana__value_string(&arena, "JWT"));
    if (credentials->key_id) {
        liana__value_set(&arena, header, "kid", liana__value_string(&arena, credentials->key_id));
    }
    liana__value_set(&arena, claims, "iss", liana__value_string(&arena, credentials->account));
    liana__value_set(&arena, claims, "scope",
                     liana__value_string(&arena, credentials->writes ? WRITE_SCOPE : READ_SCOPE));
    liana__value_set(&arena, claims, "aud", liana__value_string(&arena, credentials->exchange));
    liana__value_set(&arena, claims, "iat", liana__value_int(&arena, (int64_t)now));
    liana__value_set(&arena, claims, "exp", liana__value_int(&arena, (int64_t)now + LIFETIME));
    if (arena.failed) return liana__fail_memory(error, "a token");
    add_part(jwt, header);
    liana__text_add(jwt, ".");
    add_part(jwt, claims);
    uint8_t signature[1024];
    size_t size = sizeof signature;
    if (jwt->failed) return liana__fail_memory(error, "a token");
    if (!sign(credentials->secret, jwt, signature, &size)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s: its private_key is not an RSA key in PEM",
                           credentials->origin);
    }
    liana__text_add(jwt, ".");
    add_base64url(jwt, signature, size);
    return LIANA_OK;
}

static liana_status make_exchange(const liana__google_credentials *credentials, liana__http_request *request,
                                  liana__error *error)
{
    liana__text_add(&request->url, "%s", credentials->exchange);
    if (credentials->kind == LIANA__GOOGLE_METADATA) {
        request->local = true;
        liana__http_request_header(request, "Metadata-Flavor", "Google");
    } else if (credentials->kind == LIANA__GOOGLE_SERVICE) {
        liana__text_add(&request->form,
                        "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&assertion=");
        LIANA__SCOPED(liana__text) jwt = {0};
        LIANA_TRY(add_assertion(&jwt, credentials, error));
        if (jwt.data) liana__text_add_bytes(&request->form, jwt.data, jwt.length);
        request->form.failed |= jwt.failed;
    } else {
        const char *names[] = {"client_id", "client_secret", "refresh_token"};
        const char *values[] = {credentials->account, credentials->secret, credentials->refresh};
        liana__text_add(&request->form, "grant_type=refresh_token");
        for (int i = 0; i < 3; i++) {
            liana__text_add(&request->form, "&%s=", names[i]);
            liana__url_encode(&request->form, values[i], true);
        }
    }
    return LIANA_OK;
}

static liana_status take_token(const liana__http_response *response, const char *name, liana__arena *arena,
                               liana__google_credentials *credentials, liana__error *error)
{
    const char *body = liana__http_body(response);
    if (response->status != 200) {
        liana__refusal refusal = liana__listing_read_refusal(body, response->body.length);
        return liana__fail(error, LIANA_IO_ERROR,
                           "cannot read '%s': the credentials in %s gave no token: HTTP %ld%s%s; are they still valid?",
                           name, credentials->origin, response->status, *refusal.text ? ": " : "", refusal.text);
    }
    liana__value *root;
    const char *token = NULL;
    if (liana__json_parse(body, response->body.length, "token", arena, &root, NULL) == LIANA_OK &&
        root->kind == LIANA__VALUE_MAP) {
        const liana__value *seconds = liana__value_get(root, "expires_in");
        token = liana__credentials_text(root, "access_token");
        credentials->expires = time(NULL) + (seconds && seconds->kind == LIANA__VALUE_INT && seconds->integer > 0 &&
                                                     seconds->integer < 1000000
                                                 ? (time_t)seconds->integer
                                                 : LIFETIME);
    }
    credentials->token = token;
    if (token) return LIANA_OK;
    return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': the token server's answer has no access_token", name);
}

liana_status liana__google_credentials_refresh(liana__http *http, const char *name, liana__arena *arena,
                                               liana__google_credentials *credentials, liana__error *error)
{
    if (credentials->kind == LIANA__GOOGLE_ANONYMOUS || credentials->kind == LIANA__GOOGLE_TOKEN) return LIANA_OK;
    if (credentials->token && time(NULL) + MARGIN < credentials->expires) return LIANA_OK;
    LIANA__SCOPED(liana__http_request) request = {0};
    LIANA__SCOPED(liana__http_response) response = {0};
    liana_status status = make_exchange(credentials, &request, error);
    if (status != LIANA_OK) liana__fail_within(error, "cannot read '%s'", name);
    if (status == LIANA_OK) status = liana__http_send(http, name, &request, &response, error);
    if (status == LIANA_OK) status = take_token(&response, name, arena, credentials, error);
    if (request.form.data) OPENSSL_cleanse(request.form.data, request.form.length);
    return status;
}
