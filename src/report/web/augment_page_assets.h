/* augment_page_assets.h - the files that a page consists of; cmake/web.cmake makes their bytes when liana is built. */
#ifndef LIANA_REPORT_WEB_AUGMENT_PAGE_ASSETS_H
#define LIANA_REPORT_WEB_AUGMENT_PAGE_ASSETS_H

#include <stddef.h>

/* augment_page.html, with @NAME@ for what is put in: TITLE, STYLE, SCRIPT, DATA and MODULE. */
extern const unsigned char liana__web_page_html[];
extern const size_t liana__web_page_html_size;
extern const unsigned char liana__web_page_css[];
extern const size_t liana__web_page_css_size;
/* The scripts, one behind the other. */
extern const unsigned char liana__web_page_js[];
extern const size_t liana__web_page_js_size;
/* augment_module.c and what it calls, as WebAssembly. */
extern const unsigned char liana__web_module[];
extern const size_t liana__web_module_size;

#endif
