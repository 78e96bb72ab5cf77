/* GridSampler2DBackward: gradients of a sampled image and of the grid that says where it was sampled. */
#ifndef UBTILE_ACLNNOP_ACLNN_GRID_SAMPLER2D_BACKWARD_H
#define UBTILE_ACLNNOP_ACLNN_GRID_SAMPLER2D_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn/aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks, and says how much workspace phase 2 needs.
 *   gradOutput         [N, C, Ho, Wo]
 *   input              [N, C, Hi, Wi]
 *   grid               [N, Ho, Wo, 2]: x and y in -1..1
 *   interpolationMode  0 bilinear, 1 nearest, 2 bicubic
 *   paddingMode        0 zeros, 1 border, 2 reflection
 *   alignCorners       whether -1 and 1 are the centres of the corner pixels
 *   outputMask         which of inputGrad and gridGrad are wanted; null: nothing is done
 *   inputGrad          as input
 *   gridGrad           as grid
 * All have one dtype: F16, BF16, F32 or F64. Outputs of empty problems are not touched. */
ACLNN_API aclnnStatus aclnnGridSampler2DBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *input,
                                                                 const aclTensor *grid, int64_t interpolationMode,
                                                                 int64_t paddingMode, bool alignCorners,
                                                                 const aclBoolArray *outputMask, aclTensor *inputGrad,
                                                                 aclTensor *gridGrad, uint64_t *workspaceSize,
                                                                 aclOpExecutor **executor);

/* Phase 2: runs an executor of phase 1 on a stream, with device memory of at least the reported size. Uses the executor up,
 * unless it was made repeatable. Returns before the work is done; what fails then is told by aclrtSynchronizeStream. */
ACLNN_API aclnnStatus aclnnGridSampler2DBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                                 aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
