/* Text files of the test's folder. */
#include "harness/text_files.h"

#include "base/file.h"

char *liana__test_read_text(const char *name)
{
    char *text;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 26, &text, &size, &error), &error);
    return text;
}

json_t *liana__test_parse_json(const char *text)
{
    json_error_t problem;
    json_t *json = json_loads(text, 0, &problem);
    if (!json) print_error("%s: %s\n", problem.text, text);
    assert_non_null(json);
    return json;
}
