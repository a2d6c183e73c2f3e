/* fourier_kernel.h - the kernels of a convolution that is a short-time Fourier transform: Keras's initialiser STFT. */
#ifndef LIANA_LAYERS_FOURIER_KERNEL_H
#define LIANA_LAYERS_FOURIER_KERNEL_H

#include <liana/parts.h>

/* The names, in scipy.signal's words, that a window may have; ends with NULL. The first is no window. */
extern const char *const liana__window_names[];

/* The values of a window: that many. A periodic one is the beginning of a symmetric one of one value more. */
void liana__window_values(int name, bool periodic, int64_t count, double *values);

typedef enum liana__window_scaling {
    LIANA__WINDOW_DENSITY,  /* the window is divided by the root of the sum of its squares */
    LIANA__WINDOW_SPECTRUM, /* by the sum of its absolute values */
    LIANA__WINDOW_AS_IT_IS,
} liana__window_scaling;

/* [frame, 1, fft_length / 2 + 1]: cos or sin of -2 pi time frequency, times the window, which may be NULL. */
void liana__fourier_kernel(const double *window, liana__window_scaling scaling, bool imaginary, int64_t frame,
                           int64_t bins, float *values);

#endif
