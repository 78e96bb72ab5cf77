/* What goes wrong is a status and a message that names the argument. Addresses, handles and large numbers are printed as "#". */
#include "acl/acl.h"
#include "aclnnop/aclnn_grid_sampler2d_backward.h"
#include "aclnnop/aclnn_im2col_backward.h"
#include "aclnnop/aclnn_max_unpool2d_backward.h"
#include "aclnnop/aclnn_pad2d_backward.h"

#include <stdlib.h>
#include <string.h>

/* Prints a status and the message behind it. */
static void told(const char *what, int status) {
    const char *text = aclGetRecentErrMsg();
    printf("%s: %d", what, status);
    if (text != NULL) printf(" | ");
    while (text != NULL && *text != '\0') {
        size_t address = strncmp(text, "0x", 2) == 0 ? 2 + strspn(text + 2, "0123456789abcdef") : 0;
        size_t number = strspn(text, "0123456789");
        if (address > 0 || number > 6) {
            putchar('#');
            text += address > 0 ? address : number;
        } else {
            putchar(*text++);
        }
    }
    putchar('\n');
}

static void *device(size_t size) {
    void *address = NULL;
    if (aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) exit(1);
    return address;
}

static aclTensor *tensor(aclDataType type, void *address, uint64_t rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t shape[4] = {a, b, c, d};
    return aclCreateTensor(shape, rank, type, NULL, 0, ACL_FORMAT_ND, shape, rank, address);
}

