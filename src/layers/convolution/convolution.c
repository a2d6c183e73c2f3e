/* Options, bias and activation of the convolution layers. */
#include "layers/convolution/convolution.h"

#include <liana/layers/convolution.h>

liana_status liana__check_dilation(liana_check *check, const int64_t strides[2], const int64_t dilation[2])
{
    bool strided = strides[0] > 1 || strides[1] > 1, dilated = dilation[0] > 1 || dilation[1] > 1;
    if (!strided || !dilated) return LIANA_OK;
    return liana_option_refuse(check, "dilation_rate",
                               "found [%lld, %lld] together with strides [%lld, %lld]; expected one of the two to be 1",
                               (long long)dilation[0], (long long)dilation[1], (long long)strides[0],
                               (long long)strides[1]);
}

liana_conv_options liana__conv_options(const int64_t strides[2], liana_padding padding, const int64_t dilation[2],
                                       int64_t groups)
{
    return (liana_conv_options){
        .strides = {strides[0], strides[1]},
        .padding = padding,
        .dilations = {dilation[0], dilation[1]},
        .groups = groups,
    };
}

liana_tensor liana__bias_and_activate(liana_layer_call *call, liana_tensor x, const liana_tensor *bias,
                                      const char *activation)
{
    if (bias) x = liana_op_add_at(call->here, x, *bias);
    return liana__activate(call, activation, x);
}
