// Names of places in one image of which only name and build id are known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/symbol_files.h"
#include "model/recording.h"
#include "object/debug_file.h"
#include "object/file_budget.h"
#include "session/symbol_sources.h"
#include "symbolize/dwarf/dwarf_symbols.h"
#include "symbolize/elf_symbols.h"

namespace mixstack::renaming {

/// Where the images of a recording are looked for; symbols and lines of what was found. One thread at a time.
class ImageFiles {
 public:
  explicit ImageFiles(const SymbolOptions& options);
  ImageFiles(const ImageFiles&) = delete;
  ImageFiles& operator=(const ImageFiles&) = delete;

  struct Found {
    std::shared_ptr<const object::ElfImage> image;  ///< it, or its debug file alone; null: neither is to be had
    object::BuildId build_id;
    std::string where;      ///< of a debug file alone
    std::string refused;    ///< what was there, and is of another build; empty: nothing
    bool is_debug = false;  ///< the image itself is not there
  };
  [[nodiscard]] Found find(const RecordedModule& module);
  [[nodiscard]] std::shared_ptr<const object::SymbolTable> symbols(const Found& found, const std::string& path);
  /// As live frames are named: innermost first, the last one the function that has the code. Empty: nobody knows it.
  [[nodiscard]] std::vector<SymbolInfo> name(const Found& found, const RecordedModule& module, std::uint64_t address);
  /// What folders and servers were refused, or had to be.
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const { return finder_->diagnoses(); }

 private:
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open(const std::string& path) const;
  [[nodiscard]] std::shared_ptr<const object::ElfImage> image_of(std::shared_ptr<const FileBytes> file) const;
  void find_by_id(const RecordedModule& module, Found& found);

  std::shared_ptr<object::FileBudget> budget_;
  session::SharedFinder finder_;
  std::shared_ptr<symbolize::SymbolTables> tables_;
  std::shared_ptr<symbolize::LineTables> lines_;  ///< null: none are wanted
  object::PathOpener opener_;
};

/// What the digits of a recording stand for; empty where they are no build id.
[[nodiscard]] object::BuildId build_id_of(std::string_view hex);

}  // namespace mixstack::renaming
