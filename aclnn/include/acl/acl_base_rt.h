/* The name that newer programs know acl_base.h by. */
#include "acl/acl_base.h"
