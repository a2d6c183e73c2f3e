/* AWS credentials from a local metadata server, valid for some hours.
 *
 * Containers: docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html. Machines: IMDSv2, with a
 * session token first, docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html. */
#include "base/file.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "remote/aws_credentials.h"
#include "remote/calls.h"
#include "remote/credentials.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* MARGIN, in seconds: ignore credentials that are about to expire. */
enum { MARGIN = 300, MAX_TOKEN = 1 << 16 };

#define CONTAINER_HOST "http://169.254.170.2"
#define METADATA_HOST "http://169.254.169.254"
#define ROLES "/latest/meta-data/iam/security-credentials/"

/* ---- where ---- */

static bool machine_is_amazons(void)
{
    return liana__machine_says("/sys/class/dmi/id/sys_vendor", "Amazon EC2") ||
           liana__machine_says("/sys/hypervisor/uuid", "ec2");
}

/* https, this machine, or the addresses that ECS and EKS give their own servers. */
static bool may_be_asked(const char *url)
{
    static const char *const hosts[] = {"http://169.254.170.2", "http://169.254.170.23", "http://[fd00:ec2::23]"};
    if (liana__url_is_private(url)) return true;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        size_t length = strlen(hosts[i]);
        if (strncasecmp(url, hosts[i], length) == 0 && strchr(":/", url[length])) return true;
    }
    return false;
}

liana_status liana__aws_metadata_find(liana__arena *arena, liana__aws_credentials *credentials, liana__error *error)
{
    const char *relative = liana__credentials_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = liana__credentials_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *metadata = liana__credentials_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *disabled = liana__credentials_variable("AWS_EC2_METADATA_DISABLED");
    if (relative) {
        const char *slash = *relative == '/' ? "" : "/";
        credentials->kind = LIANA__AWS_CONTAINER;
        credentials->exchange = liana__arena_format(arena, CONTAINER_HOST "%s%s", slash, relative);
        credentials->origin = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
    } else if (full) {
        if (!may_be_asked(full)) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "AWS_CONTAINER_CREDENTIALS_FULL_URI is '%s', expected https://, or http:// on this "
                               "machine or on the servers of ECS and EKS (169.254.170.2, 169.254.170.23)",
                               full);
        }
        credentials->kind = LIANA__AWS_CONTAINER;
        credentials->exchange = liana__arena_string(arena, full);
        credentials->origin = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    } else if (!(disabled && strcasecmp(disabled, "true") == 0) && (metadata || machine_is_amazons())) {
        size_t length = metadata ? strlen(metadata) : 0;
        while (length && metadata[length - 1] == '/') length--;
        credentials->kind = LIANA__AWS_INSTANCE;
        credentials->exchange = metadata ? liana__arena_format(arena, "%.*s", (int)length, metadata) : METADATA_HOST;
        credentials->origin = "the machine's metadata server";
    }
    return arena->failed ? liana__fail_memory(error, "credentials") : LIANA_OK;
}

/* ---- answers ---- */

/* "2026-11-21T08:00:00Z"; 0 for another text. */
static time_t read_time(const char *text)
{
    struct tm parts = {0};
    int end = 0;
    int count = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &parts.tm_hour,
                       &parts.tm_min, &parts.tm_sec, &end);
    if (count != 6 || parts.tm_year < 1970) return 0;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    time_t found = timegm(&parts);
    return found > 0 ? found : 0;
}

liana_status liana__aws_credentials_read(const char *text, size_t size, liana__arena *arena,
                                         liana__aws_credentials *credentials, liana__error *error)
{
    liana__value *root;
    /* The JSON reader's message may quote the keys, so it is not shown. */
    liana_status status = liana__json_parse(text, size, "credentials", arena, &root, NULL);
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(error, "credentials");
    bool map = status == LIANA_OK && root->kind == LIANA__VALUE_MAP;
    const char *access = map ? liana__credentials_text(root, "AccessKeyId") : NULL;
    const char *secret = map ? liana__credentials_text(root, "SecretAccessKey") : NULL;
    if (!access || !secret) {
        return liana__fail(error, LIANA_INVALID_DATA, "the answer has no AccessKeyId and SecretAccessKey");
    }
    const char *expiration = liana__credentials_text(root, "Expiration");
    credentials->access_key = access;
    credentials->secret_key = secret;
    credentials->session_token = liana__credentials_text(root, "Token");
    /* One without a date is asked again when its time may be over. */
    credentials->expires = expiration ? read_time(expiration) : 0;
    if (!credentials->expires) credentials->expires = time(NULL) + 2 * MARGIN;
    return LIANA_OK;
}

/* ---- asking ---- */

/* The body of an answer, without white space around it; "" for any other status than 200, which *status says. */
typedef struct answer {
    long status;
    liana__text body;
} answer;

static liana_status ask(liana__http *http, const char *name, const char *method, const char *url, const char *header,
                        const char *value, answer *got, liana__error *error)
{
    LIANA__SCOPED(liana__http_request) request = {.method = method, .local = true};
    LIANA__SCOPED(liana__http_response) response = {0};
    liana__text_add(&request.url, "%s", url);
    if (header) liana__http_request_header(&request, header, value);
    liana_status status = liana__http_send(http, name, &request, &response, error);
    got->status = response.status;
    got->body = response.body;
    response.body = (liana__text){0};
    return status;
}

