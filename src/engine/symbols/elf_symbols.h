// Names of native frames from the symbol tables of ELF images.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/images/debug_file.h"
#include "engine/images/module_map.h"
#include "mixstack/symbolizer.h"

namespace mixstack::symbols {

/// Symbol tables by image, shared by the processes of a session as their images are. Thread-safe.
class SymbolTables {
 public:
  /// `fetch` gets debug files from elsewhere; null: only files of this machine are used. Without `names` the tables are
  /// for walks alone: places have no name.
  explicit SymbolTables(images::DebugFetcher fetch = nullptr, bool names = true)
      : fetch_(std::move(fetch)), has_names_(names) {}
  [[nodiscard]] bool has_names() const { return has_names_; }
  /// Whether debug files may be fetched for it; not allowed while walking.
  enum class Effort : std::uint8_t { of_this_machine, any };
  /// Never null; empty when the image has no symbols.
  [[nodiscard]] std::shared_ptr<const images::SymbolTable> get(const std::shared_ptr<const images::ElfImage>& image,
                                                               const std::string& path, const images::PathOpener& open,
                                                               Effort effort = Effort::any);

 private:
  struct Entry {
    std::shared_ptr<const images::ElfImage> image;  // kept, so that its address is not reused for another image
    std::shared_ptr<const images::SymbolTable> table;
    bool is_final = false;  ///< nothing more can be fetched for it
  };
  static constexpr std::size_t kMost = 1024;  // when there are more, it starts anew
  /// By image and path: debug files are also looked for beside an image.
  using Key = std::pair<const images::ElfImage*, std::string>;
  images::DebugFetcher fetch_;
  bool has_names_;
  std::mutex mutex_;
  std::map<Key, Entry> tables_;
};

/// A place in an image without its symbol: module and offset.
[[nodiscard]] SymbolInfo unnamed_place(std::string_view path, std::string build_id, std::uint64_t offset);
/// Names such a place by the symbol around it.
void name_by(const images::Symbol& symbol, SymbolInfo& place);

/// Describes native frames and signal trampolines. Where a frame lies in an image but in no symbol, it answers module
/// and offset without a name; frames outside all images are not its own. Borrows the map; not thread-safe.
class ElfSymbols final : public NameProvider {
 public:
  ElfSymbols(const images::ModuleMap& modules, images::PathOpener open, std::shared_ptr<SymbolTables> tables = nullptr);

  [[nodiscard]] std::string_view provider_name() const override { return "elf"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override;
  /// The same for any address of a code image, whatever kind of frame it came from.
  [[nodiscard]] std::optional<SymbolInfo> describe(CodeAddress address);
  /// Target address at which the function around a native frame starts; nothing without a symbol (PLTs have none).
  [[nodiscard]] std::optional<Address> function_start(const Frame& frame);

 private:
  /// `beyond`: distance from the address to look up to the address to print (1 for return addresses).
  [[nodiscard]] SymbolInfo describe_at(ModuleIndex index, std::uint64_t lookup, std::uint64_t beyond);
  [[nodiscard]] std::optional<images::Symbol> find(ModuleIndex module, std::uint64_t link_address,
                                                   SymbolTables::Effort effort = SymbolTables::Effort::any);

  const images::ModuleMap& modules_;
  images::PathOpener open_;
  std::shared_ptr<SymbolTables> shared_;
  std::vector<std::shared_ptr<const images::SymbolTable>> tables_;  // by module, for names; null: not looked for yet
};

}  // namespace mixstack::symbols
