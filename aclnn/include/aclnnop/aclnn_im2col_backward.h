/* Im2colBackward (col2im, fold): adds the columns of windows to an image. */
#ifndef UBTILE_ACLNNOP_ACLNN_IM2COL_BACKWARD_H
#define UBTILE_ACLNNOP_ACLNN_IM2COL_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "aclnn/aclnn_util.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Phase 1: checks, and says how much workspace phase 2 needs. Arrays are height, width.
 *   gradOutput  [N, C * kh * kw, L] or [C * kh * kw, L], one column for each position of the window
 *   inputSize   the image's
 *   kernelSize  the window's
 *   dilation    distance between the window's taps
 *   padding     rows and columns around the image, on both sides
 *   stride      distance between the window's positions
 *   out         [N, C, H, W] or [C, H, W]
 * F16, BF16 or F32, each tensor its own. out of an empty gradOutput is not touched. */
ACLNN_API aclnnStatus aclnnIm2colBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclIntArray *inputSize,
                                                          const aclIntArray *kernelSize, const aclIntArray *dilation,
                                                          const aclIntArray *padding, const aclIntArray *stride,
                                                          aclTensor *out, uint64_t *workspaceSize,
                                                          aclOpExecutor **executor);

/* Phase 2: runs an executor of phase 1 on a stream, with device memory of at least the reported size. Uses the executor up,
 * unless it was made repeatable. Returns before the work is done; what fails then is told by aclrtSynchronizeStream. */
ACLNN_API aclnnStatus aclnnIm2colBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                          aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
