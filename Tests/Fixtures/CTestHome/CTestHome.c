#include "CTestHome.h"

void strata_test_home_begin(void);

__attribute__((constructor)) static void begin(void) { strata_test_home_begin(); }
