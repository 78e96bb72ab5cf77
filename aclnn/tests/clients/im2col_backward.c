/* Im2colBackward from C, with the header under level2: F32, F16, and F16 columns into an F32 image. */
#include "acl/acl.h"
#include "aclnnop/level2/aclnn_im2col_backward.h"

#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                      \
    do {                                                                 \
        int status_ = (call);                                            \
        if (status_ != ACL_SUCCESS) {                                    \
            printf("%s: %d %s\n", #call, status_, aclGetRecentErrMsg()); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

enum { C = 2, H = 4, W = 5, KH = 2, KW = 3, PH = 1, PW = 0, SH = 2, SW = 1, DH = 1, DW = 1 };
enum { LH = (H + 2 * PH - DH * (KH - 1) - 1) / SH + 1, LW = (W + 2 * PW - DW * (KW - 1) - 1) / SW + 1 };
enum { ROWS = C * KH * KW, COLUMNS = LH * LW, PIXELS = C * H * W };

static float columns[ROWS * COLUMNS], expected[PIXELS];

static void expect(void) {
    for (int i = 0; i < ROWS * COLUMNS; ++i) columns[i] = (float)(i * 7 % 13 - 5);
    for (int c = 0; c < C; ++c)
        for (int i = 0; i < KH; ++i)
            for (int j = 0; j < KW; ++j)
                for (int a = 0; a < LH; ++a)
                    for (int b = 0; b < LW; ++b) {
                        int y = a * SH - PH + i * DH, x = b * SW - PW + j * DW;
                        if (y < 0 || y >= H || x < 0 || x >= W) continue;
                        expected[(c * H + y) * W + x] += columns[((c * KH + i) * KW + j) * COLUMNS + a * LW + b];
                    }
}

static void *upload(const float *values, int n, aclDataType type) {
    aclFloat16 narrow[ROWS * COLUMNS];
    for (int i = 0; i < n; ++i) narrow[i] = aclFloatToFloat16(values[i]);
    size_t bytes = (size_t)n * aclDataTypeSize(type);
    void *address = NULL;
    CHECK(aclrtMallocAlign32(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(address, bytes, type == ACL_FLOAT ? (const void *)values : narrow, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return address;
}

static void compute(const char *name, aclDataType from, aclDataType to, aclrtStream stream) {
    const int64_t columns_shape[2] = {ROWS, COLUMNS}, image_shape[3] = {C, H, W};
    const int64_t pairs[5][2] = {{H, W}, {KH, KW}, {DH, DW}, {PH, PW}, {SH, SW}};
    aclIntArray *arrays[5];
    for (int i = 0; i < 5; ++i) arrays[i] = aclCreateIntArray(pairs[i], 2);
    void *columns_address = upload(columns, ROWS * COLUMNS, from), *image_address = upload(columns, PIXELS, to);
    aclTensor *grad = aclCreateTensor(columns_shape, 2, from, NULL, 0, ACL_FORMAT_ND, columns_shape, 2, columns_address);
    aclTensor *out = aclCreateTensor(image_shape, 3, to, NULL, 0, ACL_FORMAT_ND, image_shape, 3, image_address);
    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    void *workspace = NULL;
    CHECK(aclnnIm2colBackwardGetWorkspaceSize(grad, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], out, &size,
                                              &executor));
    if (size > 0) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclnnIm2colBackward(workspace, size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));
    float wide[PIXELS];
    aclFloat16 narrow[PIXELS];
    size_t bytes = PIXELS * aclDataTypeSize(to);
    CHECK(aclrtMemcpy(to == ACL_FLOAT ? (void *)wide : (void *)narrow, bytes, image_address, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    int equal = 0;
    for (int i = 0; i < PIXELS; ++i) equal += (to == ACL_FLOAT ? wide[i] : aclFloat16ToFloat(narrow[i])) == expected[i];
    printf("%s: %d of %d equal\n", name, equal, (int)PIXELS);
    for (int i = 0; i < 5; ++i) CHECK(aclDestroyIntArray(arrays[i]));
    CHECK(aclDestroyTensor(grad));
    CHECK(aclDestroyTensor(out));
    CHECK(aclrtFree(columns_address));
    CHECK(aclrtFree(image_address));
    if (workspace != NULL) CHECK(aclrtFree(workspace));
}

int main(void) {
    expect();
    aclrtStream stream = NULL;
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    compute("f32", ACL_FLOAT, ACL_FLOAT, stream);
    compute("f16", ACL_FLOAT16, ACL_FLOAT16, stream);
    compute("f16 to f32", ACL_FLOAT16, ACL_FLOAT, stream);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
