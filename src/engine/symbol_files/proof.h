// Whether a file is the one that was asked for.
#pragma once

#include <memory>
#include <string>

#include "engine/images/elf_image.h"

namespace mixstack::symbol_files {

/// Empty for an ELF file with this build id and, where `wants_symbols`, a symbol table; else what it is.
[[nodiscard]] std::string prove_elf(const std::shared_ptr<const FileBytes>& file, const images::BuildId& wanted,
                                    bool wants_symbols);

}  // namespace mixstack::symbol_files
