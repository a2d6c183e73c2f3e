/* https:// from nginx on this machine, with a certificate made for the test; and Google's tokens. */
#include "harness/cluster/cluster_run.h"
#include "harness/peers.h"
#include "harness/remote_server.h"
#include "harness/wait_until.h"

#include "base/file.h"
#include "remote/remote.h"
#include "remote/store.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const liana__remote_options quick = {
    .piece_size = 1000, .connections = 4, .max_attempts = 2, .first_delay = 10, .stall_seconds = 300, .seed = 1};

static pid_t nginx;
static int port;

static liana_status try_read(const char *name, char **data, size_t *size, liana__error *error)
{
    return liana__remote_read(name, &quick, 1 << 20, data, size, error);
}

static void assert_read(const char *name, const char *bytes, size_t size)
{
    liana__error error = {0};
    char *data;
    size_t found;
    assert_ok(try_read(name, &data, &found, &error), &error);
    assert_int_equal(found, size);
    assert_memory_equal(data, bytes, size);
    free(data);
}

#define run_program(...) liana__test_run_program((const char *const[]){__VA_ARGS__, NULL})

/* ---- nginx ---- */

static void write_configuration(void)
{
    char text[4096];
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("."));
    int size =
        snprintf(text, sizeof text,
                 "daemon off; master_process off; pid %s/pid; error_log %s/error.log;\n"
                 "events {}\n"
                 "http {\n"
                 "  access_log %s/access.log;\n"
                 "  client_body_temp_path %s/t1; proxy_temp_path %s/t2; fastcgi_temp_path %s/t3;\n"
                 "  uwsgi_temp_path %s/t4; scgi_temp_path %s/t5;\n"
                 "  server {\n"
                 "    listen 127.0.0.1:%d ssl; server_name localhost; root %s/www;\n"
                 "    ssl_certificate %s/certificate.pem; ssl_certificate_key %s/key.pem;\n"
                 "    location /moved/ { return 302 /; }\n"
                 "    location = /onwards { return 302 /file; }\n"
                 "    location = /away { return 302 http://127.0.0.1:1/file; }\n"
                 "    location /denied { return 403; }\n"
                 "    location /plain { max_ranges 0; etag off; }\n"
                 "    location /locked { auth_basic x; auth_basic_user_file %s/users; }\n"
                 "  }\n"
                 "}\n",
                 folder, folder, folder, folder, folder, folder, folder, folder, port, folder, folder, folder, folder);
    assert_compare(size, >, 0);
    assert_compare((size_t)size, <, sizeof text);
    liana__test_write("nginx.conf", text, (size_t)size);
}

static bool listens_or_has_ended(const struct sockaddr_in *address, bool *has_ended)
{
    *has_ended = waitpid(nginx, NULL, WNOHANG) != 0;
    if (*has_ended) return true;
    int client = socket(AF_INET, SOCK_STREAM, 0);
    bool open = connect(client, (const struct sockaddr *)address, sizeof *address) == 0;
    close(client);
    return open;
}

static void wait_for_nginx(void)
{
    bool has_ended = false;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    wait_until(listens_or_has_ended(&address, &has_ended));
    if (!has_ended) return;
    nginx = 0;
    fail_msg("nginx has ended");
}

static int start_nginx(void **state)
{
    (void)state;
    if (access("/usr/sbin/nginx", X_OK) != 0 || access("/usr/bin/openssl", X_OK) != 0) return 0;
    liana__test_folder();
    liana__test_server_environment();
    port = liana__test_free_port();
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path("www"), &error), &error);
    assert_true(liana__test_make_certificate());
    write_configuration();
    const char *words[] = {"/usr/sbin/nginx", "-c", liana__test_path("nginx.conf"), NULL};
    nginx = liana__test_start(words, NULL);
    wait_for_nginx();
    setenv("SSL_CERT_FILE", liana__test_path("certificate.pem"), 1);
    return 0;
}

static int stop_nginx(void **state)
{
    (void)state;
    liana__test_stop(nginx);
    nginx = 0;
    return 0;
}

static const char *https(const char *path)
{
    static char urls[4][256];
    static int next;
    char *url = urls[next++ % 4];
    snprintf(url, sizeof urls[0], "https://localhost:%d%s", port, path);
    return url;
}

static void need_nginx(void)
{
    if (nginx) return;
    liana__test_skip("no nginx or openssl (scripts/install-packages.sh --tests)");
}

enum { LARGE = 10500 };

static void write_served(char *bytes, unsigned seed)
{
    for (size_t i = 0; i < LARGE; i++) bytes[i] = (char)((i * 2654435761u + seed) >> 11);
    liana__test_write("www/file", bytes, LARGE);
    liana__test_write("www/plain", bytes, LARGE);
}

