/* A program outside of liana's tree: its headers and libraries come from an installed copy. */
#include <liana/context.h>
#include <liana/status.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *expected_version = argc > 1 ? argv[1] : "";
    liana_context *context;
    liana_status status = liana_context_create(&(liana_context_options){.num_threads = 3}, &context);
    if (status != LIANA_OK) {
        fprintf(stderr, "%s: %s\n", liana_status_name(status), context ? liana_context_message(context) : "");
        return 1;
    }
    printf("liana %s, %d threads\n", liana_version(), liana_context_num_threads(context));
    int failed = strcmp(liana_version(), expected_version) != 0 || liana_context_num_threads(context) != 3;
    liana_context_destroy(context);
    return failed;
}
