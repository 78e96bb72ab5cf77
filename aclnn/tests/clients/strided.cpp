// Tensors that are views: transposed, spread and offset, inputs and outputs as parts of one storage. The same numbers must come
// out as from contiguous tensors.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_grid_sampler2d_backward.h"
#include "aclnnop/aclnn_im2col_backward.h"
#include "aclnnop/aclnn_max_unpool2d_backward.h"

static void check(int status, const char *what) {
    if (status == ACL_SUCCESS) return;
    const char *text = aclGetRecentErrMsg();
    std::printf("%s: %d %s\n", what, status, text ? text : "");
    std::exit(1);
}

using Sizes = std::vector<int64_t>;

/// A view of a storage of floats on the device.
struct View {
    Sizes shape, strides;
    int64_t offset;

    int64_t at(int64_t element) const {
        int64_t place = offset;
        for (size_t i = shape.size(); i-- > 0;) {
            place += element % shape[i] * strides[i];
            element /= shape[i];
        }
        return place;
    }
    int64_t count() const {
        int64_t n = 1;
        for (int64_t size : shape) n *= size;
        return n;
    }
    aclTensor *tensor(void *storage, int64_t elements) const {
        return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), offset, ACL_FORMAT_ND, &elements, 1,
                               storage);
    }
};

static View contiguous(Sizes shape, int64_t offset) {
    Sizes strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
    return {shape, strides, offset};
}

constexpr int64_t STORAGE = 4096;