static void answer_free(answer *got)
{
    if (got->body.data) OPENSSL_cleanse(got->body.data, got->body.length);
    liana__text_free(&got->body);
}

static liana_status take_keys(const answer *got, const char *name, liana__arena *arena,
                              liana__aws_credentials *credentials, liana__error *error)
{
    liana__error own = {0};
    if (got->status == 200) {
        const char *body = got->body.data ? got->body.data : "";
        liana_status status = liana__aws_credentials_read(body, got->body.length, arena, credentials, &own);
        if (status == LIANA_OK) return LIANA_OK;
    } else {
        liana__fail(&own, LIANA_IO_ERROR, "HTTP %ld", got->status);
    }
    return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': no keys could be had from %s: %s", name,
                       credentials->origin, own.message);
}

/* The authorization: from the file, which is renewed, or given directly. */
static liana_status find_authorization(char **text, liana__error *error)
{
    const char *file = liana__credentials_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *token = liana__credentials_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    size_t size;
    *text = NULL;
    if (file) {
        liana_status status = liana__file_read(file, MAX_TOKEN, text, &size, error);
        return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    }
    if (!token) return LIANA_OK;
    *text = strdup(token);
    return *text ? LIANA_OK : liana__fail_memory(error, "credentials");
}

static liana_status ask_container(liana__http *http, const char *name, liana__arena *arena,
                                  liana__aws_credentials *credentials, liana__error *error)
{
    char *token;
    LIANA__SCOPED(answer) got = {0};
    LIANA_TRY(find_authorization(&token, error));
    liana_status status =
        ask(http, name, NULL, credentials->exchange, token ? "Authorization" : NULL, token ? token : "", &got, error);
    if (token) OPENSSL_cleanse(token, strlen(token));
    free(token);
    return status == LIANA_OK ? take_keys(&got, name, arena, credentials, error) : status;
}

static liana_status ask_with_token(liana__http *http, const char *name, const char *url, const char *token, answer *got,
                                   liana__error *error)
{
    return ask(http, name, NULL, url, token ? "X-aws-ec2-metadata-token" : NULL, token ? token : "", got, error);
}

/* One line of the metadata server, in the arena; NULL where it has none. */
static liana_status ask_line(liana__http *http, const char *name, const char *url, const char *token,
                             liana__arena *arena, const char **line, liana__error *error)
{
    LIANA__SCOPED(answer) got = {0};
    *line = NULL;
    LIANA_TRY(ask_with_token(http, name, url, token, &got, error));
    size_t length = got.body.data ? strcspn(got.body.data, "\r\n") : 0;
    if (got.status == 200 && length) *line = liana__arena_format(arena, "%.*s", (int)length, got.body.data);
    return LIANA_OK;
}

static liana_status take_role(liana__http *http, const char *name, const char *token, liana__arena *arena,
                              liana__aws_credentials *credentials, liana__error *error)
{
    const char *role, *region = NULL, *base = credentials->exchange;
    const char *roles = liana__arena_format(arena, "%s" ROLES, base);
    const char *place = liana__arena_format(arena, "%s/latest/meta-data/placement/region", base);
    if (arena->failed) return liana__fail_memory(error, "credentials");
    LIANA_TRY(ask_line(http, name, roles, token, arena, &role, error));
    if (!credentials->region_is_known) LIANA_TRY(ask_line(http, name, place, token, arena, &region, error));
    if (region) credentials->region = region;
    credentials->region_is_known = true;
    if (!role) return LIANA_OK;
    const char *keys = liana__arena_format(arena, "%s%s", roles, role);
    if (arena->failed) return liana__fail_memory(error, "credentials");
    LIANA__SCOPED(answer) got = {0};
    LIANA_TRY(ask_with_token(http, name, keys, token, &got, error));
    return take_keys(&got, name, arena, credentials, error);
}

static liana_status ask_instance(liana__http *http, const char *name, liana__arena *arena,
                                 liana__aws_credentials *credentials, liana__error *error)
{
    LIANA__SCOPED(answer) got = {0};
    const char *url = liana__arena_format(arena, "%s/latest/api/token", credentials->exchange);
    if (!url) return liana__fail_memory(error, "credentials");
    liana_status status = ask(http, name, "PUT", url, "X-aws-ec2-metadata-token-ttl-seconds", "21600", &got, NULL);
    /* Nobody there: no machine of Amazon's, or a container that may not ask. */
    bool silent = status == LIANA_IO_ERROR || got.status != 200 || !got.body.data;
    if (!silent) return take_role(http, name, got.body.data, arena, credentials, error);
    if (credentials->access_key) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': %s does not answer any more", name,
                           credentials->origin);
    }
    credentials->kind = LIANA__AWS_FIXED;
    return LIANA_OK;
}

liana_status liana__aws_credentials_refresh(liana__http *http, const char *name, liana__arena *arena,
                                            liana__aws_credentials *credentials, liana__error *error)
{
    if (credentials->kind == LIANA__AWS_FIXED) return LIANA_OK;
    if (credentials->access_key && time(NULL) + MARGIN < credentials->expires) return LIANA_OK;
    liana_status status = credentials->kind == LIANA__AWS_CONTAINER
                              ? ask_container(http, name, arena, credentials, error)
                              : ask_instance(http, name, arena, credentials, error);
    /* A machine without a role need not be asked again for each file. */
    if (status == LIANA_OK && !credentials->access_key) credentials->kind = LIANA__AWS_FIXED;
    return status;
}
