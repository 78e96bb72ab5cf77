/* The numbers that programs compiled elsewhere have in them, by the vendor's documents; and the layout of structures. */
#include <stddef.h>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

#define IS(name, value) _Static_assert((int)(name) == (value), #name)

IS(ACL_DT_UNDEFINED, -1); IS(ACL_FLOAT, 0); IS(ACL_FLOAT16, 1); IS(ACL_INT8, 2); IS(ACL_INT32, 3); IS(ACL_UINT8, 4);
IS(ACL_INT16, 6); IS(ACL_UINT16, 7); IS(ACL_UINT32, 8); IS(ACL_INT64, 9); IS(ACL_UINT64, 10); IS(ACL_DOUBLE, 11);
IS(ACL_BOOL, 12); IS(ACL_STRING, 13); IS(ACL_COMPLEX64, 16); IS(ACL_COMPLEX128, 17); IS(ACL_BF16, 27); IS(ACL_INT4, 29);
IS(ACL_UINT1, 30); IS(ACL_COMPLEX32, 33); IS(ACL_HIFLOAT8, 34); IS(ACL_FLOAT4_E1M2, 41);

IS(ACL_FORMAT_UNDEFINED, -1); IS(ACL_FORMAT_NCHW, 0); IS(ACL_FORMAT_NHWC, 1); IS(ACL_FORMAT_ND, 2);
IS(ACL_FORMAT_NC1HWC0, 3); IS(ACL_FORMAT_FRACTAL_Z, 4); IS(ACL_FORMAT_NC1HWC0_C04, 12); IS(ACL_FORMAT_HWCN, 16);
IS(ACL_FORMAT_NDHWC, 27); IS(ACL_FORMAT_FRACTAL_NZ, 29); IS(ACL_FORMAT_NCDHW, 30); IS(ACL_FORMAT_NDC1HWC0, 32);
IS(ACL_FRACTAL_Z_3D, 33); IS(ACL_FORMAT_NC, 35); IS(ACL_FORMAT_NCL, 47);

IS(ACL_MEMCPY_HOST_TO_HOST, 0); IS(ACL_MEMCPY_HOST_TO_DEVICE, 1); IS(ACL_MEMCPY_DEVICE_TO_HOST, 2);
IS(ACL_MEMCPY_DEVICE_TO_DEVICE, 3); IS(ACL_MEMCPY_DEFAULT, 4); IS(ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, 5);
IS(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, 6); IS(ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, 7);

IS(ACL_MEM_MALLOC_HUGE_FIRST, 0); IS(ACL_MEM_MALLOC_HUGE_ONLY, 1); IS(ACL_MEM_MALLOC_NORMAL_ONLY, 2);
IS(ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 5); IS(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, 7); IS(ACL_MEM_TYPE_LOW_BAND_WIDTH, 0x100);
IS(ACL_MEM_TYPE_HIGH_BAND_WIDTH, 0x1000);

IS(ACL_OPT_DETERMINISTIC, 0); IS(ACL_OPT_ENABLE_DEBUG_KERNEL, 1); IS(ACL_OPT_STRONG_CONSISTENCY, 2);
IS(ACL_DEVICE, 0); IS(ACL_HOST, 1); IS(ACL_DDR_MEM, 0); IS(ACL_HBM_MEM, 1); IS(ACL_MEM_P2P_HUGE1G, 17);
IS(ACL_EVENT_STATUS_COMPLETE, 0); IS(ACL_EVENT_STATUS_NOT_READY, 1); IS(ACL_EVENT_RECORDED_STATUS_NOT_READY, 0);
IS(ACL_EVENT_RECORDED_STATUS_COMPLETE, 1); IS(ACL_EVENT_WAIT_STATUS_COMPLETE, 0); IS(ACL_STREAM_STATUS_COMPLETE, 0);
IS(ACL_STREAM_STATUS_NOT_READY, 1); IS(ACL_CALLBACK_NO_BLOCK, 0); IS(ACL_CALLBACK_BLOCK, 1);
IS(ACL_EVENT_SYNC, 1); IS(ACL_EVENT_TIME_LINE, 8); IS(ACL_STREAM_FAST_LAUNCH, 1); IS(ACL_STREAM_FAST_SYNC, 2);
IS(ACL_MEM_LOCATION_TYPE_HOST, 0); IS(ACL_MEM_LOCATION_TYPE_DEVICE, 1); IS(ACL_MEM_LOCATION_TYPE_UNREGISTERED, 2);
IS(ACL_DEV_ATTR_AICORE_CORE_NUM, 101); IS(ACL_DEV_ATTR_VECTOR_CORE_NUM, 201); IS(ACL_DEV_ATTR_L2_CACHE_SIZE, 302);
IS(ACL_CANN_ATTR_INF_NAN, 0); IS(ACL_CANN_ATTR_BF16, 1); IS(ACL_DEVICE_INFO_AI_CORE_NUM, 0);
IS(ACL_DEVICE_INFO_VECTOR_CORE_NUM, 1); IS(ACL_DEVICE_INFO_L2_SIZE, 2);

