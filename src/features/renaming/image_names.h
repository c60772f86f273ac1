// Names of places in one image of which only the name and the build id are known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/dwarf/dwarf_symbols.h"
#include "engine/images/debug_file.h"
#include "engine/images/file_budget.h"
#include "engine/symbols/elf_symbols.h"
#include "mixstack/recording.h"
#include "mixstack/symbol_files.h"
#include "session/symbol_sources.h"

namespace mixstack::renaming {

/// Finds the images of a recording and reads their symbols and lines. One thread at a time.
class ImageFiles {
 public:
  explicit ImageFiles(const SymbolOptions& options);
  ImageFiles(const ImageFiles&) = delete;
  ImageFiles& operator=(const ImageFiles&) = delete;

  struct Found {
    std::shared_ptr<const images::ElfImage> image;  ///< the image or its debug file; null: neither was found
    images::BuildId build_id;
    std::string where;      ///< where a debug file was found
    std::string refused;    ///< a file that is there but of another build; empty: none
    bool is_debug = false;  ///< only the debug file was found
  };
  [[nodiscard]] Found find(const RecordedModule& module);
  [[nodiscard]] std::shared_ptr<const images::SymbolTable> symbols(const Found& found, const std::string& path);
  /// Names a place as live frames are named: innermost first, the last one the function that has the code. Empty:
  /// unknown.
  [[nodiscard]] std::vector<SymbolInfo> name(const Found& found, const RecordedModule& module, std::uint64_t address);
  /// Folders and servers that were refused or failed.
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const { return finder_->diagnoses(); }

 private:
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open(const std::string& path) const;
  [[nodiscard]] std::shared_ptr<const images::ElfImage> image_of(std::shared_ptr<const FileBytes> file) const;
  void find_by_id(const RecordedModule& module, Found& found);

  std::shared_ptr<images::FileBudget> budget_;
  session::SharedFinder finder_;
  std::shared_ptr<symbols::SymbolTables> tables_;
  std::shared_ptr<symbols::LineTables> lines_;  ///< null: not wanted
  images::PathOpener opener_;
};

/// Parses a build id from a recording's hex digits; empty if they are none.
[[nodiscard]] images::BuildId build_id_of(std::string_view hex);

}  // namespace mixstack::renaming
