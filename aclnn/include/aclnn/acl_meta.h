/* What operators are described with: tensors, scalars, arrays, lists, executors; and the statuses of operators. */
#ifndef UBTILE_ACLNN_ACL_META_H
#define UBTILE_ACLNN_ACL_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_API ACL_FUNC_VISIBILITY

typedef struct aclOpExecutor aclOpExecutor;
typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclIntArray aclIntArray;
typedef struct aclFloatArray aclFloatArray;
typedef struct aclBoolArray aclBoolArray;
typedef struct aclTensorList aclTensorList;
typedef struct aclScalarList aclScalarList;

typedef int32_t aclnnStatus;

static const aclnnStatus OK = 0;
static const aclnnStatus ACLNN_SUCCESS = 0;
static const aclnnStatus ACLNN_ERR_PARAM_NULLPTR = 161001;
static const aclnnStatus ACLNN_ERR_PARAM_INVALID = 161002;
static const aclnnStatus ACLNN_ERR_RUNTIME_ERROR = 361001;
static const aclnnStatus ACLNN_ERR_INNER = 561000;
static const aclnnStatus ACLNN_ERR_INNER_INFERSHAPE_ERROR = 561001;
static const aclnnStatus ACLNN_ERR_INNER_TILING_ERROR = 561002;
static const aclnnStatus ACLNN_ERR_INNER_FIND_KERNEL_ERROR = 561003;
static const aclnnStatus ACLNN_ERR_INNER_CREATE_EXECUTOR = 561101;
static const aclnnStatus ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR = 561102;
static const aclnnStatus ACLNN_ERR_INNER_NULLPTR = 561103;
static const aclnnStatus ACLNN_ERR_INNER_WRONG_ATTR_INFO_SIZE = 561104;
static const aclnnStatus ACLNN_ERR_INNER_KEY_CONFILICT = 561105;
static const aclnnStatus ACLNN_ERR_INNER_KEY_CONFLICT = 561105;
static const aclnnStatus ACLNN_ERR_INNER_INVALID_IMPL_MODE = 561106;
static const aclnnStatus ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND = 561107;
static const aclnnStatus ACLNN_ERR_INNER_LOAD_JSON_FAILED = 561108;
static const aclnnStatus ACLNN_ERR_INNER_JSON_VALUE_NOT_FOUND = 561109;
static const aclnnStatus ACLNN_ERR_INNER_JSON_FORMAT_INVALID = 561110;
static const aclnnStatus ACLNN_ERR_INNER_JSON_DTYPE_INVALID = 561111;
static const aclnnStatus ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND = 561112;
static const aclnnStatus ACLNN_ERR_INNER_OP_FILE_INVALID = 561113;
static const aclnnStatus ACLNN_ERR_INNER_ATTR_NUM_OUT_OF_BOUND = 561114;
static const aclnnStatus ACLNN_ERR_INNER_ATTR_LEN_NOT_ENOUGH = 561115;
static const aclnnStatus ACLNN_ERR_INNER_INPUT_NUM_IN_JSON_TOO_LARGE = 561116;
static const aclnnStatus ACLNN_ERR_INNER_INPUT_JSON_IS_NULL = 561117;
static const aclnnStatus ACLNN_ERR_INNER_STATIC_WORKSPACE_INVALID = 561118;
static const aclnnStatus ACLNN_ERR_INNER_STATIC_BLOCK_DIM_INVALID = 561119;

/* ---- Making them. A function returns null when it fails; aclGetRecentErrMsg says why. Arrays are copied. ---- */

/* A view: sizes, strides and an offset in elements (null strides: contiguous) of memory that starts at tensorData, a device
 * address that is a multiple of 32. The address may be set later. */
ACL_API aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                                   const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                                   uint64_t storageDimsNum, void *tensorData);
ACL_API aclScalar *aclCreateScalar(void *value, aclDataType dataType);
ACL_API aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size);
ACL_API aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size);
ACL_API aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size);
/* A list owns what is in it. */
ACL_API aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size);
ACL_API aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size);

/* ---- Ending them. Null is fine. ---- */

ACL_API aclnnStatus aclDestroyTensor(const aclTensor *tensor);
ACL_API aclnnStatus aclDestroyScalar(const aclScalar *scalar);
ACL_API aclnnStatus aclDestroyIntArray(const aclIntArray *array);
ACL_API aclnnStatus aclDestroyFloatArray(const aclFloatArray *array);
ACL_API aclnnStatus aclDestroyBoolArray(const aclBoolArray *array);
ACL_API aclnnStatus aclDestroyTensorList(const aclTensorList *array);
ACL_API aclnnStatus aclDestroyScalarList(const aclScalarList *array);

/* ---- Looking at them. Arrays are the caller's to end with delete[], or with free in C. ---- */

ACL_API aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum);
ACL_API aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum);
ACL_API aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum);
ACL_API aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset);
ACL_API aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format);
ACL_API aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType);
ACL_API aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size);
ACL_API aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size);
ACL_API aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size);
ACL_API aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size);
ACL_API aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size);

/* ---- Changing a tensor ---- */

ACL_API aclnnStatus aclInitTensor(aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                                  const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                                  uint64_t storageDimsNum, void *tensorDataAddr);
ACL_API aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr);
ACL_API aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr);

/* ---- Executors ---- */

/* Behind phase 1: phase 2 may then be called again and again, until aclDestroyAclOpExecutor. */
ACL_API aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);
ACL_API aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);
/* Lets a tensor of a repeatable executor lie elsewhere; index counts the operator's tensors, its inputs or its outputs. */
ACL_API aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);
ACL_API aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);
ACL_API aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

#ifdef __cplusplus
}
#endif

#endif