static void test_files_of_a_web_server(void **state)
{
    (void)state;
    need_nginx();
    char bytes[LARGE];
    write_served(bytes, 1);
    liana__test_write("www/empty", "", 0);
    liana__test_write("www/a b", "1", 1);
    assert_read(https("/file"), bytes, LARGE);
    assert_read(https("/file?token=hidden"), bytes, LARGE);
    assert_read(https("/onwards"), bytes, LARGE);
    assert_read(https("/plain"), bytes, LARGE);
    assert_read(https("/empty"), "", 0);
    assert_read(https("/a%20b"), "1", 1);
    liana__error error = {0};
    char *data;
    size_t size;
    assert_fails(try_read(https("/none"), &data, &size, &error), LIANA_NOT_FOUND, &error, "/none'", "404");
    assert_fails(try_read(https("/denied"), &data, &size, &error), LIANA_IO_ERROR, &error, "access to", "403",
                 "~/.netrc");
    assert_fails(try_read(https("/away"), &data, &size, &error), LIANA_IO_ERROR, &error, "not https");
    assert_fails(try_read(https("/none?signature=hidden"), &data, &size, &error), LIANA_NOT_FOUND, &error, "/none'");
    assert_never_says(error.message, "hidden");
    assert_fails(try_read(https("/none?key=hidden"), &data, &size, &error), LIANA_NOT_FOUND, &error, "/none?");
    assert_never_says(error.message, "hidden");
    /* A new file is another one, also of the same length. */
    sleep(1);
    write_served(bytes, 2);
    assert_read(https("/file"), bytes, LARGE);
    assert_read(https("/plain"), bytes, LARGE);
}

static void test_certificates_count(void **state)
{
    (void)state;
    need_nginx();
    char bytes[LARGE];
    write_served(bytes, 1);
    liana__error error = {0};
    char *data;
    size_t size;
    unsetenv("SSL_CERT_FILE");
    assert_fails(try_read(https("/file"), &data, &size, &error), LIANA_IO_ERROR, &error, "is not trusted",
                 "SSL_CERT_FILE");
    setenv("CURL_CA_BUNDLE", liana__test_path("certificate.pem"), 1);
    assert_read(https("/file"), bytes, LARGE);
    char other[64];
    snprintf(other, sizeof other, "https://127.0.0.1:%d/file", port);
    assert_fails(try_read(other, &data, &size, &error), LIANA_IO_ERROR, &error, "is not trusted", "127.0.0.1");
    setenv("CURL_CA_BUNDLE", liana__test_path("none.pem"), 1);
    assert_fails(try_read(https("/file"), &data, &size, &error), LIANA_IO_ERROR, &error, "none.pem");
}

static void test_passwords_of_netrc(void **state)
{
    (void)state;
    need_nginx();
    liana__test_write("www/locked", "secret", 6);
    liana__test_write("users", "me:{PLAIN}word\n", 15);
    liana__error error = {0};
    char *data;
    size_t size;
    assert_fails(try_read(https("/locked"), &data, &size, &error), LIANA_IO_ERROR, &error, "401", "~/.netrc");
    assert_ok(liana__folder_make(liana__test_path("home"), &error), &error);
    liana__test_write("home/.netrc", "machine localhost login me password word\n", 41);
    assert_read(https("/locked"), "secret", 6);
}

/* ---- identities ---- */

static int start_server(void **state)
{
    (void)state;
    liana__test_folder();
    if (access("/usr/bin/openssl", X_OK) == 0) {
        run_program("/usr/bin/openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048",
                    "-out", liana__test_path("robot.pem"));
        const char *words[] = {
            "/usr/bin/openssl", "rsa", "-noout", "-modulus", "-in", liana__test_path("robot.pem"), NULL};
        FILE *output;
        char modulus[1024];
        pid_t process = liana__test_start(words, &output);
        assert_int_equal(fscanf(output, "Modulus=%1000s", modulus), 1);
        fclose(output);
        liana__test_stop(process);
        setenv("TEST_RSA_MODULUS", modulus, 1);
    }
    setenv("TEST_SESSION_TOKEN", "session/token+1==", 1);
    liana__test_server_start();
    liana__test_server_environment();
    setenv("AWS_SESSION_TOKEN", "session/token+1==", 1);
    unsetenv("GOOGLE_OAUTH_ACCESS_TOKEN");
    liana__test_serve("file", "12345", 5);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    liana__test_server_stop();
    return 0;
}

/* A file of credentials with the key in one line of JSON. */
static void write_robot(const char *key_file)
{
    char *key;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(key_file, 1 << 16, &key, &size, &error), &error);
    char *text;
    size_t length;
    FILE *memory = open_memstream(&text, &length);
    fprintf(memory,
            "{\"type\": \"service_account\", \"private_key_id\": \"k1\", \"client_email\": \"robot@project.iam\", "
            "\"token_uri\": \"%s\", \"private_key\": \"",
            liana__test_server_url("/token"));
    for (size_t i = 0; i < size; i++) {
        if (key[i] == '\n') fputs("\\n", memory);
        if (key[i] != '\n') fputc(key[i], memory);
    }
    fputs("\"}", memory);
    fclose(memory);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", liana__test_write("robot.json", text, length), 1);
    free(key);
    free(text);
}

