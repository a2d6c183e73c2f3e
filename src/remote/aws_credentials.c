/* Finds keys, region and endpoint for S3. */
#include "remote/aws_credentials.h"

#include "base/file.h"
#include "base/text.h"
#include "remote/calls.h"
#include "remote/credentials.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_FILE = 1 << 20 };

/* ---- INI ---- */

typedef struct span {
    const char *start;
    size_t length;
} span;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static span trim(span text)
{
    while (text.length && is_blank(*text.start)) text.start++, text.length--;
    while (text.length && is_blank(text.start[text.length - 1])) text.length--;
    return text;
}

static bool equals(span text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.start, word, text.length) == 0;
}

static bool equals_any_case(span text, const char *word)
{
    return text.length == strlen(word) && strncasecmp(text.start, word, text.length) == 0;
}

/* Whether the line begins a section, and whether it is this one. */
static bool begins_section(span line, const char *section, bool *inside)
{
    if (!line.length || *line.start != '[') return false;
    const char *end = memchr(line.start, ']', line.length);
    *inside = end && equals(trim((span){line.start + 1, (size_t)(end - line.start) - 1}), section);
    return true;
}

const char *liana__ini_value(const char *text, size_t size, const char *section, const char *key, liana__arena *arena)
{
    bool inside = false;
    span found = {NULL, 0};
    for (size_t at = 0; at < size;) {
        const char *stop = memchr(text + at, '\n', size - at);
        size_t length = stop ? (size_t)(stop - text) - at : size - at;
        span line = {text + at, length};
        at += length + 1;
        if (!length || is_blank(*line.start) || *line.start == '#' || *line.start == ';') continue;
        line = trim(line);
        if (begins_section(line, section, &inside) || !inside) continue;
        const char *sign = memchr(line.start, '=', line.length);
        if (!sign || !equals_any_case(trim((span){line.start, (size_t)(sign - line.start)}), key)) continue;
        found = trim((span){sign + 1, line.length - (size_t)(sign + 1 - line.start)});
    }
    if (!found.start || !found.length || memchr(found.start, 0, found.length)) return NULL;
    char *copy = liana__arena_allocate(arena, found.length + 1);
    if (copy) memcpy(copy, found.start, found.length);
    return copy;
}

/* ---- files ---- */

typedef struct profile_file {
    const char *path;
    char *text; /* NULL: no such file */
    size_t size;
} profile_file;

static liana_status read_file(const char *variable, const char *name, liana__arena *arena, profile_file *file,
                              liana__error *error)
{
    *file = (profile_file){.path = liana__credentials_variable(variable)};
    const char *home = liana__credentials_variable("HOME");
    if (!file->path && !home) return LIANA_OK;
    if (!file->path) file->path = liana__arena_format(arena, "%s/.aws/%s", home, name);
    if (!file->path) return liana__fail_memory(error, name);
    if (!liana__file_exists(file->path)) return LIANA_OK;
    return liana__file_read(file->path, MAX_FILE, &file->text, &file->size, error);
}

static void free_file(profile_file *file)
{
    if (file->text) OPENSSL_cleanse(file->text, file->size);
    free(file->text);
}

static const char *look(const profile_file *file, const char *section, const char *key, liana__arena *arena)
{
    return file->text ? liana__ini_value(file->text, file->size, section, key, arena) : NULL;
}

