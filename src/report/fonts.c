/* Finds fonts through fontconfig. */
#include "report/canvas.h"

#include "base/scoped.h"
#include "base/utf8.h"
#include "formats/fontconfig_calls.h"

#include <stdio.h>
#include <string.h>

static cairo_font_face_t *make_face(const char *family, bool bold)
{
    return cairo_toy_font_face_create(family, CAIRO_FONT_SLANT_NORMAL,
                                      bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
}

/* Fonts draw glyph 0 for characters that they lack. */
static bool has_glyph(cairo_font_face_t *face, const char *text, size_t size)
{
    cairo_matrix_t font_matrix, identity;
    cairo_matrix_init_scale(&font_matrix, 12, 12);
    cairo_matrix_init_identity(&identity);
    cairo_font_options_t *plain = cairo_font_options_create();
    cairo_scaled_font_t *font = cairo_scaled_font_create(face, &font_matrix, &identity, plain);
    cairo_glyph_t *glyphs = NULL;
    int count = 0;
    cairo_status_t status =
        cairo_scaled_font_text_to_glyphs(font, 0, 0, text, (int)size, &glyphs, &count, NULL, NULL, NULL);
    bool has = status == CAIRO_STATUS_SUCCESS && count > 0;
    for (int i = 0; has && i < count; i++) has = glyphs[i].index != 0;
    cairo_glyph_free(glyphs);
    cairo_scaled_font_destroy(font);
    cairo_font_options_destroy(plain);
    return has;
}

/* The installed font nearest to the usual one that has a character, or NULL. */
static cairo_font_face_t *match(uint32_t code, bool bold)
{
    if (liana__fontconfig_load(NULL) != LIANA_OK) return NULL;
    FcPattern *pattern = FcPatternCreate();
    FcCharSet *wanted = FcCharSetCreate();
    FcPattern *matched = NULL;
    if (pattern && wanted) {
        FcResult result;
        FcCharSetAddChar(wanted, code);
        FcPatternAddCharSet(pattern, FC_CHARSET, wanted);
        FcPatternAddString(pattern, FC_FAMILY, (const FcChar8 *)"sans-serif");
        FcConfigSubstitute(NULL, pattern, FcMatchPattern);
        FcDefaultSubstitute(pattern);
        matched = FcFontMatch(NULL, pattern, &result);
    }
    FcCharSet *its = NULL;
    FcChar8 *family = NULL;
    bool has = matched && FcPatternGetCharSet(matched, FC_CHARSET, 0, &its) == FcResultMatch &&
               FcCharSetHasChar(its, code) && FcPatternGetString(matched, FC_FAMILY, 0, &family) == FcResultMatch;
    cairo_font_face_t *face = has ? make_face((const char *)family, bold) : NULL;
    if (matched) FcPatternDestroy(matched);
    if (wanted) FcCharSetDestroy(wanted);
    if (pattern) FcPatternDestroy(pattern);
    return face;
}

cairo_font_face_t *liana__fonts_find(liana__fonts *fonts, const char *text, size_t size, uint32_t code, bool *found)
{
    if (!fonts->usual) fonts->usual = make_face("sans-serif", fonts->bold);
    if (found) *found = true;
    if (has_glyph(fonts->usual, text, size)) return fonts->usual;
    for (size_t i = 0; i < fonts->num_fallbacks; i++) {
        if (has_glyph(fonts->fallbacks[i], text, size)) return fonts->fallbacks[i];
    }
    cairo_font_face_t *face = fonts->num_fallbacks < LIANA__MAX_FALLBACKS ? match(code, fonts->bold) : NULL;
    if (face && has_glyph(face, text, size)) return fonts->fallbacks[fonts->num_fallbacks++] = face;
    if (face) cairo_font_face_destroy(face);
    if (found) *found = false;
    return fonts->usual;
}

void liana__fonts_free(liana__fonts *fonts)
{
    if (fonts->usual) cairo_font_face_destroy(fonts->usual);
    for (size_t i = 0; i < fonts->num_fallbacks; i++) cairo_font_face_destroy(fonts->fallbacks[i]);
    *fonts = (liana__fonts){.bold = fonts->bold};
}

/* Whether all characters can be drawn. */
static bool can_draw(liana__fonts *fonts, const char *name)
{
    const char *end = name + strlen(name);
    bool found = true;
    while (name < end && found) {
        uint32_t code;
        size_t size = liana__utf8_character(name, (size_t)(end - name), &code);
        if (size > 1) liana__fonts_find(fonts, name, size, code, &found);
        name += size ? size : 1;
    }
    return found;
}

void liana__fonts_note(const char *const *names, size_t count, char *note, size_t size)
{
    static const char advice[] = "install one that has (Debian: fonts-noto-cjk for Chinese, Japanese and Korean, "
                                 "fonts-noto for most others)";
    LIANA__SCOPED(liana__fonts) fonts = {0};
    liana__error missing = {0};
    if (size) note[0] = 0;
    if (liana__cairo_load(NULL) != LIANA_OK) return; /* nothing is drawn */
    bool all_fonts = liana__fontconfig_load(&missing) == LIANA_OK;
    for (size_t i = 0; i < count; i++) {
        if (can_draw(&fonts, names[i])) continue;
        snprintf(note, size, "no %s font has all characters of '%.100s': pictures show boxes in their place; %s",
                 all_fonts ? "installed" : "usual", names[i], all_fonts ? advice : missing.message);
        break;
    }
}
