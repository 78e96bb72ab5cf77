/*
 * A kernel that `ubtile fuzz OP --kernel LIBRARY` calls: one function, exported by a shared library.
 *
 *   cc -shared -fPIC -o mine.so mine.c
 *   ubtile fuzz im2col-backward --kernel ./mine.so
 *
 * docs/fuzzing.md says what is checked.
 */
#ifndef UBTILE_KERNEL_H
#define UBTILE_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types, numbered as aclDataType is. */
enum ubtile_dtype {
    UBTILE_F32 = 0,
    UBTILE_F16 = 1,
    UBTILE_I8 = 2,
    UBTILE_I32 = 3,
    UBTILE_U8 = 4,
    UBTILE_I16 = 6,
    UBTILE_I64 = 9,
    UBTILE_F64 = 11,
    UBTILE_BOOL = 12,
    UBTILE_C64 = 16,
    UBTILE_C128 = 17,
    UBTILE_BF16 = 27
};

/* A tensor. Sizes and strides are in elements; strides are never negative. Data is aligned to 64 bytes. */
typedef struct ubtile_tensor {
    const char *name; /* as in `ubtile run`: "grad_output", "input", "grid", "indices", "out", ... */
    int32_t dtype;    /* enum ubtile_dtype */
    int32_t rank;
    const int64_t *shape;   /* with the batch dimension, also where a caller left it out */
    const int64_t *strides; /* 0 repeats elements; in inputs only */
    void *data;             /* of an input: to be read alone */
} ubtile_tensor;

/* An attribute, with as many values as it has: "padding" of replication padding has four. */
typedef struct ubtile_attribute {
    const char *name; /* "interpolation", "padding-mode", "align-corners", "output-mask", "output-size", ... */
    int32_t count;
    const int64_t *values; /* modes as aclnn numbers them; 0 or 1 for what is true or false */
} ubtile_attribute;

/* A problem that the operator's contract accepts. All of it belongs to the caller and lives until the function returns. */
typedef struct ubtile_call {
    const char *operator_name; /* as in `ubtile run`: "im2col-backward", ... */
    int32_t input_count;
    const ubtile_tensor *inputs;
    int32_t output_count; /* those that the output mask wants */
    const ubtile_tensor *outputs;
    int32_t attribute_count;
    const ubtile_attribute *attributes;
} ubtile_call;

#define UBTILE_OK 0      /* the outputs are written */
#define UBTILE_SKIPPED 1 /* the kernel does not compute such problems: nothing is held against it */
                         /* anything else is a failure */

/* The function to be exported. It is called by one thread, again and again. */
int32_t ubtile_kernel(const ubtile_call *call);

#ifdef __cplusplus
}
#endif

#endif
