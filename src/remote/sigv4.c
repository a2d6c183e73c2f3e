/* Signs requests as AWS asks for. */
#include "remote/sigv4.h"

#include "base/scoped.h"
#include "remote/calls.h"

#include <stdio.h>

enum { HASH_SIZE = 32 };

typedef struct hash {
    uint8_t bytes[HASH_SIZE];
} hash;

liana__sigv4_time liana__sigv4_time_of(time_t seconds)
{
    struct tm parts;
    liana__sigv4_time made = {""};
    if (gmtime_r(&seconds, &parts)) strftime(made.text, sizeof made.text, "%Y%m%dT%H%M%SZ", &parts);
    return made;
}

void liana__url_encode(liana__text *text, const char *bytes, bool slashes)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (; *bytes; bytes++) {
        if (strchr(plain, *bytes) || (*bytes == '/' && !slashes)) {
            liana__text_add_bytes(text, bytes, 1);
        } else {
            liana__text_add(text, "%%%02X", (unsigned char)*bytes);
        }
    }
}

static hash hmac(const void *key, size_t key_size, const char *text)
{
    hash made = {{0}};
    unsigned size = HASH_SIZE;
    HMAC(EVP_sha256(), key, (int)key_size, (const unsigned char *)text, strlen(text), made.bytes, &size);
    return made;
}

static void add_hex(liana__text *text, const hash *value)
{
    for (int i = 0; i < HASH_SIZE; i++) liana__text_add(text, "%02x", value->bytes[i]);
}

liana__sha256_text liana__sha256_of(const void *bytes, size_t size)
{
    hash digest = {{0}};
    unsigned length = HASH_SIZE;
    liana__sha256_text made;
    EVP_Digest(size ? bytes : "", size, digest.bytes, &length, EVP_sha256(), NULL);
    for (size_t i = 0; i < HASH_SIZE; i++) snprintf(made.text + 2 * i, 3, "%02x", digest.bytes[i]);
    return made;
}

static void add_signed_headers(liana__text *text, const liana__sigv4_request *request)
{
    for (size_t i = 0; i < request->num_headers; i++) {
        liana__text_add(text, "%s%s", i ? ";" : "", request->headers[i].name);
    }
}

/* Spaces around a value do not count, and several in it are one. */
static void add_trimmed(liana__text *text, const char *value)
{
    value += strspn(value, " ");
    while (*value) {
        size_t word = strcspn(value, " "), gap = strspn(value + word, " ");
        liana__text_add_bytes(text, value, word);
        value += word + gap;
        if (*value) liana__text_add_bytes(text, " ", 1);
    }
}

static void add_canonical_request(liana__text *text, const liana__sigv4_request *request)
{
    liana__text_add(text, "%s\n%s\n%s\n", request->method, request->path, request->query ? request->query : "");
    for (size_t i = 0; i < request->num_headers; i++) {
        liana__text_add(text, "%s:", request->headers[i].name);
        add_trimmed(text, request->headers[i].value);
        liana__text_add(text, "\n");
    }
    liana__text_add(text, "\n");
    add_signed_headers(text, request);
    liana__text_add(text, "\n%s", request->payload_hash);
}

static hash signing_key(const liana__sigv4_key *key, const char *date)
{
    LIANA__SCOPED(liana__text) secret = {0};
    liana__text_add(&secret, "AWS4%s", key->secret_key);
    hash made = hmac(secret.data ? secret.data : "", secret.length, date);
    made = hmac(made.bytes, HASH_SIZE, key->region);
    made = hmac(made.bytes, HASH_SIZE, key->service);
    made = hmac(made.bytes, HASH_SIZE, "aws4_request");
    if (secret.data) OPENSSL_cleanse(secret.data, secret.length);
    return made;
}

void liana__sigv4_authorize(const liana__sigv4_request *request, const liana__sigv4_key *key,
                            const liana__sigv4_time *time, liana__text *authorization)
{
    char date[9];
    memcpy(date, time->text, 8);
    date[8] = 0;
    LIANA__SCOPED(liana__text) canonical = {0};
    LIANA__SCOPED(liana__text) to_sign = {0};
    add_canonical_request(&canonical, request);
    hash digest = {{0}};
    unsigned size = HASH_SIZE;
    EVP_Digest(canonical.data ? canonical.data : "", canonical.length, digest.bytes, &size, EVP_sha256(), NULL);
    liana__text_add(&to_sign, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n", time->text, date, key->region,
                    key->service);
    add_hex(&to_sign, &digest);
    hash secret = signing_key(key, date);
    hash signature = hmac(secret.bytes, HASH_SIZE, to_sign.data ? to_sign.data : "");
    liana__text_add(authorization,
                    "AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request, SignedHeaders=", key->access_key, date,
                    key->region, key->service);
    add_signed_headers(authorization, request);
    liana__text_add(authorization, ", Signature=");
    add_hex(authorization, &signature);
    authorization->failed |= canonical.failed || to_sign.failed;
}
