/* How an operator's functions are declared. */
#ifndef UBTILE_ACLNN_ACLNN_UTIL_H
#define UBTILE_ACLNN_ACLNN_UTIL_H

#include "acl/acl_base.h"

#define ACLNN_API ACL_FUNC_VISIBILITY

#endif
