/* MaxUnpool2dBackward: gradient of max unpooling, a gather. */
#ifndef UBTILE_ACLNNOP_ACLNN_MAX_UNPOOL2D_BACKWARD_H
#define UBTILE_ACLNNOP_ACLNN_MAX_UNPOOL2D_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn/aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks, and says how much workspace phase 2 needs.
 *   gradOutput  [N, C, oH, oW] or [C, oH, oW]
 *   self        [N, C, H, W] or [C, H, W]; described, not read
 *   indices     as self, I32 or I64: flat positions in a plane of oH * oW cells, negative ones counted from its end; what
 *               lies outside is ACLNN_ERR_RUNTIME_ERROR at the next synchronisation
 *   outputSize  oH, oW
 *   out         as self; its dtype may be another that the result can be cast to */
ACLNN_API aclnnStatus aclnnMaxUnpool2dBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self,
                                                               const aclTensor *indices, const aclIntArray *outputSize,
                                                               aclTensor *out, uint64_t *workspaceSize,
                                                               aclOpExecutor **executor);

/* Phase 2: runs an executor of phase 1 on a stream, with device memory of at least the reported size. Uses the executor up,
 * unless it was made repeatable. Returns before the work is done; what fails then is told by aclrtSynchronizeStream. */
ACLNN_API aclnnStatus aclnnMaxUnpool2dBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                               aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
