/* AWS Signature Version 4: the published examples. */
#include "harness/harness.h"

#include "remote/calls.h"
#include "remote/query.h"
#include "remote/sigv4.h"

#include <string.h>

static void check(const liana__sigv4_request *request, const liana__sigv4_key *key, const char *moment,
                  const char *signed_headers, const char *signature)
{
    liana__sigv4_time time;
    strcpy(time.text, moment);
    liana__text got = {0}, expected = {0};
    liana__sigv4_authorize(request, key, &time, &got);
    liana__text_add(&expected, "AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/aws4_request, SignedHeaders=%s, Signature=%s",
                    key->access_key, moment, key->region, key->service, signed_headers, signature);
    assert_string_equal(got.data, expected.data);
    liana__text_free(&got);
    liana__text_free(&expected);
}

/* The suite "aws-sig-v4-test-suite" that AWS published for authors of signers. */
static void test_the_published_suite(void **state)
{
    (void)state;
    static const liana__sigv4_key key = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1",
                                         "service"};
    static const char moment[] = "20150830T123600Z";
    static const liana__sigv4_header plain[] = {{"host", "example.amazonaws.com"}, {"x-amz-date", moment}};
    liana__sigv4_request request = {"GET", "/", "", plain, 2, LIANA__SHA256_EMPTY};
    check(&request, &key, moment, "host;x-amz-date",
          "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"); /* get-vanilla */
    request.query = "Param1=value1&Param2=value2";
    check(&request, &key, moment, "host;x-amz-date",
          "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"); /* get-vanilla-query-order-key-case */
    request.query = "";
    request.method = "POST";
    check(&request, &key, moment, "host;x-amz-date",
          "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"); /* post-vanilla */
    static const liana__sigv4_header spaced[] = {{"host", "example.amazonaws.com"},
                                                 {"my-header1", " value1"},
                                                 {"my-header2", " \"a   b   c\""},
                                                 {"x-amz-date", moment}};
    liana__sigv4_request trimmed = {"GET", "/", "", spaced, 4, LIANA__SHA256_EMPTY};
    check(&trimmed, &key, moment, "host;my-header1;my-header2;x-amz-date",
          "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"); /* get-header-value-trim */
}

/* The examples of "Authenticating Requests: Using the Authorization Header" in the API reference of S3. */
static void test_the_examples_of_s3(void **state)
{
    (void)state;
    static const liana__sigv4_key key = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                         "us-east-1", "s3"};
    static const char moment[] = "20130524T000000Z";
    static const liana__sigv4_header ranged[] = {{"host", "examplebucket.s3.amazonaws.com"},
                                                 {"range", "bytes=0-9"},
                                                 {"x-amz-content-sha256", LIANA__SHA256_EMPTY},
                                                 {"x-amz-date", moment}};
    liana__sigv4_request request = {"GET", "/test.txt", "", ranged, 4, LIANA__SHA256_EMPTY};
    check(&request, &key, moment, "host;range;x-amz-content-sha256;x-amz-date",
          "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    static const liana__sigv4_header plain[] = {{"host", "examplebucket.s3.amazonaws.com"},
                                                {"x-amz-content-sha256", LIANA__SHA256_EMPTY},
                                                {"x-amz-date", moment}};
    liana__sigv4_request listed = {"GET", "/", "max-keys=2&prefix=J", plain, 3, LIANA__SHA256_EMPTY};
    check(&listed, &key, moment, "host;x-amz-content-sha256;x-amz-date",
          "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
    liana__sigv4_request lifecycle = {"GET", "/", "lifecycle=", plain, 3, LIANA__SHA256_EMPTY};
    check(&lifecycle, &key, moment, "host;x-amz-content-sha256;x-amz-date",
          "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    static const char body[] = "Welcome to Amazon S3.";
    static const char hash[] = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    assert_string_equal(liana__sha256_of(body, strlen(body)).text, hash);
    assert_string_equal(liana__sha256_of(NULL, 0).text, LIANA__SHA256_EMPTY);
    static const liana__sigv4_header written[] = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                                                  {"host", "examplebucket.s3.amazonaws.com"},
                                                  {"x-amz-content-sha256", hash},
                                                  {"x-amz-date", moment},
                                                  {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
    liana__sigv4_request put = {"PUT", "/test%24file.text", "", written, 5, hash};
    check(&put, &key, moment, "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
          "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

static void test_names_are_encoded_once(void **state)
{
    (void)state;
    liana__text text = {0};
    liana__url_encode(&text, "a b/c+d~e_f.g-h/%\xc3\xa9", false);
    assert_string_equal(text.data, "a%20b/c%2Bd~e_f.g-h/%25%C3%A9");
    liana__text_free(&text);
    liana__url_encode(&text, "a/b", true);
    assert_string_equal(text.data, "a%2Fb");
    liana__text_free(&text);
    assert_string_equal(liana__sigv4_time_of(1440938160).text, "20150830T123600Z");
}

static void test_what_of_a_url_is_no_signature(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"https://h/p", "https://h/p"},
        {"https://h/p#part", "https://h/p"},
        {"https://h/p?a=1&b", "https://h/p?a=1&b"},
        {"https://h/p?X-Amz-Signature=x&x-amz-date=1", "https://h/p"},
        {"https://h/p?a=1&X-Goog-Expires=5&b=2#c", "https://h/p?a=1&b=2"},
        {"https://h/p?Expires=1&Signature=x&AWSAccessKeyId=y&versionId=3", "https://h/p?versionId=3"},
        {"https://h/p?se=1&sp=r&sv=2", "https://h/p?se=1&sp=r&sv=2"},
        {"https://h/p?se=1&comp=r&sig=2", "https://h/p?comp=r"},
        {"https://h/p?Policy=1&Key-Pair-Id=2&Signature=3", "https://h/p"},
        {"https://h/p?", "https://h/p?"},
        {"https://h/p?&&a", "https://h/p?&&a"},
        {"https://h/p?signatures=1", "https://h/p?signatures=1"},
    };
    liana__arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(liana__url_identity(&arena, cases[i][0]), cases[i][1]);
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
        cmocka_unit_test(test_the_published_suite),
        cmocka_unit_test(test_the_examples_of_s3),
        cmocka_unit_test(test_names_are_encoded_once),
        cmocka_unit_test(test_what_of_a_url_is_no_signature),
    };
    return cmocka_run_group_tests(tests, load_libraries, NULL);
}