/* Looks for keys in both files, as the AWS tools do. Values from the environment are kept. */
static liana_status use_profile(liana__aws_credentials *credentials, const profile_file files[2], liana__arena *arena,
                                liana__error *error)
{
    const char *named = liana__credentials_variable("AWS_PROFILE"), *profile = named ? named : "default";
    const char *section = strcmp(profile, "default") == 0 ? profile : liana__arena_format(arena, "profile %s", profile);
    if (!section) return liana__fail_memory(error, profile);
    const char *sections[2] = {profile, section};
    bool wanted = !credentials->access_key, known = false;
    for (int i = 0; i < 2; i++) {
        const char *access = look(&files[i], sections[i], "aws_access_key_id", arena);
        const char *secret = look(&files[i], sections[i], "aws_secret_access_key", arena);
        const char *region = look(&files[i], sections[i], "region", arena);
        const char *endpoint = look(&files[i], sections[i], "endpoint_url", arena);
        known = known || access || region || endpoint;
        if (!credentials->region) credentials->region = region;
        if (!credentials->endpoint) credentials->endpoint = endpoint;
        if (!wanted || !access || credentials->access_key) continue;
        if (!secret) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "'%s': the profile '%s' has an aws_access_key_id but no aws_secret_access_key",
                               files[i].path, profile);
        }
        credentials->access_key = access;
        credentials->secret_key = secret;
        credentials->session_token = look(&files[i], sections[i], "aws_session_token", arena);
        credentials->origin = liana__arena_format(arena, "the profile '%s' in '%s'", profile, files[i].path);
    }
    if (arena->failed) return liana__fail_memory(error, profile);
    if (!named || known || !wanted) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "AWS_PROFILE names '%s', but no such profile is in '%s' or '%s'",
                       profile, files[0].path ? files[0].path : "~/.aws/credentials",
                       files[1].path ? files[1].path : "~/.aws/config");
}

static const char *without_slash(const char *endpoint, liana__arena *arena)
{
    size_t length = endpoint ? strlen(endpoint) : 0;
    while (length && endpoint[length - 1] == '/') length--;
    return length ? liana__arena_format(arena, "%.*s", (int)length, endpoint) : NULL;
}

static liana_status check_endpoint(const char *endpoint, liana__error *error)
{
    bool http = !endpoint || liana__starts_with(endpoint, "http://") || liana__starts_with(endpoint, "https://");
    if (http) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "AWS_ENDPOINT_URL is '%s', expected a URL such as http://127.0.0.1:9000", endpoint);
}

liana_status liana__aws_credentials_find(liana__arena *arena, liana__aws_credentials *credentials, liana__error *error)
{
    const char *region = liana__credentials_variable("AWS_REGION"),
               *endpoint = liana__credentials_variable("AWS_ENDPOINT_URL_S3");
    *credentials = (liana__aws_credentials){
        .access_key = liana__credentials_variable("AWS_ACCESS_KEY_ID"),
        .secret_key = liana__credentials_variable("AWS_SECRET_ACCESS_KEY"),
        .region = region ? region : liana__credentials_variable("AWS_DEFAULT_REGION"),
        .endpoint = endpoint ? endpoint : liana__credentials_variable("AWS_ENDPOINT_URL"),
        .origin = "AWS_ACCESS_KEY_ID",
    };
    if (!credentials->access_key != !credentials->secret_key) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s is set but %s is not; set both, or neither",
                           credentials->access_key ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                           credentials->access_key ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    }
    if (credentials->access_key) credentials->session_token = liana__credentials_variable("AWS_SESSION_TOKEN");
    profile_file files[2] = {{0}};
    liana_status status = read_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", arena, &files[0], error);
    if (status == LIANA_OK) status = read_file("AWS_CONFIG_FILE", "config", arena, &files[1], error);
    if (status == LIANA_OK) status = use_profile(credentials, files, arena, error);
    free_file(&files[0]);
    free_file(&files[1]);
    LIANA_TRY(status);
    if (!credentials->access_key) LIANA_TRY(liana__aws_metadata_find(arena, credentials, error));
    credentials->region_is_known = credentials->region != NULL;
    if (!credentials->region) credentials->region = "us-east-1";
    credentials->endpoint = without_slash(credentials->endpoint, arena);
    credentials->access_key = liana__arena_string(arena, credentials->access_key);
    credentials->secret_key = liana__arena_string(arena, credentials->secret_key);
    credentials->session_token = liana__arena_string(arena, credentials->session_token);
    credentials->region = liana__arena_string(arena, credentials->region);
    if (arena->failed) return liana__fail_memory(error, "credentials");
    return check_endpoint(credentials->endpoint, error);
}
