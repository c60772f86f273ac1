// Facts of images: the parts of a session that other sessions may share.
#pragma once

#include <memory>

#include "engine/images/file_budget.h"
#include "engine/images/image_cache.h"
#include "engine/symbols/elf_symbols.h"
#include "engine/unwind/unwind_tables.h"

namespace mixstack::session {

/// Never null. By default a session's own; shared only by processes with one root, as files are found by path.
struct ImageFacts {
  std::shared_ptr<images::FileBudget> budget = images::FileBudget::of_this_machine();
  std::shared_ptr<images::ImageCache> images = std::make_shared<images::ImageCache>();
  std::shared_ptr<unwind::UnwindTables> rules = std::make_shared<unwind::UnwindTables>();
  /// From files of this machine alone.
  std::shared_ptr<symbols::SymbolTables> symbols = std::make_shared<symbols::SymbolTables>();
};

}  // namespace mixstack::session
