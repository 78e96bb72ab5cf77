/* All of the runtime. */
#ifndef UBTILE_ACL_ACL_H
#define UBTILE_ACL_ACL_H

/* Samples print and expect this header to bring what they print with. */
#include <stdio.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#endif