static void test_a_service_account(void **state)
{
    (void)state;
    if (access(liana__test_path("robot.pem"), R_OK) != 0) liana__test_skip("no openssl");
    liana__error error = {0};
    char *data;
    size_t size;
    write_robot(liana__test_path("robot.pem"));
    assert_read("gs://bucket/file", "12345", 5);
    /* A reader has a token for reading; a writer asks for one that may write. */
    assert_ok(liana__store_replace("gs://bucket/written", "67", 2, &error), &error);
    assert_read("gs://bucket/written", "67", 2);
    /* Another key: refused, and the message shows nothing of it. */
    run_program("/usr/bin/openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048",
                "-out", liana__test_path("other.pem"));
    write_robot(liana__test_path("other.pem"));
    assert_fails(try_read("gs://bucket/file", &data, &size, &error), LIANA_IO_ERROR, &error, "gave no token",
                 "robot.json", "invalid_grant: Bad grant");
    write_robot(liana__test_write("none.pem", "hunter2\n", 8));
    assert_fails(try_read("gs://bucket/file", &data, &size, &error), LIANA_INVALID_CONFIG, &error, "robot.json",
                 "not an RSA key");
    assert_never_says(error.message, "hunter2");
}

static void test_a_user_and_a_machine(void **state)
{
    (void)state;
    liana__error error = {0};
    char *data;
    size_t size;
    assert_fails(try_read("gs://bucket/file", &data, &size, &error), LIANA_IO_ERROR, &error, "denied", "401",
                 "without credentials", "GOOGLE_APPLICATION_CREDENTIALS");
    char text[512];
    int length = snprintf(text, sizeof text,
                          "{\"type\": \"authorized_user\", \"client_id\": \"client&1\", \"client_secret\": "
                          "\"secret=2\", \"refresh_token\": \"1//refresh\", \"token_uri\": \"%s\"}",
                          liana__test_server_url("/token"));
    setenv("GOOGLE_APPLICATION_CREDENTIALS", liana__test_write("user.json", text, (size_t)length), 1);
    assert_read("gs://bucket/file", "12345", 5);
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    setenv("GCE_METADATA_HOST", liana__test_server_url("") + strlen("http://"), 1);
    assert_read("gs://bucket/file", "12345", 5);
    unsetenv("GCE_METADATA_HOST");
    setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "hunter2", 1);
    assert_fails(try_read("gs://bucket/file", &data, &size, &error), LIANA_IO_ERROR, &error, "denied",
                 "GOOGLE_OAUTH_ACCESS_TOKEN", "expired");
    assert_never_says(error.message, "hunter2");
}

static void test_keys_of_aws(void **state)
{
    (void)state;
    liana__error error = {0};
    char *data;
    size_t size;
    assert_read("s3://bucket/file", "12345", 5);
    setenv("AWS_SECRET_ACCESS_KEY", "hunter2", 1);
    assert_fails(try_read("s3://bucket/file", &data, &size, &error), LIANA_IO_ERROR, &error, "denied", "403",
                 "the access key AKIA... from AWS_ACCESS_KEY_ID", "us-east-1");
    assert_never_says(error.message, "hunter2");
    assert_never_says(error.message, LIANA__TEST_ACCESS_KEY);
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    assert_fails(try_read("s3://bucket/file", &data, &size, &error), LIANA_IO_ERROR, &error, "without credentials",
                 "AWS_PROFILE");
    char text[512];
    int length = snprintf(text, sizeof text,
                          "[work]\naws_access_key_id = %s\naws_secret_access_key = %s\naws_session_token = %s\n",
                          LIANA__TEST_ACCESS_KEY, LIANA__TEST_SECRET_KEY, "session/token+1==");
    setenv("AWS_SHARED_CREDENTIALS_FILE", liana__test_write("credentials", text, (size_t)length), 1);
    setenv("AWS_PROFILE", "work", 1);
    setenv("AWS_REGION", "eu-west-1", 1);
    assert_read("s3://bucket/file", "12345", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define NGINX(name) cmocka_unit_test_setup_teardown(name, start_nginx, stop_nginx)
#define SERVER(name) cmocka_unit_test_setup_teardown(name, start_server, stop_server)
        NGINX(test_files_of_a_web_server), NGINX(test_certificates_count),    NGINX(test_passwords_of_netrc),
        SERVER(test_a_service_account),    SERVER(test_a_user_and_a_machine), SERVER(test_keys_of_aws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
