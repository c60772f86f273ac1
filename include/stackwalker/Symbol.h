// The header name that SymtabAPI uses.
#pragma once

#include "Symtab.h"
