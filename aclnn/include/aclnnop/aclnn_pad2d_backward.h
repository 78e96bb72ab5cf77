/* ReplicationPad2dBackward and ReflectionPad2dBackward: gradients of padding by the edge and by mirror images. */
#ifndef UBTILE_ACLNNOP_ACLNN_PAD2D_BACKWARD_H
#define UBTILE_ACLNNOP_ACLNN_PAD2D_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn/aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks, and says how much workspace phase 2 needs.
 *   gradOutput  [N, C, H + top + bottom, W + left + right] or without N
 *   self        [N, C, H, W] or [C, H, W]; described, not read
 *   padding     left, right, top, bottom
 *   gradInput   as self
 * All have one dtype (F16, BF16, F32, F64, C64, C128) and one format. */
ACLNN_API aclnnStatus aclnnReplicationPad2dBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self,
                                                                    const aclIntArray *padding, aclTensor *gradInput,
                                                                    uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase 2: runs an executor of phase 1 on a stream, with device memory of at least the reported size. Uses the executor up,
 * unless it was made repeatable. Returns before the work is done; what fails then is told by aclrtSynchronizeStream. */
ACLNN_API aclnnStatus aclnnReplicationPad2dBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                                    const aclrtStream stream);

/* Phase 1: as above; each padding is less than the size that it mirrors. */
ACLNN_API aclnnStatus aclnnReflectionPad2dBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self,
                                                                   const aclIntArray *padding, aclTensor *gradInput,
                                                                   uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase 2: runs an executor of phase 1 on a stream, with device memory of at least the reported size. Uses the executor up,
 * unless it was made repeatable. Returns before the work is done; what fails then is told by aclrtSynchronizeStream. */
ACLNN_API aclnnStatus aclnnReflectionPad2dBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                                   const aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
