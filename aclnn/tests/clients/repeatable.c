/* One executor for many calls, its tensors moved between them. */
#include "acl/acl.h"
#include "aclnnop/aclnn_max_unpool2d_backward.h"

#include <stdlib.h>

#define CHECK(call)                                                      \
    do {                                                                 \
        int status_ = (call);                                            \
        if (status_ != ACL_SUCCESS) {                                    \
            printf("%s: %d %s\n", #call, status_, aclGetRecentErrMsg()); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

enum { CALLS = 3 };

int main(void) {
    const int64_t plane[3] = {1, 2, 2}, pooled[3] = {1, 1, 2}, sizes[2] = {2, 2};
    aclrtStream stream = NULL;
    void *grad[CALLS], *out[CALLS], *indices = NULL, *workspace = NULL;
    int32_t index[2] = {3, 1}, result[2];
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc(&indices, sizeof index, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(indices, sizeof index, index, sizeof index, ACL_MEMCPY_HOST_TO_DEVICE));
    for (int32_t i = 0; i < CALLS; ++i) {
        int32_t values[4] = {10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 3};
        CHECK(aclrtMalloc(&grad[i], sizeof values, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMalloc(&out[i], sizeof result, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMemcpy(grad[i], sizeof values, values, sizeof values, ACL_MEMCPY_HOST_TO_DEVICE));
        CHECK(aclrtMemset(out[i], sizeof result, 0xff, sizeof result));
    }
    /* self is described and not read: it needs no memory. */
    aclTensor *grad_tensor = aclCreateTensor(plane, 3, ACL_INT32, NULL, 0, ACL_FORMAT_ND, plane, 3, grad[0]);
    aclTensor *self = aclCreateTensor(pooled, 3, ACL_INT32, NULL, 0, ACL_FORMAT_ND, pooled, 3, NULL);
    aclTensor *index_tensor = aclCreateTensor(pooled, 3, ACL_INT32, NULL, 0, ACL_FORMAT_ND, pooled, 3, indices);
    aclTensor *out_tensor = aclCreateTensor(pooled, 3, ACL_INT32, NULL, 0, ACL_FORMAT_ND, pooled, 3, out[0]);
    aclIntArray *output_size = aclCreateIntArray(sizes, 2);
    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    CHECK(aclnnMaxUnpool2dBackwardGetWorkspaceSize(grad_tensor, self, index_tensor, output_size, out_tensor, &size, &executor));
    if (size > 0) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    printf("not repeatable yet: %d\n", aclSetInputTensorAddr(executor, 0, grad_tensor, grad[1]));
    CHECK(aclSetAclOpExecutorRepeatable(executor));
    for (int i = 0; i < CALLS; ++i) {
        CHECK(aclSetInputTensorAddr(executor, 0, grad_tensor, grad[i]));
        if (i < 2) CHECK(aclSetOutputTensorAddr(executor, 0, out_tensor, out[i]));
        /* Of all tensors the output is the fourth. */
        else CHECK(aclSetTensorAddr(executor, 3, out_tensor, out[i]));
        CHECK(aclnnMaxUnpool2dBackward(workspace, size, executor, stream));
    }
    printf("no fourth input: %d\n", aclSetInputTensorAddr(executor, 3, grad_tensor, grad[1]));
    CHECK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < CALLS; ++i) {
        CHECK(aclrtMemcpy(result, sizeof result, out[i], sizeof result, ACL_MEMCPY_DEVICE_TO_HOST));
        printf("%d %d\n", result[0], result[1]);
        CHECK(aclrtFree(grad[i]));
        CHECK(aclrtFree(out[i]));
    }
    CHECK(aclDestroyAclOpExecutor(executor));
    printf("destroyed: %d\n", aclnnMaxUnpool2dBackward(workspace, size, executor, stream));
    CHECK(aclDestroyTensor(grad_tensor));
    CHECK(aclDestroyTensor(self));
    CHECK(aclDestroyTensor(index_tensor));
    CHECK(aclDestroyTensor(out_tensor));
    CHECK(aclDestroyIntArray(output_size));
    CHECK(aclrtFree(indices));
    if (workspace != NULL) CHECK(aclrtFree(workspace));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
