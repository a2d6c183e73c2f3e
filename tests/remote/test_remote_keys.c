/* Keys for S3 that servers near by give: containers' (ECS, EKS) and machines' (IMDSv2). */
#include "harness/remote_server.h"

#include "remote/aws_credentials.h"
#include "remote/calls.h"
#include "remote/remote.h"

#include <stdlib.h>

static const liana__remote_options quick = {.max_attempts = 2, .first_delay = 10, .stall_seconds = 300, .seed = 1};

/* The server wants the session token that comes with the keys. */
static int set_up(void **state)
{
    (void)state;
    liana__test_folder();
    setenv("TEST_SESSION_TOKEN", "of-the-session", 1);
    setenv("TEST_KEY_SECONDS", "3600", 1);
    liana__test_server_start();
    liana__test_server_environment();
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    unsetenv("AWS_EC2_METADATA_DISABLED");
    liana__test_serve("a", "1", 1);
    liana__test_serve("b", "2", 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    liana__test_server_stop();
    unsetenv("TEST_SESSION_TOKEN");
    return 0;
}

static liana_status read_both(liana__error *error)
{
    liana__remote *remote;
    liana__arena arena = {0};
    const char *path;
    assert_ok(liana__remote_create(&quick, &remote, error), error);
    liana_status status = liana__remote_file(remote, "s3://bucket/a", &arena, &path, error);
    if (status == LIANA_OK) status = liana__remote_file(remote, "s3://bucket/b", &arena, &path, error);
    liana__arena_free(&arena);
    liana__remote_destroy(remote);
    return status;
}

static void test_of_a_machine(void **state)
{
    (void)state;
    liana__error error = {0};
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", liana__test_server_url("/"), 1);
    /* A proxy is not for servers that are a step away. */
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("no_proxy", "", 1);
    liana__aws_credentials found;
    liana__arena arena = {0};
    assert_ok(liana__aws_credentials_find(&arena, &found, &error), &error);
    assert_int_equal(found.kind, LIANA__AWS_INSTANCE);
    liana__http http = {.asking = curl_multi_init(), .max_attempts = 2, .first_delay = 10, .stall_seconds = 300};
    time_t before = time(NULL);
    assert_ok(liana__aws_credentials_refresh(&http, "s3://x", &arena, &found, &error), &error);
    time_t after = time(NULL);
    assert_string_equal(found.access_key, LIANA__TEST_ACCESS_KEY);
    assert_string_equal(found.session_token, "of-the-session");
    assert_string_equal(found.region, "eu-north-1");
    assert_compare(found.expires, >=, before + 3600);
    assert_compare(found.expires, <=, after + 3600);
    curl_multi_cleanup(http.asking);
    liana__arena_free(&arena);
    unsetenv("http_proxy");
    unsetenv("no_proxy");

    liana__test_server_forget();
    setenv("AWS_REGION", "eu-west-1", 1);
    assert_ok(read_both(&error), &error);
    assert_int_equal(liana__test_server_requests("PUT /latest/api/token", NULL), 1);
    assert_int_equal(liana__test_server_requests("/placement/region", NULL), 0);
}

static void test_keys_that_are_about_to_end(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__test_server_stop();
    setenv("TEST_KEY_SECONDS", "100", 1);
    liana__test_server_start();
    setenv("AWS_ENDPOINT_URL", liana__test_server_url("/s3"), 1);
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", liana__test_server_url(""), 1);
    assert_ok(read_both(&error), &error);
    assert_compare(liana__test_server_requests("PUT /latest/api/token", NULL), >=, 2);
}

/* Then it is as without any keys. */
static void test_machines_without_a_role(void **state)
{
    (void)state;
    liana__error error = {0};
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", liana__test_server_url("/nothing"), 1);
    assert_fails(read_both(&error), LIANA_IO_ERROR, &error, "access to 's3://bucket/a' was denied",
                 "without credentials");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1", 1);
    assert_fails(read_both(&error), LIANA_IO_ERROR, &error, "without credentials");
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", liana__test_server_url(""), 1);
    setenv("AWS_EC2_METADATA_DISABLED", "TRUE", 1);
    liana__test_server_forget();
    assert_fails(read_both(&error), LIANA_IO_ERROR, &error, "without credentials");
    assert_int_equal(liana__test_server_requests("/latest/", NULL), 0);
}

static void test_of_a_container(void **state)
{
    (void)state;
    liana__error error = {0};
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", liana__test_server_url("/container/keys"), 1);
    assert_fails(read_both(&error), LIANA_IO_ERROR, &error, "'s3://bucket/a'", "no keys could be had",
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI", "HTTP 404");
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-secret", 1);
    assert_ok(read_both(&error), &error);
    /* The file goes before. */
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "another", 1);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", liana__test_write("token", "container-secret\n", 17), 1);
    assert_ok(read_both(&error), &error);
    setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", liana__test_path("none"), 1);
    assert_fails(read_both(&error), LIANA_NOT_FOUND, &error, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "none");
    /* An answer that holds no keys is not shown. */
    unsetenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    liana__test_serve("keys.json", "{\"AccessKeyId\": \"hidden\"}", 25);
    setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", liana__test_server_url("/web/keys.json"), 1);
    assert_fails(read_both(&error), LIANA_IO_ERROR, &error, "no AccessKeyId and SecretAccessKey");
    assert_never_says(error.message, "hidden");
}

static void test_who_is_asked(void **state)
{
    (void)state;
    static const char *const right[] = {"https://keys.example.com/x", "http://169.254.170.2/x",
                                        "http://169.254.170.23:80/v1/credentials", "http://localhost/x",
                                        "http://[fd00:ec2::23]/v1/credentials"};
    static const char *const wrong[] = {"http://keys.example.com/x", "http://169.254.170.24/x",
                                        "http://169.254.170.2.example.com/x", "ftp://localhost/x"};
    liana__arena arena = {0};
    liana__error error = {0};
    liana__aws_credentials found;
    for (size_t i = 0; i < 5; i++) {
        setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", right[i], 1);
        assert_ok(liana__aws_credentials_find(&arena, &found, &error), &error);
        assert_int_equal(found.kind, LIANA__AWS_CONTAINER);
        assert_string_equal(found.exchange, right[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", wrong[i], 1);
        assert_fails(liana__aws_credentials_find(&arena, &found, &error), LIANA_INVALID_CONFIG, &error, wrong[i],
                     "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    }
    setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1", 1);
    assert_ok(liana__aws_credentials_find(&arena, &found, &error), &error);
    assert_string_equal(found.exchange, "http://169.254.170.2/v2/credentials/1");
    /* Keys of the environment go before. */
    setenv("AWS_ACCESS_KEY_ID", "A", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "B", 1);
    assert_ok(liana__aws_credentials_find(&arena, &found, &error), &error);
    assert_int_equal(found.kind, LIANA__AWS_FIXED);
    liana__arena_free(&arena);
}

static int load_libraries(void **state)
{
    (void)state;
    liana__error error = {0};
    assert_ok(liana__remote_load(&error), &error);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_of_a_machine),
        TEST(test_keys_that_are_about_to_end),
        TEST(test_machines_without_a_role),
        TEST(test_of_a_container),
        TEST(test_who_is_asked),
#undef TEST
    };
    return cmocka_run_group_tests(tests, load_libraries, NULL);
}
