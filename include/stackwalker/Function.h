// Under the name SymtabAPI gives it.
#pragma once

#include "Symtab.h"
