/* Of a liana that was built without WebAssembly: says so. */
#include "report/web/augment_page.h"

liana_status liana__augment_page_write(liana__run *run, const char *title, const char *path, liana__error *error)
{
    (void)run;
    (void)title;
    return liana__fail(error, LIANA_UNIMPLEMENTED,
                       "cannot write the page %s: it runs liana's augmentation in a browser, and this liana was built "
                       "without WebAssembly; install clang, lld, wasi-libc and libclang-rt-dev-wasm32, and build it "
                       "again",
                       path);
}
