/* numbers.h - functions of keras.ops that are composed of others; the table has their rows. */
#ifndef LIANA_LAYERS_OPERATION_NUMBERS_H
#define LIANA_LAYERS_OPERATION_NUMBERS_H

#include "layers/operation/arguments.h"

#define LIANA__OPERATION_ONE(name) liana_tensor liana__operation_##name(liana_location here, liana_tensor x)
#define LIANA__OPERATION_TWO(name) \
    liana_tensor liana__operation_##name(liana_location here, liana_tensor a, liana_tensor b)
LIANA__OPERATION_ONE(cbrt);
LIANA__OPERATION_ONE(deg2rad);
LIANA__OPERATION_ONE(rad2deg);
LIANA__OPERATION_ONE(erfc);
LIANA__OPERATION_ONE(isneginf);
LIANA__OPERATION_ONE(isposinf);
LIANA__OPERATION_ONE(isreal);
LIANA__OPERATION_ONE(sinc);
LIANA__OPERATION_TWO(fmax);
LIANA__OPERATION_TWO(fmin);
LIANA__OPERATION_TWO(fmod);
LIANA__OPERATION_TWO(heaviside);
LIANA__OPERATION_TWO(hypot);
LIANA__OPERATION_TWO(logaddexp2);
LIANA__OPERATION_TWO(ldexp);
LIANA__OPERATION_BUILD(nan_to_num);
LIANA__OPERATION_BUILD(isclose);
LIANA__OPERATION_BUILD(full_like);
LIANA__OPERATION_BUILD(digitize);
LIANA__OPERATION_BUILD(isin);
/* In statistics.c. */
LIANA__OPERATION_BUILD(ptp);
LIANA__OPERATION_BUILD(average);
LIANA__OPERATION_BUILD(median);
LIANA__OPERATION_BUILD(quantile);
LIANA__OPERATION_BUILD(percentile);
LIANA__OPERATION_BUILD(nansum);
LIANA__OPERATION_BUILD(nanprod);
LIANA__OPERATION_BUILD(nanmax);
LIANA__OPERATION_BUILD(nanmin);
LIANA__OPERATION_BUILD(nanmean);
LIANA__OPERATION_BUILD(nanvar);
LIANA__OPERATION_BUILD(nanstd);
LIANA__OPERATION_BUILD(nanargmax);
LIANA__OPERATION_BUILD(nanargmin);
LIANA__OPERATION_BUILD(nancumsum);
LIANA__OPERATION_BUILD(nancumprod);
LIANA__OPERATION_BUILD(diff);
LIANA__OPERATION_BUILD(trapezoid);
LIANA__OPERATION_BUILD(normalize);
/* In pieces.c. */
LIANA__OPERATION_BUILD(append);
LIANA__OPERATION_BUILD(hstack);
LIANA__OPERATION_BUILD(dstack);
LIANA__OPERATION_BUILD(array_split);
LIANA__OPERATION_BUILD(hsplit);
LIANA__OPERATION_BUILD(dsplit);
LIANA__OPERATION_BUILD(diagonal);
LIANA__OPERATION_BUILD(trace);
LIANA__OPERATION_BUILD(rot90);
LIANA__OPERATION_BUILD(fliplr);
LIANA__OPERATION_BUILD(depth_to_space);
LIANA__OPERATION_BUILD(space_to_depth);
LIANA__OPERATION_BUILD(extract_sequences);
LIANA__OPERATION_BUILD(multi_hot);
LIANA__OPERATION_BUILD(cross);
LIANA__OPERATION_BUILD(max_pool);
LIANA__OPERATION_BUILD(average_pool);
LIANA__OPERATION_BUILD(dot_product_attention);

#endif
