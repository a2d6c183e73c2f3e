/* Names of files that hold control characters, and links that lead nowhere: a terminal shows names as text, in one line
 * each, and messages name links as such. */
#include "harness/command_run.h"

#include "base/error.h"
#include "base/file.h"
#include "base/format.h"
#include "step/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the rule ---- */

static void assert_shown(const char *text, size_t size, const char *expected)
{
    char shown[64];
    assert_compare(strlen(text), <, sizeof shown);
    assert_compare(size, <=, sizeof shown);
    strcpy(shown, text);
    liana__escape_controls(shown, size);
    assert_string_equal(shown, expected);
}

static void test_control_characters_are_shown(void **state)
{
    (void)state;
    assert_shown("a\x1b[31mb", 64, "a\\x1b[31mb");
    assert_shown("one\ntwo\r", 64, "one\\ntwo\\r");
    assert_shown("\x7f\x01", 64, "\\x7f\\x01");
    assert_shown("\xc2\x9b[2J", 64, "\\x9b[2J"); /* U+009B is what ESC [ is */
    assert_shown("tab\there, \xc3\xa9, \xe2\x82\xac, \xc2\xa0", 64, "tab\there, \xc3\xa9, \xe2\x82\xac, \xc2\xa0");
    assert_shown("\\n", 64, "\\n"); /* done twice is done once */
    assert_shown("", 64, "");
    assert_shown("\xff\xd8\xff JFIF \xe2\x82", 64, "??? JFIF ??"); /* no text */
    /* What turns the direction of the text is shown; letters that are written from right to left are text. */
    assert_shown("a\xe2\x80\xae"
                 "b\xe2\x81\xa6",
                 64,
                 "a\\u202e"
                 "b\\u2066");
    assert_shown("\xd7\xa9\xd7\x9c", 64, "\xd7\xa9\xd7\x9c");
    /* Text that does not fit is cut off, and never within an escape. */
    assert_shown("ab\x1b", 6, "ab");
    assert_shown("ab\x1b", 7, "ab\\x1b");
    assert_shown("\nabcdef", 7, "\\nabcd");
}

static void keep(void *user, const char *note)
{
    snprintf(user, 200, "%s", note);
}

static void test_messages_and_notes(void **state)
{
    (void)state;
    liana__error error = {0};
    char note[200] = "";
    liana__fail(&error, LIANA_INVALID_DATA, "'%s' is bad", "x\nliana: all is well\x1b[2K");
    assert_string_equal(error.message, "'x\\nliana: all is well\\x1b[2K' is bad");
    liana__fail_within(&error, "in '%s'", "\r");
    assert_string_equal(error.message, "in '\\r': 'x\\nliana: all is well\\x1b[2K' is bad");
    liana__note(&(liana__notes){keep, note}, "left out: '%s'", "\x1b]0;title\x07");
    assert_string_equal(note, "left out: '\\x1b]0;title\\x07'");
}

/* ---- the command ---- */

static const char names[][24] = {"a\x1b[2Kb.jpg", "c\nliana: done.jpg", "d\x7f\xc2\x9b.jpg"};

static void assert_plain(const liana__test_result *result)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_never_says(result->err, names[i]);
        assert_never_says(result->out, names[i]);
    }
    assert_null(strchr(result->err, 0x1b));
    assert_null(strchr(result->out, 0x1b));
    assert_never_says(result->err, "\nliana: done");
    assert_never_says(result->out, "\nliana: done");
}

static void write_file(const char *folder, const char *name)
{
    liana__error error = {0};
    char path[800];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(liana__file_replace(path, "no image", 8, &error), &error);
}

static void test_names_of_files(void **state)
{
    (void)state;
    liana__error error = {0};
    char folder[500], path[800], class_folder[600];
    snprintf(folder, sizeof folder, "%s", liana__test_path("images"));
    snprintf(class_folder, sizeof class_folder, "%s/one", folder);
    assert_ok(liana__folder_make(class_folder, &error), &error);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_file(class_folder, names[i]);
        snprintf(path, sizeof path, "%s/%s", class_folder, names[i]);
        const char *const commands[][4] = {{"inspect", path}, {"check", path}, {"summary", path}, {"convert", path}};
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
            liana__test_result result = liana__test_process(NULL, commands[k][0], commands[k][1]);
            assert_compare(result.code, !=, 0);
            assert_true(*result.err);
            assert_plain(&result);
            liana__test_free_result(&result);
        }
    }
    char config[600], text[1400];
    snprintf(config, sizeof config, "%s", liana__test_path("bad.yaml"));
    const int size =
        snprintf(text, sizeof text,
                 "data: {train: %s, image_size: 8}\nmodel: {layers: [Flatten, {Dense: {units: 1}}]}\n", folder);
    assert_ok(liana__file_replace(config, text, (size_t)size, &error), &error);
    liana__test_result result = liana__test_process(NULL, "check", config);
    assert_true(*result.out || *result.err);
    assert_plain(&result);
    liana__test_free_result(&result);
}

static void assert_link(const char *name, const char *target, const char *expected)
{
    char path[600];
    liana__error error = {0};
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    assert_int_equal(symlink(target, path), 0);
    assert_fails(liana__link_check(path, &error), LIANA_NOT_FOUND, &error, expected);
    assert_says(error.message, name);
}

static void test_links(void **state)
{
    (void)state;
    liana__error error = {0};
    char path[600];
    assert_link("dangling", "nowhere-at-all", "is a link to 'nowhere-at-all', which is not there");
    assert_link("loop", "loop", "leads back to itself");
    assert_link("first", "second", "which is not there");
    snprintf(path, sizeof path, "%s", liana__test_path("second"));
    assert_int_equal(symlink("first", path), 0);
    assert_fails(liana__link_check(path, &error), LIANA_NOT_FOUND, &error, "leads back to itself");
    snprintf(path, sizeof path, "%s", liana__test_path("good"));
    assert_int_equal(symlink(".", path), 0);
    assert_ok(liana__link_check(path, &error), &error);
    assert_ok(liana__link_check(liana__test_path("no-such-name"), &error), &error);
    /* Named as data. */
    static const char *const links[][2] = {{"dangling", "which is not there"}, {"loop", "leads back to itself"}};
    for (size_t i = 0; i < 2; i++) {
        char data[700];
        snprintf(data, sizeof data, "data.train=%s", liana__test_path(links[i][0]));
        liana__test_result result = liana__test_process(NULL, "check", liana__test_tiny_run(12), data);
        assert_compare(result.code, !=, 0);
        if (!strstr(result.err, links[i][1])) print_error("%s\n", result.err);
        assert_says(result.err, links[i][1]);
        liana__test_free_result(&result);
    }
}

static int make_folder(void **state)
{
    (void)state;
    liana__test_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_characters_are_shown),
        cmocka_unit_test(test_messages_and_notes),
        cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_links),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
