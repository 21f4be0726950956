#include "CStrataSQLite.h"
