/* Starts and ends: of the library, of streams that belong to a context, of the device while another thread begins anew. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

static void told(const char *what, int status) { printf("%s: %d\n", what, status); }

/* aclnnInit stands for aclInit where a program calls operators alone, and is fine beside it. */
static void initialisation(void) {
    printf("-- initialisation\n");
    told("operators", aclnnInit(NULL));
    told("operators again", aclnnInit(NULL));
    told("device", aclrtSetDevice(0));
    told("end of operators", aclnnFinalize());
    told("end of operators again", aclnnFinalize());
    told("device behind the end", aclrtSetDevice(0));
    told("operators", aclnnInit(NULL));
    told("runtime beside them", aclInit(NULL));
    told("runtime again", aclInit(NULL));
    told("end of operators", aclnnFinalize());
    told("device", aclrtSetDevice(0));
    told("end of the runtime", aclFinalize());
    told("end of the runtime again", aclFinalize());
    told("device behind the end", aclrtSetDevice(0));
}

static void default_streams(void) {
    aclrtContext context = NULL;
    aclrtStream stream = NULL;

    printf("-- default streams\n");
    told("runtime", aclInit(NULL));
    told("device", aclrtSetDevice(0));
    told("default stream", aclrtCtxGetCurrentDefaultStream(&stream));
    told("destroy it", aclrtDestroyStream(stream));
    printf("%s\n", aclGetRecentErrMsg());
    told("by force", aclrtDestroyStreamForce(stream));
    told("it is still there", aclrtSynchronizeStream(NULL));
    told("context", aclrtCreateContext(&context, 0));
    told("its default stream", aclrtCtxGetCurrentDefaultStream(&stream));
    told("destroy it", aclrtDestroyStream(stream));
    told("destroy the context", aclrtDestroyContext(context));
    told("which is gone", aclrtSetCurrentContext(context));
    told("device again", aclrtSetDevice(0));
    told("its stream is gone too", aclrtSynchronizeStream(stream));
    told("reset", aclrtResetDeviceForce(0));
}

static atomic_bool gate;

static void wait_for_gate(void *unused) {
    (void)unused;
    while (!atomic_load(&gate)) sched_yield();
}

static void *reset(void *status) {
    *(int *)status = aclrtResetDevice(0);
    return NULL;
}

/* What is made while a reset waits for a stream is not part of what the reset ends. */
static void resets(void) {
    pthread_t other;
    aclrtStream old = NULL, stream = NULL;
    aclrtEvent event = NULL;
    void *address = NULL;
    char host[64] = {0};
    int status = -1;

    printf("-- reset\n");
    told("device", aclrtSetDevice(0));
    told("stream", aclrtCreateStream(&old));
    told("host function", aclrtLaunchHostFunc(old, wait_for_gate, NULL));
    if (pthread_create(&other, NULL, reset, &status) != 0) return;
    for (int32_t active = 1; active;) {
        if (aclrtGetPrimaryCtxState(0, NULL, &active) != ACL_SUCCESS) return;
        sched_yield();
    }
    told("device meanwhile", aclrtSetDevice(0));
    told("malloc", aclrtMalloc(&address, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST));
    told("stream", aclrtCreateStream(&stream));
    told("event", aclrtCreateEvent(&event));
    atomic_store(&gate, true);
    pthread_join(other, NULL);
    told("reset", status);
    told("copy", aclrtMemcpyAsync(address, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    told("record", aclrtRecordEvent(event, stream));
    told("synchronise", aclrtSynchronizeEvent(event));
    told("free", aclrtFree(address));
    told("the old stream", aclrtSynchronizeStream(old));
    told("end", aclFinalize());
}

int main(void) {
    initialisation();
    default_streams();
    resets();
    return 0;
}
