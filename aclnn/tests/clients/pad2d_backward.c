/* ReplicationPad2dBackward, ReflectionPad2dBackward and ReplicationPad1dBackward from C, in F32 and F16. */
#include "acl/acl.h"
#include "aclnnop/aclnn_pad2d_backward.h"
#include "aclnnop/aclnn_replication_pad1d_backward.h"

#include <stdlib.h>

#define CHECK(call)                                                                 \
    do {                                                                            \
        int status_ = (call);                                                       \
        if (status_ != ACL_SUCCESS) {                                               \
            printf("%s: %d %s\n", #call, status_, aclGetRecentErrMsg());            \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

typedef aclnnStatus (*Phase1)(const aclTensor *, const aclTensor *, const aclIntArray *, aclTensor *, uint64_t *,
                              aclOpExecutor **);
typedef aclnnStatus (*Phase2)(void *, uint64_t, aclOpExecutor *, const aclrtStream);

enum { MOST = 64 };

static int64_t count(const int64_t *shape, uint64_t rank) {
    int64_t n = 1;
    for (uint64_t i = 0; i < rank; ++i) n *= shape[i];
    return n;
}

/* A tensor of 0, 1, 2, ... in device memory. */
static aclTensor *numbers(const int64_t *shape, uint64_t rank, aclDataType type, void **address) {
    float wide[MOST];
    aclFloat16 narrow[MOST];
    int64_t n = count(shape, rank);
    for (int64_t i = 0; i < n; ++i) {
        wide[i] = (float)i;
        narrow[i] = aclFloatToFloat16((float)i);
    }
    size_t bytes = (size_t)n * aclDataTypeSize(type);
    CHECK(aclrtMalloc(address, bytes, ACL_MEM_MALLOC_NORMAL_ONLY));
    const void *from = type == ACL_FLOAT ? (const void *)wide : (const void *)narrow;
    CHECK(aclrtMemcpy(*address, bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    return aclCreateTensor(shape, rank, type, NULL, 0, ACL_FORMAT_ND, shape, rank, *address);
}

static void compute(const char *name, Phase1 phase1, Phase2 phase2, const int64_t *padded, const int64_t *shape,
                    uint64_t rank, const int64_t *pads, uint64_t pad_count, aclDataType type) {
    void *grad_address = NULL, *out_address = NULL, *workspace = NULL;
    aclTensor *grad = numbers(padded, rank, type, &grad_address);
    aclTensor *out = numbers(shape, rank, type, &out_address);
    aclIntArray *padding = aclCreateIntArray(pads, pad_count);
    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    /* self is only described: the output stands for it. */
    CHECK(phase1(grad, out, padding, out, &size, &executor));
    if (size > 0) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    /* On the default stream. */
    CHECK(phase2(workspace, size, executor, NULL));
    CHECK(aclrtSynchronizeStream(NULL));
    float wide[MOST];
    aclFloat16 narrow[MOST];
    int64_t n = count(shape, rank);
    void *to = type == ACL_FLOAT ? (void *)wide : (void *)narrow;
    size_t bytes = (size_t)n * aclDataTypeSize(type);
    CHECK(aclrtMemcpy(to, sizeof(float) * MOST, out_address, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    printf("%s:", name);
    for (int64_t i = 0; i < n; ++i) printf(" %g", type == ACL_FLOAT ? wide[i] : aclFloat16ToFloat(narrow[i]));
    printf("\n");
    CHECK(aclDestroyTensor(grad));
    CHECK(aclDestroyTensor(out));
    CHECK(aclDestroyIntArray(padding));
    CHECK(aclrtFree(grad_address));
    CHECK(aclrtFree(out_address));
    if (workspace != NULL) CHECK(aclrtFree(workspace));
}

/* What is refused of one row names the function that was called, and the shape as it is read. */
static void refuse_row(const int64_t *padded, const int64_t *shape, uint64_t rank, aclDataType type) {
    const int64_t pads[2] = {1, 1};
    aclTensor *grad = aclCreateTensor(padded, rank, type, NULL, 0, ACL_FORMAT_ND, padded, rank, NULL);
    aclTensor *out = aclCreateTensor(shape, rank, type, NULL, 0, ACL_FORMAT_ND, shape, rank, NULL);
    aclIntArray *padding = aclCreateIntArray(pads, 2);
    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    int status = aclnnReplicationPad1dBackwardGetWorkspaceSize(grad, out, padding, out, &size, &executor);
    printf("%d %s\n", status, aclGetRecentErrMsg());
    CHECK(aclDestroyTensor(grad));
    CHECK(aclDestroyTensor(out));
    CHECK(aclDestroyIntArray(padding));
}

int main(void) {
    const int64_t padded[4] = {1, 1, 5, 6}, shape[4] = {1, 1, 3, 3}, pads[4] = {1, 2, 1, 1};
    const int64_t padded_row[2] = {2, 5}, row[2] = {2, 3}, row_pads[2] = {2, 0};
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    compute("replication f32", aclnnReplicationPad2dBackwardGetWorkspaceSize, aclnnReplicationPad2dBackward, padded,
            shape, 4, pads, 4, ACL_FLOAT);
    compute("replication f16", aclnnReplicationPad2dBackwardGetWorkspaceSize, aclnnReplicationPad2dBackward, padded + 1,
            shape + 1, 3, pads, 4, ACL_FLOAT16);
    compute("reflection f32", aclnnReflectionPad2dBackwardGetWorkspaceSize, aclnnReflectionPad2dBackward, padded, shape,
            4, pads, 4, ACL_FLOAT);
    compute("reflection f16", aclnnReflectionPad2dBackwardGetWorkspaceSize, aclnnReflectionPad2dBackward, padded + 1,
            shape + 1, 3, pads, 4, ACL_FLOAT16);
    compute("rows f32", aclnnReplicationPad1dBackwardGetWorkspaceSize, aclnnReplicationPad1dBackward, padded_row, row, 2,
            row_pads, 2, ACL_FLOAT);
    const int64_t other_row[2] = {2, 7}, images[3] = {1, 2, 7}, image[3] = {1, 2, 4};
    refuse_row(other_row, row, 2, ACL_FLOAT);
    refuse_row(images, image, 3, ACL_FLOAT);
    refuse_row(other_row, row, 2, ACL_INT32);
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
