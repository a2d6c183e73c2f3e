/* Answers of servers and contents of files of credentials: lists of objects, refusals, INI, Google's JSON. */
#include "harness/harness.h"

#include "remote/aws_credentials.h"
#include "remote/calls.h"
#include "remote/google_credentials.h"
#include "remote/listing.h"

#include <stdlib.h>
#include <string.h>

#define SPAN(text) text, strlen(text)

/* As in the API reference of ListObjectsV2, with everything that is allowed there: entities, other elements,
 * prefixes. */
static void test_a_list_of_s3(void **state)
{
    (void)state;
    static const char xml[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
        "  <Name>bucket</Name><Prefix/><KeyCount>3</KeyCount><MaxKeys>3</MaxKeys><IsTruncated>true</IsTruncated>\n"
        "  <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>\n"
        "  <Contents><Key>ExampleObject.txt</Key><LastModified>2013-09-17T18:07:53.000Z</LastModified>"
        "<ETag>&quot;599bab3ed2c697f1d26842727561fd94&quot;</ETag><Size>857</Size>"
        "<Owner><ID>x</ID></Owner></Contents>\n"
        "  <Contents><Size>9223372036854775807</Size><Key>a &amp; b/&lt;&#xe9;&gt;</Key>"
        "<ETag>\"9b2cf535f27731c974343645a3985328-8\"</ETag></Contents>\n"
        "  <Contents><Key>none</Key><Size>0</Size></Contents>\n"
        "  <CommonPrefixes><Prefix>photos/</Prefix></CommonPrefixes>\n"
        "</ListBucketResult>";
    liana__error error = {0};
    liana__arena arena = {0};
    liana__listing listing = {0};
    assert_ok(liana__listing_read_xml(SPAN(xml), &arena, &listing, &error), &error);
    assert_int_equal(listing.count, 3);
    assert_string_equal(listing.next, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
    assert_string_equal(listing.items[0].key, "ExampleObject.txt");
    assert_string_equal(listing.items[0].version, "\"599bab3ed2c697f1d26842727561fd94\"");
    assert_int_equal(listing.items[0].size, 857);
    assert_true(listing.items[0].has_md5);
    assert_int_equal(listing.items[0].md5[0], 0x59);
    assert_int_equal(listing.items[0].md5[15], 0x94);
    assert_string_equal(listing.items[1].key, "a & b/<\xc3\xa9>");
    assert_compare(listing.items[1].size, ==, INT64_MAX);
    assert_false(listing.items[1].has_md5);
    assert_string_equal(listing.items[2].version, "");
    /* The next page is added. */
    static const char rest[] = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>z</Key><Size>1</Size>"
                               "</Contents></ListBucketResult>";
    assert_ok(liana__listing_read_xml(SPAN(rest), &arena, &listing, &error), &error);
    assert_int_equal(listing.count, 4);
    assert_null(listing.next);
    liana__listing_free(&listing);
    liana__arena_free(&arena);
}

static void test_bad_lists_of_s3(void **state)
{
    (void)state;
    static const struct {
        const char *xml;
        const char *text;
    } cases[] = {
        {"", "no element found"},
        {"<ListBucketResult>", "no element found"},
        {"<html><body>Sign in</body></html>", "not a list of objects"},
        {"<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>", "no key or no size"},
        {"<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>", "no key or no size"},
        {"<ListBucketResult><Contents><Key>a</Key><Size>1e3</Size></Contents></ListBucketResult>", "no key or no size"},
        {"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "NextContinuationToken"},
        {"<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;\">]><ListBucketResult>&b;</ListBucketResult>",
         "document type"},
        {"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", "too deeply"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__error error = {0};
        liana__arena arena = {0};
        liana__listing listing = {0};
        assert_fails(liana__listing_read_xml(SPAN(cases[i].xml), &arena, &listing, &error), LIANA_INVALID_DATA, &error,
                     cases[i].text);
        liana__listing_free(&listing);
        liana__arena_free(&arena);
    }
}

/* As in the reference of GCS's JSON interface; the checksums are those of "hello world", from Python. */
static void test_a_list_of_gcs(void **state)
{
    (void)state;
    static const char json[] =
        "{\"kind\": \"storage#objects\", \"nextPageToken\": \"CgVh\", \"items\": [{\"name\": \"a/b \\u00e9\", "
        "\"size\": "
        "\"11\", \"generation\": \"1700000000000001\", \"md5Hash\": \"XrY7u+Ae7tCTyyK7j1rNww==\", \"crc32c\": "
        "\"yZRlqg==\"}, {\"name\": \"composed\", \"size\": \"0\", \"generation\": \"2\"}]}";
    liana__error error = {0};
    liana__arena arena = {0};
    liana__listing listing = {0};
    assert_ok(liana__listing_read_json(SPAN(json), &arena, &listing, &error), &error);
    assert_int_equal(listing.count, 2);
    assert_string_equal(listing.next, "CgVh");
    assert_string_equal(listing.items[0].key, "a/b \xc3\xa9");
    assert_string_equal(listing.items[0].version, "1700000000000001");
    assert_int_equal(listing.items[0].size, 11);
    assert_true(listing.items[0].has_crc32c);
    assert_int_equal(listing.items[0].crc32c, 0xc99465aa);
    assert_true(listing.items[0].has_md5);
    assert_int_equal(listing.items[0].md5[0], 0x5e);
    assert_int_equal(listing.items[0].md5[15], 0xc3);
    assert_false(listing.items[1].has_md5);
    assert_ok(liana__listing_read_json(SPAN("{}"), &arena, &listing, &error), &error);
    assert_int_equal(listing.count, 2);
    assert_null(listing.next);
    static const struct {
        const char *json;
        const char *text;
    } cases[] = {
        {"<html>", "the server's answer"},
        {"[]", "a list, expected a mapping"},
        {"{\"items\": 1}", "expected a list"},
        {"{\"items\": [1]}", "without name"},
        {"{\"items\": [{\"name\": \"a\", \"size\": 1, \"generation\": \"1\"}]}", "without name, generation or size"},
        {"{\"items\": [{\"name\": \"a\", \"size\": \"99999999999999999999\", \"generation\": \"1\"}]}", "size"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(liana__listing_read_json(SPAN(cases[i].json), &arena, &listing, &error), LIANA_INVALID_DATA,
                     &error, cases[i].text);
    }
    liana__listing_free(&listing);
    liana__arena_free(&arena);
}

static void test_what_refusals_say(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *text;
    } cases[] = {
        {"<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message><RequestId>1</"
         "RequestId></Error>",
         "AccessDenied: Access Denied"},
        {"{\"error\": {\"code\": 403, \"message\": \"robot does not have access.\"}}", "robot does not have access"},
        {"{\"error\": \"invalid_grant\", \"error_description\": \"Bad \\u001b[31mgrant\"}",
         "invalid_grant: Bad ?[31mgrant"},
        {"{\"error\": 5}", ""},
        {"{", ""},
        {"<html>", ""},
        {"<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>", ""},
        {"Forbidden", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(liana__listing_read_refusal(SPAN(cases[i].body)).text, cases[i].text);
    }
}

static void test_base64_and_etags(void **state)
{
    (void)state;
    uint8_t bytes[16];
    assert_true(liana__base64_decode("AQIDBA==", bytes, 4));
    assert_memory_equal(bytes, "\1\2\3\4", 4);
    assert_false(liana__base64_decode("AQIDBA==", bytes, 3));
    assert_false(liana__base64_decode("AQIDBA", bytes, 4));
    assert_false(liana__base64_decode("A!IDBA==", bytes, 4));
    assert_false(liana__base64_decode("", bytes, 0));
    assert_true(liana__etag_md5("5eb63bbbe01eeed093cb22bb8f5acdc3", bytes));
    assert_false(liana__etag_md5("\"5eb63bbbe01eeed093cb22bb8f5acdc3-2\"", bytes));
    assert_false(liana__etag_md5("W/\"5eb63bbbe01eeed093cb22bb8f5acdc3\"", bytes));
    assert_false(liana__etag_md5("\"", bytes));
    assert_false(liana__etag_md5("", bytes));
}

static void test_ini_files(void **state)
{
    (void)state;
    static const char text[] = "# comment = 1\n"
                               "before = x\n"
                               "[default]\r\n"
                               "aws_access_key_id = FIRST\r\n"
                               "AWS_SECRET_ACCESS_KEY=a=b/c+d==\n"
                               "  nested = no\n"
                               "; other = 1\n"
                               "[ profile work ]\n"
                               "region=eu-west-1\n"
                               "empty =\n"
                               "region = eu-west-2";
    liana__arena arena = {0};
    assert_string_equal(liana__ini_value(SPAN(text), "default", "aws_access_key_id", &arena), "FIRST");
    assert_string_equal(liana__ini_value(SPAN(text), "default", "aws_secret_access_key", &arena), "a=b/c+d==");
    assert_string_equal(liana__ini_value(SPAN(text), "profile work", "region", &arena), "eu-west-2");
    static const char *const missing[] = {"before", "nested", "other", "region", "# comment", "empty"};
    for (size_t i = 0; i < 6; i++) assert_null(liana__ini_value(SPAN(text), "default", missing[i], &arena));
    assert_null(liana__ini_value(SPAN(text), "profile work", "empty", &arena));
    assert_null(liana__ini_value(SPAN("[default"), "default", "a", &arena));
    assert_null(liana__ini_value(SPAN("["), "", "a", &arena));
    assert_null(liana__ini_value("[d]\na=b\0c", 9, "d", "a", &arena));
    liana__arena_free(&arena);
}

/* ---- where credentials are found ---- */

static void forget_environment(void)
{
    static const char *const names[] = {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_CONFIG_FILE",
        "STORAGE_EMULATOR_HOST",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GCE_METADATA_HOST",
        "CLOUDSDK_AUTH_ACCESS_TOKEN",
        "GOOGLE_OAUTH_ACCESS_TOKEN",
        "CLOUDSDK_CONFIG",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    setenv("HOME", liana__test_folder(), 1);
}

static void test_where_keys_of_aws_are_found(void **state)
{
    (void)state;
    forget_environment();
    liana__error error = {0};
    liana__arena arena = {0};
    liana__aws_credentials found;
    assert_ok(liana__aws_credentials_find(&arena, &found, &error), &error);
    assert_null(found.access_key);
    assert_null(found.endpoint);
    assert_string_equal(found.region, "us-east-1");

    static const char credentials[] = "[default]\naws_access_key_id=D\naws_secret_access_key=DS\n"
                                      "[work]\naws_access_key_id=W\naws_secret_access_key=WS\naws_session_token=WT\n"
                                      "[half]\naws_access_key_id=H\n";
    static const char config[] = "[default]\nregion=eu-south-1\n[profile work]\nregion = eu-west-3\n"
                                 "endpoint_url = https://minio.example/\n";
    setenv("AWS_SHARED_CREDENTIALS_FILE", liana__test_write("credentials", SPAN(credentials)), 1);
    setenv("AWS_CONFIG_FILE", liana__test_write("config", SPAN(config)), 1);
    assert_ok(liana__aws_credentials_find(&arena, &found, &error), &error);
    assert_string_equal(found.access_key, "D");
    assert_string_equal(found.secret_key, "DS");
    assert_string_equal(found.region, "eu-south-1");
    setenv("AWS_PROFILE", "work", 1);
    assert_ok(liana__aws_credentials_find(&arena, &found, &error), &error);
    assert_string_equal(found.access_key, "W");
    assert_string_equal(found.session_token, "WT");
    assert_string_equal(found.region, "eu-west-3");
    assert_string_equal(found.endpoint, "https://minio.example");
    assert_says(found.origin, "'work'");
    setenv("AWS_PROFILE", "half", 1);
    assert_fails(liana__aws_credentials_find(&arena, &found, &error), LIANA_INVALID_CONFIG, &error, "'half'",
                 "no aws_secret_access_key");
    setenv("AWS_PROFILE", "none", 1);
    assert_fails(liana__aws_credentials_find(&arena, &found, &error), LIANA_INVALID_CONFIG, &error, "'none'",
                 "no such profile");
    /* The environment comes first. */
    setenv("AWS_ACCESS_KEY_ID", "E", 1);
    assert_fails(liana__aws_credentials_find(&arena, &found, &error), LIANA_INVALID_CONFIG, &error,
                 "AWS_SECRET_ACCESS_KEY is not");
    setenv("AWS_SECRET_ACCESS_KEY", "ES", 1);
    setenv("AWS_DEFAULT_REGION", "ap-east-1", 1);
    setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000", 1);
    assert_ok(liana__aws_credentials_find(&arena, &found, &error), &error);
    assert_string_equal(found.access_key, "E");
    assert_string_equal(found.region, "ap-east-1");
    assert_string_equal(found.endpoint, "http://127.0.0.1:9000");
    assert_null(found.session_token);
    setenv("AWS_ENDPOINT_URL_S3", "127.0.0.1:9000", 1);
    assert_fails(liana__aws_credentials_find(&arena, &found, &error), LIANA_INVALID_CONFIG, &error, "expected a URL");
    liana__arena_free(&arena);
}

static void test_where_credentials_of_google_are_found(void **state)
{
    (void)state;
    forget_environment();
    liana__error error = {0};
    liana__arena arena = {0};
    liana__google_credentials found;
    setenv("STORAGE_EMULATOR_HOST", "localhost:4443", 1);
    assert_ok(liana__google_credentials_find(&arena, &found, &error), &error);
    assert_int_equal(found.kind, LIANA__GOOGLE_ANONYMOUS);
    assert_string_equal(found.endpoint, "http://localhost:4443");
    unsetenv("STORAGE_EMULATOR_HOST");
    static const char user[] = "{\"type\": \"authorized_user\", \"client_id\": \"c\", \"client_secret\": \"s\", "
                               "\"refresh_token\": \"r\"}";
    static const char robot[] =
        "{\"type\": \"service_account\", \"client_email\": \"e\", \"private_key\": \"k\", \"token_uri\": \"u\"}";
    setenv("CLOUDSDK_CONFIG", liana__test_path("."), 1);
    liana__test_write("application_default_credentials.json", SPAN(user));
    assert_ok(liana__google_credentials_find(&arena, &found, &error), &error);
    assert_int_equal(found.kind, LIANA__GOOGLE_USER);
    assert_string_equal(found.refresh, "r");
    assert_string_equal(found.endpoint, "https://storage.googleapis.com");
    setenv("GOOGLE_APPLICATION_CREDENTIALS", liana__test_write("robot.json", SPAN(robot)), 1);
    assert_ok(liana__google_credentials_find(&arena, &found, &error), &error);
    assert_int_equal(found.kind, LIANA__GOOGLE_SERVICE);
    assert_string_equal(found.exchange, "u");
    setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "t", 1);
    assert_ok(liana__google_credentials_find(&arena, &found, &error), &error);
    assert_int_equal(found.kind, LIANA__GOOGLE_TOKEN);
    unsetenv("GOOGLE_OAUTH_ACCESS_TOKEN");
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"hunter2", "not a JSON mapping"},
        {"{\"type\": \"external_account\"}", "a type other than"},
        {"{\"type\": \"service_account\", \"private_key\": \"hunter2\"}", "client_email"},
        {"{\"type\": \"authorized_user\", \"client_secret\": \"hunter2\"}", "gcloud"},
        {"{\"type\": hunter2}", "not a JSON mapping"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__test_write("robot.json", SPAN(cases[i].text));
        assert_fails(liana__google_credentials_find(&arena, &found, &error), LIANA_INVALID_CONFIG, &error, "robot.json",
                     cases[i].says);
        assert_never_says(error.message, "hunter2");
    }
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
        cmocka_unit_test(test_a_list_of_s3),
        cmocka_unit_test(test_bad_lists_of_s3),
        cmocka_unit_test(test_a_list_of_gcs),
        cmocka_unit_test(test_what_refusals_say),
        cmocka_unit_test(test_base64_and_etags),
        cmocka_unit_test(test_ini_files),
        cmocka_unit_test(test_where_keys_of_aws_are_found),
        cmocka_unit_test(test_where_credentials_of_google_are_found),
    };
    return cmocka_run_group_tests(tests, load_libraries, NULL);
}
