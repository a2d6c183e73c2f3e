/* printf_check.h - lets the compiler hold the arguments of functions like printf against their format. */
#ifndef LIANA_BASE_PRINTF_CHECK_H
#define LIANA_BASE_PRINTF_CHECK_H

/* After a declaration: which parameter is the format, and which the first to check (0: they come as a va_list). */
#if defined(__GNUC__)
#define LIANA__PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#else
#define LIANA__PRINTF(format_index, first_index)
#endif

#endif