static void runtime(void) {
    void *address = NULL;
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    char host[64] = {0};

    printf("-- runtime\n");
    told("set before init", aclrtSetDevice(0));
    told("finalise before init", aclFinalize());
    told("init without file", aclInit("no/such/file.json"));
    told("init", aclInit(""));
    told("init again", aclInit(NULL));
    told("malloc without device", aclrtMalloc(&address, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    told("stream without device", aclrtCreateStream(&stream));
    told("another device", aclrtSetDevice(1));
    told("device", aclrtSetDevice(0));

    told("malloc nothing", aclrtMalloc(&address, 0, ACL_MEM_MALLOC_HUGE_FIRST));
    told("malloc nowhere", aclrtMalloc(NULL, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    told("malloc too much", aclrtMalloc(&address, (size_t)1 << 46, ACL_MEM_MALLOC_HUGE_FIRST));
    address = device(64);
    told("copy too much for destMax", aclrtMemcpy(address, 16, host, 32, ACL_MEMCPY_HOST_TO_DEVICE));
    told("copy beyond the allocation", aclrtMemcpy((char *)address + 48, 64, host, 32, ACL_MEMCPY_HOST_TO_DEVICE));
    told("copy from beyond", aclrtMemcpy(host, 64, (char *)address + 63, 2, ACL_MEMCPY_DEVICE_TO_HOST));
    told("copy to null", aclrtMemcpy(NULL, 64, host, 32, ACL_MEMCPY_HOST_TO_DEVICE));
    told("copy to the host as device", aclrtMemcpy(host, 64, host, 32, ACL_MEMCPY_HOST_TO_DEVICE));
    told("copy to the device as host", aclrtMemcpy(address, 64, host, 32, ACL_MEMCPY_HOST_TO_HOST));
    told("copy from nowhere", aclrtMemcpy(address, 64, (void *)(uintptr_t)64, 32, ACL_MEMCPY_HOST_TO_DEVICE));
    told("copy of no kind", aclrtMemcpy(address, 64, host, 32, (aclrtMemcpyKind)77));
    told("copy nothing behind the end", aclrtMemcpy((char *)address + 64, 0, host, 0, ACL_MEMCPY_HOST_TO_DEVICE));
    told("set too much", aclrtMemset(address, 16, 1, 32));
    told("free the middle", aclrtFree((char *)address + 8));
    told("free the host", aclrtFree(host));
    told("free", aclrtFree(address));
    told("free again", aclrtFree(address));
    told("copy into what was freed", aclrtMemcpy(address, 64, host, 32, ACL_MEMCPY_HOST_TO_DEVICE));
    told("free null", aclrtFree(NULL));

    told("stream", aclrtCreateStream(&stream));
    told("wrong timeout", aclrtSynchronizeStreamWithTimeout(stream, -7));
    told("destroy", aclrtDestroyStream(stream));
    told("destroy again", aclrtDestroyStream(stream));
    told("synchronise what was destroyed", aclrtSynchronizeStream(stream));
    told("event", aclrtCreateEvent(&event));
    told("event as stream", aclrtSynchronizeStream(event));
    told("event without record", aclrtSynchronizeEvent(event));
    told("destroy event", aclrtDestroyEvent(event));
    told("record on what was destroyed", aclrtRecordEvent(event, NULL));
    told("capability that is undefined", aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &(int64_t){0}));
    told("capability that is none", aclGetDeviceCapability(0, (aclDeviceInfo)-301, &(int64_t){0}));
    told("capability of another device", aclGetDeviceCapability(1, ACL_DEVICE_INFO_AI_CORE_NUM, &(int64_t){0}));
    told("attribute that is none", aclrtGetDeviceInfo(0, (aclrtDevAttr)-1, &(int64_t){0}));
    told("option that was not set", aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &(int64_t){0}));
}

static void objects(void) {
    const int64_t shape[2] = {2, 3}, negative[2] = {2, -3};
    aclTensor *t = NULL;
    int64_t *sizes = NULL;
    uint64_t rank = 0;

    printf("-- objects\n");
    /* Of so many sizes none is read. */
    told("too many sizes", aclCreateTensor(shape, 1u << 28, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 2, NULL) != NULL);
    told("too many sizes of the storage", aclCreateTensor(shape, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 1u << 28, NULL) != NULL);
    told("negative size", aclCreateTensor(negative, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 2, NULL) != NULL);
    told("negative stride", aclCreateTensor(shape, 2, ACL_FLOAT, negative, 0, ACL_FORMAT_ND, shape, 2, NULL) != NULL);
    told("no such type", aclCreateTensor(shape, 2, (aclDataType)5, NULL, 0, ACL_FORMAT_ND, shape, 2, NULL) != NULL);
    told("no sizes", aclCreateTensor(NULL, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, shape, 2, NULL) != NULL);
    told("no values", aclCreateIntArray(NULL, 2) != NULL);
    t = tensor(ACL_FLOAT, NULL, 2, 2, 3, 0, 0);
    told("sizes", aclGetViewShape(t, &sizes, &rank));
    printf("%d x %d\n", (int)sizes[0], (int)sizes[1]);
    free(sizes);
    told("destroy", aclDestroyTensor(t));
    told("destroy again", aclDestroyTensor(t));
    told("destroy what is none", aclDestroyIntArray((aclIntArray *)(void *)&shape));
    told("destroy null", aclDestroyTensor(NULL));
}

static void executors(void) {
    const int64_t pads[4] = {1, 1, 0, 0}, strides[3] = {100, 10, 1};
    static _Alignas(32) float host[2 * 3 * 5];
    uint64_t size = 7;
    aclOpExecutor *executor = NULL;
    void *grad_address = device(4 * 2 * 3 * 5), *out_address = device(4 * 2 * 3 * 3), *workspace;
    aclTensor *grad = tensor(ACL_FLOAT, grad_address, 3, 2, 3, 5, 0), *out = tensor(ACL_FLOAT, out_address, 3, 2, 3, 3, 0);
    aclIntArray *padding = aclCreateIntArray(pads, 4), *three = aclCreateIntArray(pads, 3);
    aclTensor *wrong;

    printf("-- executors\n");
    told("no place for the size", aclnnReplicationPad2dBackwardGetWorkspaceSize(grad, out, padding, out, NULL, &executor));
    told("no place for the executor", aclnnReplicationPad2dBackwardGetWorkspaceSize(grad, out, padding, out, &size, NULL));
    told("null tensor", aclnnReplicationPad2dBackwardGetWorkspaceSize(NULL, out, padding, out, &size, &executor));
    told("null array", aclnnReplicationPad2dBackwardGetWorkspaceSize(grad, out, NULL, out, &size, &executor));
    told("three paddings", aclnnReplicationPad2dBackwardGetWorkspaceSize(grad, out, three, out, &size, &executor));
    told("array as tensor", aclnnReplicationPad2dBackwardGetWorkspaceSize((aclTensor *)(void *)padding, out, padding, out, &size, &executor));
    wrong = tensor(ACL_FLOAT16, grad_address, 3, 2, 3, 5, 0);
    told("another type", aclnnReplicationPad2dBackwardGetWorkspaceSize(wrong, out, padding, out, &size, &executor));
    aclDestroyTensor(wrong);
    wrong = aclCreateTensor((int64_t[]){2, 3, 5}, 3, ACL_INT8, NULL, 0, ACL_FORMAT_NCL, (int64_t[]){2, 3, 5}, 3, grad_address);
    told("another type and another format", aclnnReplicationPad2dBackwardGetWorkspaceSize(wrong, out, padding, out, &size, &executor));
    aclDestroyTensor(wrong);
    told("destroyed tensor", aclnnReplicationPad2dBackwardGetWorkspaceSize(wrong, out, padding, out, &size, &executor));
    wrong = tensor(ACL_FLOAT, grad_address, 3, 2, 3, 6, 0);
    told("another size", aclnnReplicationPad2dBackwardGetWorkspaceSize(wrong, out, padding, out, &size, &executor));
    aclDestroyTensor(wrong);
    printf("untouched: %d %d\n", (int)size, executor == NULL);

    told("phase 1", aclnnReplicationPad2dBackwardGetWorkspaceSize(grad, out, padding, out, &size, &executor));
    workspace = device((size_t)size);
    told("null executor", aclnnReplicationPad2dBackward(workspace, size, NULL, NULL));
    told("another operator", aclnnReflectionPad2dBackward(workspace, size, executor, NULL));
    told("too little workspace", aclnnReplicationPad2dBackward(workspace, 1, executor, NULL) != ACLNN_SUCCESS);
    told("workspace beyond its allocation", aclnnReplicationPad2dBackward((char *)workspace + 64, size, executor, NULL) != ACLNN_SUCCESS);
    told("no stream", aclnnReplicationPad2dBackward(workspace, size, executor, (aclrtStream)out));
    told("phase 2", aclnnReplicationPad2dBackward(workspace, size, executor, NULL));
    told("used twice", aclnnReplicationPad2dBackward(workspace, size, executor, NULL));
    told("repeatable too late", aclSetAclOpExecutorRepeatable(executor));

    told("phase 1", aclnnReplicationPad2dBackwardGetWorkspaceSize(grad, out, padding, out, &size, &executor));
    told("null workspace", aclnnReplicationPad2dBackward(NULL, size, executor, NULL) == ACLNN_ERR_PARAM_NULLPTR);
    told("which ends the executor", aclDestroyAclOpExecutor(executor));

    wrong = aclCreateTensor((int64_t[]){2, 3, 5}, 3, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, (int64_t[]){125}, 1, grad_address);
    told("phase 1", aclnnReplicationPad2dBackwardGetWorkspaceSize(wrong, out, padding, out, &size, &executor));
    told("strides beyond the allocation", aclnnReplicationPad2dBackward(workspace, size, executor, NULL));
    told("destroy", aclDestroyAclOpExecutor(executor));
    told("destroy again", aclDestroyAclOpExecutor(executor));
    aclDestroyTensor(wrong);
    wrong = tensor(ACL_FLOAT, (char *)grad_address + 4, 3, 2, 3, 5, 0);
    told("phase 1", aclnnReplicationPad2dBackwardGetWorkspaceSize(wrong, out, padding, out, &size, &executor));
    told("address that is not aligned", aclnnReplicationPad2dBackward(workspace, size, executor, NULL));
    told("destroy", aclDestroyAclOpExecutor(executor));
    aclDestroyTensor(wrong);
    wrong = tensor(ACL_FLOAT, host, 3, 2, 3, 5, 0);
    told("phase 1", aclnnReplicationPad2dBackwardGetWorkspaceSize(wrong, out, padding, out, &size, &executor));
    told("host memory", aclnnReplicationPad2dBackward(workspace, size, executor, NULL) != ACLNN_SUCCESS);
    told("destroy", aclDestroyAclOpExecutor(executor));
    aclDestroyTensor(wrong);

    told("phase 1", aclnnReplicationPad2dBackwardGetWorkspaceSize(grad, out, padding, out, &size, &executor));
    told("free gradOutput", aclrtFree(grad_address));
    told("freed tensor", aclnnReplicationPad2dBackward(workspace, size, executor, NULL));
    told("destroy", aclDestroyAclOpExecutor(executor));
    told("synchronise", aclrtSynchronizeDevice());
    aclDestroyTensor(grad);
    aclDestroyTensor(out);
    aclDestroyIntArray(padding);
    aclDestroyIntArray(three);
}

/* Early successes: nothing is needed, and outputs stay as they are. */
static void early(void) {
    const bool none[2] = {false, false}, one[1] = {true};
    const int64_t four[2] = {4, 4}, two[2] = {2, 2}, unit[2] = {1, 1}, zero[2] = {0, 0}, seven[2] = {7, 7};
    uint64_t size = 7;
    aclOpExecutor *executor = NULL;
    float host[16], back[16];
    void *address = device(sizeof host);
    aclBoolArray *mask = aclCreateBoolArray(none, 2), *half = aclCreateBoolArray(one, 1);
    aclTensor *x = tensor(ACL_FLOAT, address, 4, 1, 1, 4, 4), *go = tensor(ACL_FLOAT, address, 4, 1, 1, 2, 4);
    aclTensor *grid = tensor(ACL_FLOAT, address, 4, 1, 2, 4, 2);
    aclTensor *no_columns = tensor(ACL_FLOAT, NULL, 2, 4, 0, 0, 0), *image = tensor(ACL_FLOAT, address, 3, 1, 4, 4, 0);
    aclTensor *no_images = tensor(ACL_FLOAT, NULL, 4, 0, 1, 2, 2), *no_planes = tensor(ACL_FLOAT, NULL, 4, 0, 1, 4, 4);
    aclTensor *no_indices = tensor(ACL_INT64, NULL, 4, 0, 1, 2, 2);
    aclIntArray *sizes = aclCreateIntArray(four, 2), *taps = aclCreateIntArray(two, 2), *ones = aclCreateIntArray(unit, 2);
    aclIntArray *zeros = aclCreateIntArray(zero, 2), *far = aclCreateIntArray(seven, 2);

    printf("-- early successes\n");
    for (int i = 0; i < 16; ++i) host[i] = (float)i;
    told("copy", aclrtMemcpy(address, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE));
    told("no mask, not even tensors", aclnnGridSampler2DBackwardGetWorkspaceSize(NULL, NULL, NULL, 9, 9, false, NULL, NULL, NULL, &size, &executor));
    printf("workspace %d\n", (int)size);
    told("phase 2", aclnnGridSampler2DBackward(NULL, 0, executor, NULL));
    told("mask of one", aclnnGridSampler2DBackwardGetWorkspaceSize(go, x, grid, 0, 0, false, half, x, grid, &size, &executor));
    told("nothing wanted", aclnnGridSampler2DBackwardGetWorkspaceSize(go, x, grid, 0, 0, false, mask, x, grid, &size, &executor));
    told("phase 2", aclnnGridSampler2DBackward(NULL, 0, executor, NULL));
    told("no columns fit", aclnnIm2colBackwardGetWorkspaceSize(no_columns, sizes, taps, far, zeros, far, image, &size, &executor));
    told("kernel of another size", aclnnIm2colBackwardGetWorkspaceSize(no_columns, sizes, sizes, ones, zeros, ones, image, &size, &executor));
    told("no images", aclnnMaxUnpool2dBackwardGetWorkspaceSize(no_planes, no_images, no_indices, sizes, no_images, &size, &executor));
    printf("workspace %d\n", (int)size);
    told("phase 2", aclnnMaxUnpool2dBackward(NULL, 0, executor, NULL));
    told("synchronise", aclrtSynchronizeStream(NULL));
    told("copy", aclrtMemcpy(back, sizeof back, address, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST));
    printf("untouched: %d\n", memcmp(host, back, sizeof host) == 0);

    aclTensor *tensors[] = {x, go, grid, no_columns, image, no_images, no_planes, no_indices};
    aclIntArray *arrays[] = {sizes, taps, ones, zeros, far};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; ++i) aclDestroyTensor(tensors[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) aclDestroyIntArray(arrays[i]);
    aclDestroyBoolArray(mask);
    aclDestroyBoolArray(half);
    /* The address is left for aclrtResetDevice to free. */
}

int main(void) {
    runtime();
    objects();
    executors();
    early();
    printf("-- end\n");
    told("reset", aclrtResetDevice(0));
    told("reset again", aclrtResetDevice(0));
    told("synchronise", aclrtSynchronizeDevice());
    told("finalise", aclFinalize());
    told("finalise again", aclFinalize());
    return 0;
}
