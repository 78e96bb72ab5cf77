// Random calls with living, destroyed, swapped and invented arguments: every call returns, and none of them breaks the library,
// which at the end still computes. First one thread that runs kernels too, then several that share all handles.
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_grid_sampler2d_backward.h"
#include "aclnnop/aclnn_im2col_backward.h"
#include "aclnnop/aclnn_max_unpool2d_backward.h"
#include "aclnnop/aclnn_pad2d_backward.h"

/// A generator whose numbers are the same everywhere.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t below(uint64_t n) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return (state_ >> 33) % n;
    }

private:
    uint64_t state_;
};

/// Everything that was ever made, of all kinds and mostly gone: what a confused client would pass.
class Pool {
public:
    void add(void *handle) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (handles_.size() < 64) handles_.push_back(handle);
        else handles_[next_++ % 64] = handle;
    }
    void *any(Random &random) {
        std::lock_guard<std::mutex> lock(mutex_);
        switch (random.below(8)) {
            case 0: return nullptr;
            case 1: return reinterpret_cast<void *>(random.below(1u << 20));
            default: return handles_.empty() ? nullptr : handles_[random.below(handles_.size())];
        }
    }

private:
    std::mutex mutex_;
    std::vector<void *> handles_;
    uint64_t next_ = 0;
};

static Pool pool;
// Addresses are kept apart so that only memory calls and tensors get them.
static Pool addresses;

template <typename T>
static T *handle(Random &random) {
    return static_cast<T *>(pool.any(random));
}

