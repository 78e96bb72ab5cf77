// Several streams, events, threads and callbacks at once: each thread uploads, pads, waits and downloads on streams of its own,
// and a last stream that waits for all of them adds up on the host.
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_pad2d_backward.h"

static void check(int status, const char *what) {
    if (status == ACL_SUCCESS) return;
    const char *text = aclGetRecentErrMsg();
    std::printf("%s: %d %s\n", what, status, text ? text : "");
    std::exit(1);
}

constexpr int THREADS = 4, ROUNDS = 25;
constexpr int64_t C = 3, H = 8, W = 16;
constexpr size_t PADDED = C * (H + 2) * (W + 2), IMAGE = C * H * W;

static std::atomic<int> callbacks{0};

static void count(void *amount) { callbacks += *static_cast<int *>(amount); }

/// Uploads on one stream, computes on another, downloads on the first; records `done` behind the last download.
static void work(int number, aclrtContext context, aclrtEvent done, float *total) {
    check(aclrtSetCurrentContext(context), "context");
    aclrtStream copies = nullptr, kernels = nullptr;
    aclrtEvent ready = nullptr, computed = nullptr;
    check(aclrtCreateStream(&copies), "stream");
    check(aclrtCreateStreamWithConfig(&kernels, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC), "stream");
    check(aclrtCreateEvent(&ready), "event");
    check(aclrtCreateEventWithFlag(&computed, ACL_EVENT_SYNC), "event");
    float *host = nullptr, *result = nullptr;
    check(aclrtMallocHost(reinterpret_cast<void **>(&host), PADDED * sizeof(float)), "host memory");
    check(aclrtMallocHost(reinterpret_cast<void **>(&result), IMAGE * sizeof(float)), "host memory");
    void *grad_address = nullptr, *out_address = nullptr, *workspace = nullptr;
    check(aclrtMalloc(&grad_address, PADDED * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    check(aclrtMalloc(&out_address, IMAGE * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    const int64_t padded[3] = {C, H + 2, W + 2}, image[3] = {C, H, W}, pads[4] = {1, 1, 1, 1};
    aclTensor *grad = aclCreateTensor(padded, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, padded, 3, grad_address);
    aclTensor *out = aclCreateTensor(image, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, image, 3, out_address);
    aclIntArray *padding = aclCreateIntArray(pads, 4);
    *total = 0;
    int one = 1;
    for (int round = 0; round < ROUNDS; ++round) {
        // The replication of a constant: every corner cell gets four, every edge two.
        for (size_t i = 0; i < PADDED; ++i) host[i] = static_cast<float>(number + round);
        check(aclrtMemcpyAsync(grad_address, PADDED * sizeof(float), host, PADDED * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE, copies), "upload");
        check(aclrtRecordEvent(ready, copies), "record");
        check(aclrtStreamWaitEvent(kernels, ready), "wait");
        uint64_t size = 0;
        aclOpExecutor *executor = nullptr;
        check(aclnnReplicationPad2dBackwardGetWorkspaceSize(grad, out, padding, out, &size, &executor), "phase 1");
        if (size > 0 && workspace == nullptr) check(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
        check(aclnnReplicationPad2dBackward(workspace, size, executor, kernels), "phase 2");
        check(aclrtRecordEvent(computed, kernels), "record");
        check(aclrtStreamWaitEvent(copies, computed), "wait");
        check(aclrtMemcpyAsync(result, IMAGE * sizeof(float), out_address, IMAGE * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST, copies), "download");
        check(aclrtLaunchHostFunc(copies, count, &one), "host function");
        check(aclrtSynchronizeStream(copies), "synchronise");
        for (size_t i = 0; i < IMAGE; ++i) *total += result[i];
    }
    check(aclrtRecordEvent(done, copies), "record");
    check(aclrtDestroyStream(copies), "destroy");
    check(aclrtDestroyStream(kernels), "destroy");
    check(aclrtDestroyEvent(ready), "destroy");
    check(aclrtDestroyEvent(computed), "destroy");
    aclDestroyTensor(grad);
    aclDestroyTensor(out);
    aclDestroyIntArray(padding);
    for (void *address : {grad_address, out_address, workspace})
        if (address) check(aclrtFree(address), "free");
    check(aclrtFreeHost(host), "free");
    check(aclrtFreeHost(result), "free");
}

/// Takes a stream's callbacks until it is told to stop.
static void *take(void *stop) {
    while (!static_cast<std::atomic<bool> *>(stop)->load()) aclrtProcessReport(10);
    return nullptr;
}

/// One thread takes the callbacks of two streams, and goes on with those of one.
static void reports(aclrtStream stream, aclrtStream other) {
    std::atomic<bool> stop{false};
    pthread_t taker;
    pthread_create(&taker, nullptr, take, &stop);
    check(aclrtSubscribeReport(static_cast<uint64_t>(taker), stream), "subscribe");
    check(aclrtSubscribeReport(static_cast<uint64_t>(taker), other), "subscribe");
    check(aclrtUnSubscribeReport(static_cast<uint64_t>(taker), other), "unsubscribe");
    int thousand = 1000;
    for (int i = 0; i < 3; ++i) check(aclrtLaunchCallback(count, &thousand, i == 2 ? ACL_CALLBACK_BLOCK : ACL_CALLBACK_NO_BLOCK, stream), "callback");
    check(aclrtSynchronizeStream(stream), "synchronise");
    check(aclrtUnSubscribeReport(static_cast<uint64_t>(taker), stream), "unsubscribe");
    stop = true;
    pthread_join(taker, nullptr);
}

static void wait_for(void *gate) {
    while (!static_cast<std::atomic<bool> *>(gate)->load()) std::this_thread::yield();
}

/// A stream waits for the record that was the latest then, although a quicker stream records the event too, and the event ends.
static void slow_record(aclrtStream slow, aclrtStream quick) {
    std::atomic<bool> gate{false};
    aclrtStream waiting = nullptr;
    aclrtEvent event = nullptr;
    check(aclrtCreateStream(&waiting), "stream");
    check(aclrtCreateEvent(&event), "event");
    check(aclrtLaunchHostFunc(slow, wait_for, &gate), "host function");
    check(aclrtRecordEvent(event, slow), "record");
    check(aclrtStreamWaitEvent(waiting, event), "wait");
    check(aclrtRecordEvent(event, quick), "record");
    check(aclrtSynchronizeEvent(event), "synchronise");
    std::printf("behind a slow record: %d", aclrtSynchronizeStreamWithTimeout(waiting, 50));
    check(aclrtDestroyEvent(event), "destroy");
    std::printf(" %d", aclrtSynchronizeStreamWithTimeout(waiting, 50));
    gate = true;
    std::printf(" %d\n", aclrtSynchronizeStream(waiting));
    check(aclrtDestroyStream(waiting), "destroy");
}

int main() {
    check(aclInit(nullptr), "init");
    check(aclrtSetDevice(0), "device");
    aclrtContext context = nullptr;
    check(aclrtCreateContext(&context, 0), "context");
    aclrtStream last = nullptr, other = nullptr;
    check(aclrtCreateStream(&last), "stream");
    check(aclrtCreateStream(&other), "stream");
    aclrtEvent done[THREADS], start = nullptr, end = nullptr;
    check(aclrtCreateEvent(&start), "event");
    check(aclrtCreateEvent(&end), "event");
    check(aclrtRecordEvent(start, last), "record");
    std::vector<float> totals(THREADS);
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; ++i) {
        check(aclrtCreateEvent(&done[i]), "event");
        // Before it is recorded: the stream waits for the record to come.
        check(aclrtStreamWaitEvent(last, done[i]), "wait");
        threads.emplace_back(work, i, context, done[i], &totals[i]);
    }
    check(aclrtRecordEvent(end, last), "record");
    check(aclrtSynchronizeEvent(end), "synchronise");
    for (std::thread &thread : threads) thread.join();
    for (float total : totals) std::printf("%.0f ", total / PADDED);
    float ms = -1;
    check(aclrtEventElapsedTime(&ms, start, end), "elapsed");
    std::printf("\ntime has passed: %d\n", ms > 0);
    std::printf("end before start: %d\n", aclrtEventElapsedTime(&ms, end, start));
    slow_record(last, other);
    reports(last, other);
    std::printf("callbacks: %d\n", callbacks.load());
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    check(aclrtStreamQuery(last, &status), "query");
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    check(aclrtQueryEventStatus(end, &recorded), "query");
    std::printf("idle: %d, recorded: %d\n", status == ACL_STREAM_STATUS_COMPLETE, recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    for (aclrtEvent event : done) check(aclrtDestroyEvent(event), "destroy");
    check(aclrtDestroyEvent(start), "destroy");
    check(aclrtDestroyEvent(end), "destroy");
    check(aclrtDestroyStream(last), "destroy");
    check(aclrtDestroyStream(other), "destroy");
    check(aclrtDestroyContext(context), "destroy");
    check(aclrtResetDevice(0), "reset");
    check(aclFinalize(), "finalise");
    return 0;
}