/// Computes on views of one storage, and gives the outputs' elements and whether anything else changed.
static std::vector<float> sample(const View views[5], bool &others_stay) {
    std::vector<float> host(STORAGE, 1000.0f), before;
    for (int v = 0; v < 3; ++v)
        for (int64_t i = 0; i < views[v].count(); ++i)
            host[views[v].at(i)] = v == 2 ? static_cast<float>(i % 9) / 4.5f - 1.0f : static_cast<float>((i * 5 + v) % 17);
    before = host;
    void *storage = nullptr;
    check(aclrtMalloc(&storage, STORAGE * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    check(aclrtMemcpy(storage, STORAGE * sizeof(float), host.data(), STORAGE * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE), "copy");
    aclTensor *tensor[5];
    for (int v = 0; v < 5; ++v) tensor[v] = views[v].tensor(storage, STORAGE);
    const bool both[2] = {true, true};
    aclBoolArray *mask = aclCreateBoolArray(both, 2);
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    check(aclnnGridSampler2DBackwardGetWorkspaceSize(tensor[0], tensor[1], tensor[2], 0, 1, false, mask, tensor[3],
                                                     tensor[4], &size, &executor), "phase 1");
    void *workspace = nullptr;
    if (size) check(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    check(aclnnGridSampler2DBackward(workspace, size, executor, nullptr), "phase 2");
    check(aclrtSynchronizeStream(nullptr), "synchronise");
    check(aclrtMemcpy(host.data(), STORAGE * sizeof(float), storage, STORAGE * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST), "copy");
    std::vector<float> results;
    for (int v = 3; v < 5; ++v)
        for (int64_t i = 0; i < views[v].count(); ++i) {
            results.push_back(host[views[v].at(i)]);
            before[views[v].at(i)] = host[views[v].at(i)];
        }
    others_stay = before == host;
    for (aclTensor *t : tensor) aclDestroyTensor(t);
    aclDestroyBoolArray(mask);
    check(aclrtFree(storage), "free");
    if (workspace) check(aclrtFree(workspace), "free");
    return results;
}

/// The getters give back what a tensor was made with.
static void getters() {
    const int64_t shape[2] = {2, 3}, strides[2] = {4, 1}, storage[1] = {8};
    aclTensor *t = aclCreateTensor(shape, 2, ACL_FLOAT16, strides, 1, ACL_FORMAT_NCHW, storage, 1, nullptr);
    int64_t *view = nullptr, *steps = nullptr, *memory = nullptr, offset = 0;
    uint64_t n = 0, m = 0, k = 0;
    aclFormat format;
    aclDataType type;
    check(aclGetViewShape(t, &view, &n), "shape");
    check(aclGetViewStrides(t, &steps, &m), "strides");
    check(aclGetStorageShape(t, &memory, &k), "storage");
    check(aclGetViewOffset(t, &offset), "offset");
    check(aclGetFormat(t, &format), "format");
    check(aclGetDataType(t, &type), "type");
    std::printf("%d: %d %d; %d: %d %d; %d: %d; offset %d, format %d, type %d\n", int(n), int(view[0]), int(view[1]), int(m),
                int(steps[0]), int(steps[1]), int(k), int(memory[0]), int(offset), int(format), int(type));
    delete[] view;
    delete[] steps;
    delete[] memory;
    aclDestroyTensor(t);
}

/// Indices of 32 bits from the end of a plane that they do not count through, of one element at every place.
static void from_the_end() {
    const Sizes plane = {1, 1, 50000, 60000}, pooled = {1, 1, 1, 3}, everywhere(4, 0), size = {50000, 60000};
    const int8_t seven[1] = {7}, none[3] = {0, 0, 0};
    const int32_t indices[3] = {-1, 5, INT32_MIN};
    const size_t bytes[4] = {sizeof seven, sizeof none, sizeof indices, sizeof none};
    const void *from[4] = {seven, none, indices, none};
    void *at[4];
    for (int i = 0; i < 4; ++i) {
        check(aclrtMalloc(&at[i], bytes[i], ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
        check(aclrtMemcpy(at[i], bytes[i], from[i], bytes[i], ACL_MEMCPY_HOST_TO_DEVICE), "copy");
    }
    const int64_t one[1] = {1};
    auto tensor = [&](aclDataType type, int i) {
        return aclCreateTensor(pooled.data(), 4, type, nullptr, 0, ACL_FORMAT_NCHW, pooled.data(), 4, at[i]);
    };
    aclTensor *tensors[4] = {
        aclCreateTensor(plane.data(), 4, ACL_INT8, everywhere.data(), 0, ACL_FORMAT_NCHW, one, 1, at[0]),
        tensor(ACL_INT8, 1), tensor(ACL_INT32, 2), tensor(ACL_INT8, 3)};
    aclIntArray *unpooled = aclCreateIntArray(size.data(), 2);
    uint64_t workspace_size = 0;
    aclOpExecutor *executor = nullptr;
    check(aclnnMaxUnpool2dBackwardGetWorkspaceSize(tensors[0], tensors[1], tensors[2], unpooled, tensors[3], &workspace_size,
                                                   &executor), "phase 1");
    // As much as the vendor's copies of the plane take; nothing of it is touched.
    void *workspace = nullptr;
    if (workspace_size) check(aclrtMalloc(&workspace, workspace_size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    check(aclnnMaxUnpool2dBackward(workspace, workspace_size, executor, nullptr), "phase 2");
    check(aclrtSynchronizeStream(nullptr), "synchronise");
    int8_t out[3];
    check(aclrtMemcpy(out, 3, at[3], 3, ACL_MEMCPY_DEVICE_TO_HOST), "copy");
    std::printf("from the end of a large plane: %d %d %d\n", out[0], out[1], out[2]);
    for (aclTensor *t : tensors) aclDestroyTensor(t);
    aclDestroyIntArray(unpooled);
    for (void *a : at) check(aclrtFree(a), "free");
    if (workspace) check(aclrtFree(workspace), "free");
}

int main() {
    check(aclInit(nullptr), "init");
    check(aclrtSetDevice(0), "device");
    const int64_t N = 2, C = 3, H = 4, W = 5, h = 3, w = 2;
    const View plain[5] = {contiguous({N, C, h, w}, 0), contiguous({N, C, H, W}, 100), contiguous({N, h, w, 2}, 300),
                           contiguous({N, C, H, W}, 400), contiguous({N, h, w, 2}, 600)};
    // Channels last, every second element, transposed; the outputs interleaved with the inputs and each other.
    const View spread[5] = {{{N, C, h, w}, {h * w * C, 1, w * C, C}, 7},
                            {{N, C, H, W}, {2 * C * H * W, 2 * H * W, 2 * W, 2}, 500},
                            {{N, h, w, 2}, {1, 2 * N, 2 * N * h, N}, 60},
                            {{N, C, H, W}, {2 * C * H * W, 2, 2 * C * W, 2 * C}, 501},
                            {{N, h, w, 2}, {2 * h * w, 2 * w, 2, 1}, 300}};
    bool plain_stays = false, spread_stays = false;
    std::vector<float> a = sample(plain, plain_stays), b = sample(spread, spread_stays);
    float sum = 0;
    for (int64_t i = 0; i < N * C * H * W; ++i) sum += a[i];
    std::printf("same results: %d, other elements stay: %d %d\n", a == b, plain_stays, spread_stays);
    float inputs = 0;
    for (int64_t i = 0; i < N * C * h * w; ++i) inputs += static_cast<float>((i * 5) % 17);
    // Border padding loses no weight.
    std::printf("sum of inputGrad is that of gradOutput: %d\n", sum > inputs - 0.01f && sum < inputs + 0.01f);
    getters();
    from_the_end();
    check(aclrtResetDevice(0), "reset");
    check(aclFinalize(), "finalise");
    return 0;
}
