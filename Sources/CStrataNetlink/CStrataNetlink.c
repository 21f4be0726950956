#include "CStrataNetlink.h"
