// GridSampler2DBackward as a program for an Ascend calls it: in F32, and in F16 with one gradient left out.
#include <cstdio>
#include <iostream>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_grid_sampler2d_backward.h"

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        auto status_ = (call);                                                                        \
        if (status_ != ACL_SUCCESS) {                                                                 \
            const char *text_ = aclGetRecentErrMsg();                                                 \
            std::printf("%s: %d %s\n", #call, static_cast<int>(status_), text_ == nullptr ? "" : text_); \
            return 1;                                                                                 \
        }                                                                                             \
    } while (0)

namespace {

int64_t count(const std::vector<int64_t> &shape) {
    int64_t n = 1;
    for (int64_t size : shape) n *= size;
    return n;
}

template <typename T>
int to_device(const std::vector<T> &host, const std::vector<int64_t> &shape, aclDataType type, void **address,
              aclTensor **tensor) {
    size_t bytes = static_cast<size_t>(count(shape)) * sizeof(T);
    CHECK(aclrtMalloc(address, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(*address, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
    *tensor = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                              shape.size(), *address);
    return *tensor == nullptr;
}

template <typename T>
int compute(aclrtStream stream, aclDataType type, T (*from)(float), float (*to)(T), std::vector<char> wanted) {
    const std::vector<int64_t> image{1, 1, 3, 3}, points{1, 2, 2, 2}, samples{1, 1, 2, 2};
    std::vector<T> go, x, grid, dx(9, from(-5)), dgrid(8, from(-5));
    for (int i = 1; i <= 4; ++i) go.push_back(from(static_cast<float>(i)));
    for (int i = 1; i <= 9; ++i) x.push_back(from(static_cast<float>(i * i)));
    for (float g : {-1.0f, -1.0f, 0.0f, 0.0f, 0.5f, 0.5f, 1.0f, 0.5f}) grid.push_back(from(g));

    void *address[5] = {};
    aclTensor *tensor[5] = {};
    if (to_device(go, samples, type, &address[0], &tensor[0]) || to_device(x, image, type, &address[1], &tensor[1]) ||
        to_device(grid, points, type, &address[2], &tensor[2]) || to_device(dx, image, type, &address[3], &tensor[3]) ||
        to_device(dgrid, points, type, &address[4], &tensor[4])) {
        return 1;
    }
    const bool mask_values[2] = {wanted[0] != 0, wanted[1] != 0};
    aclBoolArray *mask = aclCreateBoolArray(mask_values, 2);

    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(aclnnGridSampler2DBackwardGetWorkspaceSize(tensor[0], tensor[1], tensor[2], 0, 0, true, mask, tensor[3],
                                                     tensor[4], &size, &executor));
    void *workspace = nullptr;
    if (size > 0) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclnnGridSampler2DBackward(workspace, size, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    CHECK(aclrtMemcpy(dx.data(), 9 * sizeof(T), address[3], 9 * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(aclrtMemcpy(dgrid.data(), 8 * sizeof(T), address[4], 8 * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
    std::cout << "inputGrad";
    for (T v : dx) std::cout << ' ' << to(v);
    std::cout << "\ngridGrad";
    for (T v : dgrid) std::cout << ' ' << to(v);
    std::cout << std::endl;

    for (aclTensor *t : tensor) CHECK(aclDestroyTensor(t));
    CHECK(aclDestroyBoolArray(mask));
    for (void *a : address) CHECK(aclrtFree(a));
    if (workspace != nullptr) CHECK(aclrtFree(workspace));
    return 0;
}

float same(float value) { return value; }

}  // namespace

int main() {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    CHECK(aclrtCreateStream(&stream));
    if (compute<float>(stream, ACL_FLOAT, same, same, {1, 1})) return 1;
    if (compute<aclFloat16>(stream, ACL_FLOAT16, aclFloatToFloat16, aclFloat16ToFloat, {1, 0})) return 1;
    if (compute<aclFloat16>(stream, ACL_FLOAT16, aclFloatToFloat16, aclFloat16ToFloat, {0, 1})) return 1;
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
