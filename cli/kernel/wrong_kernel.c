/*
 * An example for `ubtile fuzz`: the gradient of im2col in F32, with a mistake that square images hide.
 *
 *   cc -O2 -shared -fPIC -o wrong_kernel.so wrong_kernel.c
 *   ubtile fuzz im2col-backward --kernel ./wrong_kernel.so
 */
#include "ubtile_kernel.h"

#include <string.h>

static const int64_t *attribute(const ubtile_call *call, const char *name)
{
    for (int32_t i = 0; i < call->attribute_count; i++)
        if (strcmp(call->attributes[i].name, name) == 0)
            return call->attributes[i].values;
    return NULL;
}

/* Positions of the window along an axis. */
static int64_t positions(int64_t size, int64_t kernel, int64_t dilation, int64_t padding, int64_t stride)
{
    return (size + 2 * padding - dilation * (kernel - 1) - 1 + stride) / stride;
}

int32_t ubtile_kernel(const ubtile_call *call)
{
    if (strcmp(call->operator_name, "im2col-backward") != 0)
        return UBTILE_SKIPPED;
    const ubtile_tensor *columns = &call->inputs[0], *image = &call->outputs[0];
    if (columns->dtype != UBTILE_F32 || image->dtype != UBTILE_F32)
        return UBTILE_SKIPPED;

    const int64_t *size = attribute(call, "input-size"), *kernel = attribute(call, "kernel-size");
    const int64_t *dilation = attribute(call, "dilation"), *padding = attribute(call, "padding");
    const int64_t *stride = attribute(call, "stride");
    const float *from = columns->data;
    float *to = image->data;
    const int64_t *si = columns->strides, *so = image->strides;
    int64_t high = positions(size[0], kernel[0], dilation[0], padding[0], stride[0]);
    int64_t wide = positions(size[1], kernel[1], dilation[1], padding[1], stride[1]);

    for (int64_t n = 0; n < image->shape[0]; n++)
        for (int64_t c = 0; c < image->shape[1]; c++)
            for (int64_t y = 0; y < size[0]; y++)
                for (int64_t x = 0; x < size[1]; x++) {
                    float sum = 0;
                    for (int64_t i = 0; i < kernel[0]; i++)
                        for (int64_t j = 0; j < kernel[1]; j++) {
                            int64_t a = y + padding[0] - i * dilation[0], b = x + padding[1] - j * dilation[1];
                            if (a < 0 || b < 0 || a % stride[0] || b % stride[1])
                                continue;
                            a /= stride[0];
                            b /= stride[1];
                            if (a >= high || b >= wide)
                                continue;
                            int64_t row = (c * kernel[0] + i) * kernel[1] + j;
                            int64_t column = a * high + b; /* the mistake: it is a * wide + b */
                            sum += from[n * si[0] + row * si[1] + column * si[2]];
                        }
                    to[n * so[0] + c * so[1] + y * so[2] + x * so[3]] = sum;
                }
    return UBTILE_OK;
}