static void make(Random &random) {
    const int64_t shapes[6][4] = {{1, 1, 3, 3}, {1, 1, 2, 2}, {1, 2, 2, 2}, {4, 4, 1, 1}, {1, 0, 3, 3}, {-1, 2, 3, 1 << 30}};
    const aclDataType types[5] = {ACL_FLOAT, ACL_FLOAT, ACL_FLOAT16, ACL_INT64, ACL_STRING};
    const int64_t values[6] = {2, 2, 1, 1, -1, 7};
    const bool both[2] = {true, random.below(2) == 1};
    void *made = nullptr;
    switch (random.below(6)) {
        case 0: case 1: case 2: {
            const int64_t *shape = shapes[random.below(6)];
            made = aclCreateTensor(shape, 2 + random.below(3), types[random.below(5)], nullptr, random.below(3), ACL_FORMAT_ND,
                                   shape, 2, addresses.any(random));
            break;
        }
        case 3: made = aclCreateIntArray(values + random.below(4), 1 + random.below(2) + random.below(2)); break;
        case 4: made = aclCreateBoolArray(both, 2); break;
        default: {
            void *address = nullptr;
            if (aclrtMalloc(&address, random.below(512), ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) addresses.add(address);
            return;
        }
    }
    pool.add(made);
}

static int prepare(Random &random) {
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    aclTensor *t[5];
    aclIntArray *a[5];
    for (auto &tensor : t) tensor = handle<aclTensor>(random);
    for (auto &array : a) array = handle<aclIntArray>(random);
    int status;
    switch (random.below(5)) {
        case 0: status = aclnnGridSampler2DBackwardGetWorkspaceSize(t[0], t[1], t[2], random.below(4), random.below(4), true, handle<aclBoolArray>(random), t[3], t[4], &size, &executor); break;
        case 1: status = aclnnMaxUnpool2dBackwardGetWorkspaceSize(t[0], t[1], t[2], a[0], t[3], &size, &executor); break;
        case 2: status = aclnnReplicationPad2dBackwardGetWorkspaceSize(t[0], t[1], a[0], t[2], &size, &executor); break;
        case 3: status = aclnnReflectionPad2dBackwardGetWorkspaceSize(t[0], t[1], a[0], t[2], &size, &executor); break;
        default: status = aclnnIm2colBackwardGetWorkspaceSize(t[0], a[0], a[1], a[2], a[3], a[4], t[1], &size, &executor); break;
    }
    if (status == ACL_SUCCESS) pool.add(executor);
    if (status == ACL_SUCCESS && random.below(2)) status = aclSetAclOpExecutorRepeatable(executor);
    return status;
}

static int end(Random &random) {
    switch (random.below(8)) {
        case 0: return aclDestroyTensor(handle<aclTensor>(random));
        case 1: return aclDestroyIntArray(handle<aclIntArray>(random));
        case 2: return aclDestroyBoolArray(handle<aclBoolArray>(random));
        case 3: return aclDestroyAclOpExecutor(handle<aclOpExecutor>(random));
        case 4: return aclSetInputTensorAddr(handle<aclOpExecutor>(random), random.below(4), handle<aclTensor>(random), addresses.any(random));
        case 5: return aclrtDestroyEvent(pool.any(random));
        case 6: return aclDestroyTensorList(handle<aclTensorList>(random));
        default: {
            int64_t *view = nullptr;
            uint64_t count = 0;
            int status = aclGetViewShape(handle<aclTensor>(random), &view, &count);
            if (status == ACL_SUCCESS) delete[] view;
            return status;
        }
    }
}

static int launched = 0, prepared = 0;
static int launch(int status) {
    launched += status == ACL_SUCCESS;
    return status;
}

static int run(Random &random, void *workspace) {
    auto *executor = handle<aclOpExecutor>(random);
    aclrtStream stream = random.below(4) ? nullptr : pool.any(random);
    char host[64] = {};
    switch (random.below(8)) {
        case 0: return launch(aclnnGridSampler2DBackward(workspace, 1 << 25, executor, stream));
        case 1: return launch(aclnnMaxUnpool2dBackward(workspace, 1 << 25, executor, stream));
        case 2: return launch(aclnnReplicationPad2dBackward(workspace, 1 << 25, executor, stream));
        case 3: return aclnnReflectionPad2dBackward(addresses.any(random), random.below(1 << 25), executor, stream);
        case 4: return launch(aclnnIm2colBackward(workspace, 1 << 25, executor, stream));
        case 5: return aclrtMemcpyAsync(addresses.any(random), 64, host, random.below(65), ACL_MEMCPY_HOST_TO_DEVICE, stream) + aclrtSynchronizeDevice();
        case 6: return aclrtFree(addresses.any(random));
        default: return aclrtSynchronizeStream(stream);
    }
}

int main() {
    if (aclInit(nullptr) || aclrtSetDevice(0)) return 1;
    void *workspace = nullptr;
    if (aclrtMalloc(&workspace, 1 << 25, ACL_MEM_MALLOC_HUGE_FIRST)) return 1;
    Random random(1);
    int succeeded = 0, refused = 0;
    auto count = [&](int status) { (status == ACL_SUCCESS ? succeeded : refused)++; };
    for (int i = 0; i < 40000; ++i) {
        switch (random.below(4)) {
            case 0: make(random); break;
            case 1: prepared += prepare(random) == ACL_SUCCESS; break;
            case 2: count(run(random, workspace)); break;
            default: count(end(random)); break;
        }
    }
    aclrtSynchronizeDevice();
    std::printf("prepared: %d, launched: %d, succeeded: %d, refused: %d\n", prepared > 100, launched > 10, succeeded > 100, refused > 100);

    std::vector<std::thread> threads;
    for (uint64_t seed = 2; seed < 6; ++seed) {
        threads.emplace_back([seed] {
            Random mine(seed);
            for (int i = 0; i < 5000; ++i) {
                switch (mine.below(3)) {
                    case 0: make(mine); break;
                    case 1: prepare(mine); break;
                    default: end(mine); break;
                }
            }
        });
    }
    for (std::thread &thread : threads) thread.join();

    // A column of ones is still an image of ones.
    const int64_t columns[2] = {4, 1}, image[3] = {1, 2, 2}, two[2] = {2, 2}, one[2] = {1, 1}, none[2] = {0, 0};
    const float ones[4] = {1, 1, 1, 1};
    float result[4] = {};
    void *from = nullptr, *to = nullptr;
    if (aclrtMalloc(&from, 16, ACL_MEM_MALLOC_HUGE_FIRST) || aclrtMalloc(&to, 16, ACL_MEM_MALLOC_HUGE_FIRST)) return 1;
    if (aclrtMemcpy(from, 16, ones, 16, ACL_MEMCPY_HOST_TO_DEVICE)) return 1;
    aclTensor *grad = aclCreateTensor(columns, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, columns, 2, from);
    aclTensor *out = aclCreateTensor(image, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, image, 3, to);
    aclIntArray *size = aclCreateIntArray(two, 2), *unit = aclCreateIntArray(one, 2), *zero = aclCreateIntArray(none, 2);
    uint64_t bytes = 0;
    aclOpExecutor *executor = nullptr;
    if (aclnnIm2colBackwardGetWorkspaceSize(grad, size, size, unit, zero, unit, out, &bytes, &executor)) return 1;
    if (aclnnIm2colBackward(workspace, 1 << 25, executor, nullptr) || aclrtSynchronizeStream(nullptr)) return 1;
    if (aclrtMemcpy(result, 16, to, 16, ACL_MEMCPY_DEVICE_TO_HOST)) return 1;
    std::printf("still computes: %g %g %g %g\n", result[0], result[1], result[2], result[3]);
    return aclrtResetDevice(0) || aclFinalize();
}
