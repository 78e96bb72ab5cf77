/* What the product decides: its name, its numbers, and what phase 1 says of one problem in several types.
 *
 * The workspaces by hand: every intermediate takes its bytes and 32 more, in pieces of 512. On A2 in F32 those are input and
 * gradOutput with channels last (6144 and 1536 bytes: 6656 and 2048), inputGrad with channels last (6656), gridGrad (1024: 1536)
 * and the kernel's own 16 MiB (16777728); inputGrad as it was takes the place of input. That makes 16794624. In F16 half of it,
 * and the kernel needs 6144 bytes more for sums in F32: 3584 + 1024 + 3584 + 1024 + 16783872 = 16793088. On the AICPU, in F64,
 * and on 950 nothing is turned round: inputGrad and gridGrad alone, 12800 + 2560, 6656 + 1536 and 3584 + 1024; with determinism
 * 950 adds its kernel's 16 MiB and 65536 bytes of pairs: 8192 + 16843264. On 910A F16 is computed as F32: copies of all five
 * tensors, 6656 + 2048 + 1536 + 6656 + 1536. Where the generation is unknown there is no such model: it is what the plan for this
 * machine takes, which is not printed. */
#include "acl/acl.h"
#include "aclnn_grid_sampler2d_backward.h"
#include "aclnn_im2col_backward.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void grid_sampler(const char *name, aclDataType type, bool modelled) {
    const int64_t image[4] = {2, 3, 16, 16}, samples[4] = {2, 3, 8, 8}, points[4] = {2, 8, 8, 2};
    const bool both[2] = {true, true};
    aclTensor *x = aclCreateTensor(image, 4, type, NULL, 0, ACL_FORMAT_ND, image, 4, NULL);
    aclTensor *go = aclCreateTensor(samples, 4, type, NULL, 0, ACL_FORMAT_ND, samples, 4, NULL);
    aclTensor *grid = aclCreateTensor(points, 4, type, NULL, 0, ACL_FORMAT_ND, points, 4, NULL);
    aclBoolArray *mask = aclCreateBoolArray(both, 2);
    uint64_t size = 0;
    aclOpExecutor *executor = NULL;
    int status = aclnnGridSampler2DBackwardGetWorkspaceSize(go, x, grid, 0, 0, false, mask, x, grid, &size, &executor);
    if (modelled) {
        printf("%s: %d, workspace %" PRIu64 "\n", name, status, size);
    } else {
        printf("%s: %d\n", name, status);
    }
    if (status == ACL_SUCCESS) aclDestroyAclOpExecutor(executor);
    aclDestroyTensor(x);
    aclDestroyTensor(go);
    aclDestroyTensor(grid);
    aclDestroyBoolArray(mask);
}

int main(void) {
    int64_t cores = 0, arch = 0;
    size_t unused = 0, total = 0;
    int status = aclInit(NULL);
    if (status != ACL_SUCCESS) {
        const char *text = aclGetRecentErrMsg();
        int named = strstr(text, getenv("UBTILE_SOC")) != NULL && strstr(text, "Ascend910B1") != NULL;
        printf("%d, and the message has the name and those that there are: %d\n", status, named);
        return 0;
    }
    if (aclrtSetDevice(0) != ACL_SUCCESS) return 1;
    if (aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &cores) != ACL_SUCCESS) return 1;
    printf("%s: %d vector cores", aclrtGetSocName(), (int)cores);
    const bool modelled = aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, &arch) == ACL_SUCCESS;
    if (modelled) {
        printf(", arch %d", (int)arch);
    } else {
        printf(", %s", aclGetRecentErrMsg());
    }
    if (aclrtGetMemInfo(ACL_HBM_MEM, &unused, &total) == ACL_SUCCESS) {
        printf(", %d GiB\n", (int)(total >> 30));
    } else {
        /* There is memory all the same. */
        void *some = NULL;
        printf(", %s\n", aclGetRecentErrMsg());
        if (aclrtMalloc(&some, 32, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS || aclrtFree(some) != ACL_SUCCESS) return 1;
    }
    grid_sampler("f32", ACL_FLOAT, modelled);
    grid_sampler("f16", ACL_FLOAT16, modelled);
    grid_sampler("f64", ACL_DOUBLE, modelled);
    if (aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1) != ACL_SUCCESS) return 1;
    grid_sampler("f32 deterministic", ACL_FLOAT, modelled);
    if (aclrtResetDevice(0) != ACL_SUCCESS) return 1;
    return aclFinalize();
}
