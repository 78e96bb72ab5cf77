/* ReplicationPad1dBackward: gradient of padding rows by their ends. */
#ifndef UBTILE_ACLNNOP_ACLNN_REPLICATION_PAD1D_BACKWARD_H
#define UBTILE_ACLNNOP_ACLNN_REPLICATION_PAD1D_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn/aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks, and says how much workspace phase 2 needs.
 *   gradOutput  [N, C, W + left + right] or without N
 *   self        [N, C, W] or [C, W]; described, not read
 *   padding     left, right
 *   gradInput   as self
 * All have one dtype (F16, BF16, F32, F64, C64, C128) and one format. */
ACLNN_API aclnnStatus aclnnReplicationPad1dBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self,
                                                                    const aclIntArray *padding, aclTensor *gradInput,
                                                                    uint64_t *workspaceSize, aclOpExecutor **executor);

/* Phase 2: runs an executor of phase 1 on a stream, with device memory of at least the reported size. Uses the executor up,
 * unless it was made repeatable. Returns before the work is done; what fails then is told by aclrtSynchronizeStream. */
ACLNN_API aclnnStatus aclnnReplicationPad1dBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                                    aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