IS(ACL_ERROR_RT_PARAM_INVALID, 107000); IS(ACL_ERROR_RT_INVALID_DEVICEID, 107001); IS(ACL_ERROR_RT_CONTEXT_NULL, 107002);
IS(ACL_ERROR_RT_STREAM_CONTEXT, 107003); IS(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, 107006);
IS(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, 107007); IS(ACL_ERROR_RT_MEMORY_ALLOCATION, 207001);
IS(ACL_ERROR_RT_AICORE_EXCEPTION, 507015); IS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, 507046);

/* Constants that C does not call constant are compared when the program runs. */
static const int statuses[][2] = {
    {ACL_SUCCESS, 0}, {ACL_ERROR_NONE, 0}, {ACL_ERROR_INVALID_PARAM, 100000}, {ACL_ERROR_UNINITIALIZE, 100001},
    {ACL_ERROR_REPEAT_INITIALIZE, 100002}, {ACL_ERROR_INVALID_FILE, 100003}, {ACL_ERROR_PARSE_FILE, 100006},
    {ACL_ERROR_REPEAT_FINALIZE, 100037}, {ACL_ERROR_BAD_ALLOC, 200000}, {ACL_ERROR_API_NOT_SUPPORT, 200001},
    {ACL_ERROR_INVALID_DEVICE, 200002}, {ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, 200003}, {ACL_ERROR_INTERNAL_ERROR, 500000},
    {ACL_ERROR_FAILURE, 500001}, {OK, 0}, {ACLNN_SUCCESS, 0}, {ACLNN_ERR_PARAM_NULLPTR, 161001},
    {ACLNN_ERR_PARAM_INVALID, 161002}, {ACLNN_ERR_RUNTIME_ERROR, 361001}, {ACLNN_ERR_INNER, 561000},
    {ACLNN_ERR_INNER_INFERSHAPE_ERROR, 561001}, {ACLNN_ERR_INNER_TILING_ERROR, 561002},
    {ACLNN_ERR_INNER_FIND_KERNEL_ERROR, 561003}, {ACLNN_ERR_INNER_CREATE_EXECUTOR, 561101},
    {ACLNN_ERR_INNER_NULLPTR, 561103}, {ACLNN_ERR_INNER_KEY_CONFILICT, 561105}, {ACLNN_ERR_INNER_KEY_CONFLICT, 561105},
    {ACLNN_ERR_INNER_STATIC_BLOCK_DIM_INVALID, 561119},
};

_Static_assert(sizeof(aclrtStream) == sizeof(void *) && sizeof(aclrtEvent) == sizeof(void *), "handles");
_Static_assert(sizeof(aclFloat16) == 2 && sizeof(aclError) == 4 && sizeof(aclnnStatus) == 4, "numbers");
_Static_assert(sizeof(aclDataType) == 4 && sizeof(aclFormat) == 4, "enumerations are an int");
_Static_assert(sizeof(aclrtMemLocation) == 8 && sizeof(aclrtPtrAttributes) == 28, "attributes of pointers");
_Static_assert(offsetof(aclrtPtrAttributes, pageSize) == 8 && offsetof(aclrtPtrAttributes, rsv) == 12, "attributes of pointers");
_Static_assert(sizeof(aclrtMallocAttrValue) == 8 && sizeof(aclrtMallocAttribute) == 12, "attributes of allocations");
_Static_assert(sizeof(aclrtMallocConfig) == 16 && offsetof(aclrtMallocConfig, numAttrs) == 8, "attributes of allocations");

int main(void) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; ++i) {
        if (statuses[i][0] != statuses[i][1]) {
            printf("status %d should be %d\n", statuses[i][0], statuses[i][1]);
            wrong = 1;
        }
    }
    const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_INT8, ACL_INT32, ACL_UINT8, ACL_INT16, ACL_UINT16, ACL_UINT32,
                                 ACL_INT64, ACL_UINT64, ACL_DOUBLE, ACL_BOOL, ACL_COMPLEX64, ACL_COMPLEX128, ACL_BF16};
    const size_t sizes[] = {4, 2, 1, 4, 1, 2, 2, 4, 8, 8, 8, 1, 8, 16, 2};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) wrong |= aclDataTypeSize(types[i]) != sizes[i];
    /* 1 + 2^-11 lies between two halves and goes to the even one; 65520 is the least that is rounded to infinity. */
    wrong |= aclFloatToFloat16(1.00048828125f) != 0x3c00 || aclFloatToFloat16(65520.0f) != 0x7c00;
    wrong |= aclFloatToFloat16(-2.0f) != 0xc000 || aclFloat16ToFloat(0x0001) != 0x1p-24f || aclFloat16ToFloat(0xfbff) != -65504.0f;
    return wrong;
}
