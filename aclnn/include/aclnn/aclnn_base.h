/* What every operator's header builds on. */
#ifndef UBTILE_ACLNN_ACLNN_BASE_H
#define UBTILE_ACLNN_ACLNN_BASE_H

#include "acl/acl_base.h"
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What aclInit and aclFinalize do, for programs that call operators alone; fine beside them: then aclFinalize ends things. */
ACL_API aclnnStatus aclnnInit(const char *configPath);
ACL_API aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif
