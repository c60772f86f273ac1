// Every command with its options, from their pages (help.h) and parsers.
#pragma once

#include "output/help/command_table.h"

namespace mixstack::cli {

using help::CommandTable;
using help::TableCommand;
using help::TableLine;
using help::TableOption;
using help::ValueKind;

[[nodiscard]] CommandTable command_table();

}  // namespace mixstack::cli
