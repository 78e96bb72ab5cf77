// As frameworks do it: libraries opened by name, functions looked up by name, tensors made from whatever there is, and released
// by a second thread that launches.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

typedef struct aclOpExecutor aclOpExecutor;
typedef struct aclTensor aclTensor;
typedef struct aclIntArray aclIntArray;
typedef aclTensor *(*CreateTensor)(const int64_t *, uint64_t, aclDataType, const int64_t *, int64_t, aclFormat,
                                   const int64_t *, uint64_t, void *);
typedef aclIntArray *(*CreateIntArray)(const int64_t *, uint64_t);
typedef int (*Destroy)(const void *);
typedef int (*Phase1)(const aclTensor *, const aclIntArray *, const aclIntArray *, const aclIntArray *, const aclIntArray *,
                      const aclIntArray *, aclTensor *, uint64_t *, aclOpExecutor **);
typedef int (*Phase2)(void *, uint64_t, aclOpExecutor *, const aclrtStream);

template <typename F>
static F look(const char *name) {
    static void *library = dlopen("libopapi.so", RTLD_LAZY);
    void *found = library ? dlsym(library, name) : nullptr;
    if (!found) {
        std::printf("%s is not there: %s\n", name, dlerror());
        std::exit(1);
    }
    return reinterpret_cast<F>(found);
}

int main() {
    for (const char *name : {"libascendcl.so", "libnnopbase.so", "libopapi.so", "libacl_rt.so", "libopapi_math.so",
                             "libopapi_cv.so", "libopapi_nn.so"}) {
        void *library = dlopen(name, RTLD_NOW);
        std::printf("%s: %d\n", name, library && dlsym(library, "aclrtMalloc") == reinterpret_cast<void *>(aclrtMalloc));
        if (library) dlclose(library);
    }
    void *mine = dlopen("libopapi.so", RTLD_LAZY);
    for (const char *name : {"InitHugeMemThreadLocal", "aclnnAdd", "rust_eh_personality"}) {
        std::printf("%s: %d\n", name, dlsym(mine, name) != nullptr);
    }

    if (aclInit(nullptr) || aclrtSetDevice(0)) return 1;
    aclrtStream stream = nullptr;
    if (aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC)) return 1;
    const int64_t columns[3] = {1, 4, 1}, image[4] = {1, 1, 2, 2}, two[2] = {2, 2}, one[2] = {1, 1}, none[2] = {0, 0};
    const float values[4] = {1, 2, 3, 4};
    void *from = nullptr, *to = nullptr;
    if (aclrtMallocAlign32(&from, 16, ACL_MEM_MALLOC_HUGE_FIRST) || aclrtMallocAlign32(&to, 16, ACL_MEM_MALLOC_HUGE_FIRST)) return 1;
    if (aclrtMemcpy(from, 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE)) return 1;
    const int64_t storage[1] = {4};
    const int64_t strides[4] = {4, 4, 2, 1}, column_strides[3] = {4, 1, 1};
    aclTensor *grad = look<CreateTensor>("aclCreateTensor")(columns, 3, ACL_FLOAT, column_strides, 0, ACL_FORMAT_NCL, storage, 1, from);
    aclTensor *out = look<CreateTensor>("aclCreateTensor")(image, 4, ACL_FLOAT, strides, 0, ACL_FORMAT_NCHW, storage, 1, to);
    std::vector<aclIntArray *> arrays;
    for (const int64_t *pair : {two, two, one, none, one}) arrays.push_back(look<CreateIntArray>("aclCreateIntArray")(pair, 2));

    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    int status = look<Phase1>("aclnnIm2colBackwardGetWorkspaceSize")(grad, arrays[0], arrays[1], arrays[2], arrays[3],
                                                                     arrays[4], out, &size, &executor);
    std::printf("phase 1: %d\n", status);
    // The queue of a framework: another thread launches and lets the arguments go.
    std::thread launcher([&] {
        aclrtSetDevice(0);
        void *workspace = nullptr;
        if (size && aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST)) std::exit(1);
        std::printf("phase 2: %d\n", look<Phase2>("aclnnIm2colBackward")(workspace, size, executor, stream));
        look<Destroy>("aclDestroyTensor")(grad);
        look<Destroy>("aclDestroyTensor")(out);
        for (aclIntArray *array : arrays) look<Destroy>("aclDestroyIntArray")(array);
        // Freed before the kernel is done, as caching allocators may: the memory stays until it is.
        if (workspace) aclrtFree(workspace);
        aclrtResetDevice(0);
    });
    launcher.join();
    float result[4];
    if (aclrtMemcpyAsync(result, 16, to, 16, ACL_MEMCPY_DEVICE_TO_HOST, stream) || aclrtSynchronizeStream(stream)) return 1;
    std::printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);
    aclrtFree(from);
    aclrtFree(to);
    dlclose(mine);
    // Nothing else is ended: the process is.
    return 0;
}
