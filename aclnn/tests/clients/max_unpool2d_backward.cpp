// MaxUnpool2dBackward, with the header's short path, by the functions that the vendor's samples use.
#include <iostream>
#include <numeric>
#include <vector>

#include "acl/acl.h"
#include "aclnn_max_unpool2d_backward.h"

#define CHECK_RET(cond, return_expr) \
    do {                             \
        if (!(cond)) {               \
            return_expr;             \
        }                            \
    } while (0)

#define LOG_PRINT(message, ...)         \
    do {                                \
        printf(message, ##__VA_ARGS__); \
    } while (0)

static int64_t SizeOf(const std::vector<int64_t> &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
}

template <typename T>
static aclTensor *Tensor(const std::vector<T> &host, const std::vector<int64_t> &shape, aclDataType type, void **addr) {
    auto size = static_cast<size_t>(SizeOf(shape)) * sizeof(T);
    CHECK_RET(aclrtMalloc(addr, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS, return nullptr);
    CHECK_RET(aclrtMemcpy(*addr, size, host.data(), size, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS, return nullptr);
    // Null strides are contiguous.
    return aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, ACL_FORMAT_NCHW, shape.data(), shape.size(), *addr);
}

int main() {
    int32_t deviceId = 0;
    aclrtStream stream;
    auto ret = aclInit(nullptr);
    CHECK_RET(ret == 0, LOG_PRINT("aclInit failed. ERROR: %d\n", ret); return ret);
    ret = aclrtSetDevice(deviceId);
    CHECK_RET(ret == 0, LOG_PRINT("aclrtSetDevice failed. ERROR: %d\n", ret); return ret);
    ret = aclrtCreateStream(&stream);
    CHECK_RET(ret == 0, LOG_PRINT("aclrtCreateStream failed. ERROR: %d\n", ret); return ret);

    std::vector<int64_t> unpooled = {1, 2, 2, 4}, pooled = {1, 2, 1, 3};
    std::vector<float> grad(16);
    std::iota(grad.begin(), grad.end(), 0.0f);
    std::vector<float> self(6, 0.0f), out(6, -1.0f);
    // -1 and -8 count from the plane's end.
    std::vector<int64_t> indices = {0, 7, 3, -1, -8, 5};
    void *addr[4] = {};
    aclTensor *gradOutput = Tensor(grad, unpooled, ACL_FLOAT, &addr[0]);
    aclTensor *selfTensor = Tensor(self, pooled, ACL_FLOAT, &addr[1]);
    aclTensor *indexTensor = Tensor(indices, pooled, ACL_INT64, &addr[2]);
    aclTensor *outTensor = Tensor(out, pooled, ACL_FLOAT, &addr[3]);
    std::vector<int64_t> sizes = {2, 4};
    aclIntArray *outputSize = aclCreateIntArray(sizes.data(), 2);
    CHECK_RET(gradOutput && selfTensor && indexTensor && outTensor && outputSize, return 1);

    uint64_t workspaceSize = 0;
    aclOpExecutor *executor;
    ret = aclnnMaxUnpool2dBackwardGetWorkspaceSize(gradOutput, selfTensor, indexTensor, outputSize, outTensor,
                                                   &workspaceSize, &executor);
    CHECK_RET(ret == ACL_SUCCESS, LOG_PRINT("phase 1 failed. ERROR: %d\n", ret); return ret);
    void *workspaceAddr = nullptr;
    if (workspaceSize > 0) {
        ret = aclrtMalloc(&workspaceAddr, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST);
        CHECK_RET(ret == ACL_SUCCESS, LOG_PRINT("allocate workspace failed. ERROR: %d\n", ret); return ret);
    }
    ret = aclnnMaxUnpool2dBackward(workspaceAddr, workspaceSize, executor, stream);
    CHECK_RET(ret == ACL_SUCCESS, LOG_PRINT("phase 2 failed. ERROR: %d\n", ret); return ret);
    ret = aclrtSynchronizeStream(stream);
    CHECK_RET(ret == ACL_SUCCESS, LOG_PRINT("aclrtSynchronizeStream failed. ERROR: %d\n", ret); return ret);

    ret = aclrtMemcpy(out.data(), out.size() * sizeof(out[0]), addr[3], out.size() * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST);
    CHECK_RET(ret == ACL_SUCCESS, LOG_PRINT("copy failed. ERROR: %d\n", ret); return ret);
    for (size_t i = 0; i < out.size(); i++) {
        LOG_PRINT("result[%zu] is: %f\n", i, out[i]);
    }

    // An index outside is told by the synchronisation that follows, and only by that.
    indices[4] = 8;
    ret = aclrtMemcpy(addr[2], 48, indices.data(), 48, ACL_MEMCPY_HOST_TO_DEVICE);
    CHECK_RET(ret == ACL_SUCCESS, return ret);
    ret = aclnnMaxUnpool2dBackwardGetWorkspaceSize(gradOutput, selfTensor, indexTensor, outputSize, outTensor,
                                                   &workspaceSize, &executor);
    CHECK_RET(ret == ACL_SUCCESS, return ret);
    ret = aclnnMaxUnpool2dBackward(workspaceAddr, workspaceSize, executor, stream);
    LOG_PRINT("phase 2: %d\n", ret);
    ret = aclrtSynchronizeStream(stream);
    LOG_PRINT("synchronise: %d %s\n", ret, aclGetRecentErrMsg());
    LOG_PRINT("again: %d\n", aclrtSynchronizeStream(stream));

    aclDestroyTensor(gradOutput);
    aclDestroyTensor(selfTensor);
    aclDestroyTensor(indexTensor);
    aclDestroyTensor(outTensor);
    aclDestroyIntArray(outputSize);
    for (void *a : addr) aclrtFree(a);
    if (workspaceSize > 0) {
        aclrtFree(workspaceAddr);
    }
    aclrtDestroyStream(stream);
    aclrtResetDevice(deviceId);
    aclFinalize();
    return 0;
}
