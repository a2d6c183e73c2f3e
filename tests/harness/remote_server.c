/* Starts servers for tests and ends them. */
#include "harness/remote_server.h"

#include "harness/peers.h"

#include "base/file.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t server;
static int port;
static int fault_number;
static const char *origin = "http://127.0.0.1";

pid_t liana__test_start(const char *const *words, FILE **output)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t process = fork();
    assert_compare(process, >=, 0);
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(ends[1], STDOUT_FILENO) < 0) _exit(127);
        close(ends[0]);
        close(ends[1]);
        execvp(words[0], (char *const *)words);
        _exit(127);
    }
    close(ends[1]);
    if (output) {
        *output = fdopen(ends[0], "r");
    } else {
        close(ends[0]);
    }
    return process;
}

void liana__test_stop(pid_t process)
{
    int status;
    if (process <= 0) return;
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
}

bool liana__test_make_certificate(void)
{
    static const char openssl[] = "/usr/bin/openssl";
    if (access(openssl, X_OK) != 0) return false;
    const char *words[] = {openssl,
                           "req",
                           "-x509",
                           "-newkey",
                           "ec",
                           "-pkeyopt",
                           "ec_paramgen_curve:prime256v1",
                           "-nodes",
                           "-days",
                           "2",
                           "-subj",
                           "/CN=localhost",
                           "-addext",
                           "subjectAltName=DNS:localhost",
                           "-keyout",
                           liana__test_path("key.pem"),
                           "-out",
                           liana__test_path("certificate.pem"),
                           NULL};
    liana__test_run_program(words);
    return true;
}

void liana__test_server_start(void)
{
    const char *python = "/usr/bin/python3";
    if (access(python, X_OK) != 0) {
        printf("skipped: no %s\n", python);
        skip();
    }
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path("served"), &error), &error);
    const char *words[] = {python,
                           LIANA_SOURCE_DIR "/tests/remote/server.py",
                           liana__test_path("served"),
                           liana__test_path("fault"),
                           liana__test_path("requests"),
                           NULL};
    FILE *output;
    server = liana__test_start(words, &output);
    assert_int_equal(fscanf(output, "%d", &port), 1);
    fclose(output);
}

void liana__test_server_stop(void)
{
    liana__test_stop(server);
    server = 0;
}

const char *liana__test_server_url(const char *path)
{
    static char urls[4][512];
    static int next;
    char *url = urls[next++ % 4];
    snprintf(url, sizeof urls[0], "%s:%d%s", origin, port, path);
    return url;
}

void liana__test_server_fault(const char *kind, int count)
{
    char text[64];
    int size = snprintf(text, sizeof text, "%d %s %d", ++fault_number, kind, count);
    liana__test_write("fault", text, (size_t)size);
}

size_t liana__test_server_requests(const char *text, const char *also)
{
    FILE *log = fopen(liana__test_path("requests"), "r");
    size_t count = 0;
    char line[2048];
    while (log && fgets(line, sizeof line, log)) count += strstr(line, text) && (!also || strstr(line, also));
    if (log) fclose(log);
    return count;
}

void liana__test_server_forget(void)
{
    remove(liana__test_path("requests"));
}

void liana__test_serve(const char *name, const void *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "served/%s", name);
    liana__arena arena = {0};
    liana__error error = {0};
    const char *folder = liana__path_folder(&arena, liana__test_path(path));
    assert_ok(liana__folder_make(folder, &error), &error);
    liana__arena_free(&arena);
    liana__test_write(path, bytes, size);
}

void liana__test_server_environment(void)
{
    static const char *const gone[] = {
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL_S3",
        "AWS_CONFIG_FILE",
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "CURL_CA_BUNDLE",
        "XDG_CACHE_HOME",
        "CLOUDSDK_AUTH_ACCESS_TOKEN",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "CLOUDSDK_CONFIG",
        "AWS_SHARED_CREDENTIALS_FILE",
        "GCE_METADATA_HOST",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    };
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) unsetenv(gone[i]);
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    setenv("HOME", liana__test_path("home"), 1);
    setenv("LIANA_CACHE", liana__test_path("cache"), 1);
    setenv("AWS_ENDPOINT_URL", liana__test_server_url("/s3"), 1);
    setenv("AWS_ACCESS_KEY_ID", LIANA__TEST_ACCESS_KEY, 1);
    setenv("AWS_SECRET_ACCESS_KEY", LIANA__TEST_SECRET_KEY, 1);
    setenv("STORAGE_EMULATOR_HOST", liana__test_server_url("") + strlen("http://"), 1);
    setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "token-given", 1);
}

void liana__test_serve_file(const char *name, const char *path)
{
    char *data;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 26, &data, &size, &error), &error);
    liana__test_serve(name, data, size);
    free(data);
}

int liana__test_server_set_up(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_server_start();
    liana__test_server_environment();
    return 0;
}

int liana__test_server_tear_down(void **state)
{
    (void)state;
    liana__test_server_stop();
    return 0;
}

int liana__test_server_set_up_https(void **state)
{
    (void)state;
    liana__test_folder();
    if (!liana__test_make_certificate()) {
        printf("skipped: no openssl\n");
        skip();
    }
    origin = "https://localhost";
    setenv("TEST_CERTIFICATE", liana__test_path("certificate.pem"), 1);
    setenv("TEST_CERTIFICATE_KEY", liana__test_path("key.pem"), 1);
    liana__test_server_start();
    liana__test_server_environment();
    setenv("SSL_CERT_FILE", liana__test_path("certificate.pem"), 1);
    return 0;
}
