// The runtime's Modules and the metadata behind them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "dotnet/contracts/runtime_memory.h"
#include "dotnet/names/il_body.h"
#include "dotnet/names/metadata.h"
#include "engine/images/pe_image.h"
#include "mixstack/target.h"

namespace mixstack::dotnet::names {

class PortablePdb;
struct PdbLookup;

/// Opens a file by path as the target sees it; used only where the target's own memory does not hold the image.
using FileOpener = std::function<Result<std::shared_ptr<const FileBytes>>(const std::string& path)>;

/// Looks for a PDB elsewhere, which may take long. `proof` answers empty for the right file, else why it is wrong.
/// Answers the path of the file.
using PdbProof = std::function<std::string(const std::shared_ptr<const FileBytes>&)>;
using PdbFetcher = std::function<Result<std::string>(const PdbId& id, const std::string& name, const PdbProof& proof)>;

/// The source of a module's metadata.
enum class MetadataSource : std::uint8_t { none, memory, emitted, file };

/// One Module of the target.
struct ModuleFacts {
  Address address = 0;
  std::shared_ptr<const Metadata> metadata;  ///< null when `error` says why
  Error error;
  MetadataSource source = MetadataSource::none;
  std::string assembly;   ///< simple name by the metadata; else file name without extension; may be empty
  std::string path;       ///< as the target sees it; empty for emitted, stream-loaded and bundled assemblies
  std::string file_name;  ///< where there is no path: the runtime's name for it
  bool is_collectible = false;
  bool is_emitted = false;          ///< AssemblyBuilder: metadata is a snapshot
  bool may_change = false;          ///< it can be edited while it runs (Hot Reload)
  bool is_edited = false;           ///< and was: its file has IL and lines of an older source
  std::uint32_t built_methods = 0;  ///< rows of methods that its file has; an edited one may have more
};

/// Finds and keeps Modules. Not thread-safe. Borrows the memory.
class RuntimeModules {
 public:
  static constexpr std::size_t kMaxModules = 8192;
  static constexpr std::uint64_t kEmittedBudget = 128u << 20;  ///< bytes of emitted modules copied per capture

  /// `bulk` reads metadata (it keeps its own pages, so a reader without cache is best); borrowed like `memory`.
  /// `program`: path of the program's executable, empty where it is not known.
  RuntimeModules(RuntimeMemory memory, const MemoryReader& bulk, FileOpener opener, std::string program = {})
      : memory_(memory), bulk_(bulk), opener_(std::move(opener)), program_(std::move(program)) {}

  /// The Module at an address; always an answer, possibly one without metadata. The reference stays valid until
  /// `forget_transient` drops it.
  [[nodiscard]] const ModuleFacts& at(Address module);
  /// The IL of a method of the Module, at `rva` of its image. Errors: of reading, `not_found`, those of read_il_header.
  struct Il {
    std::vector<std::byte> code;
    bool has_handlers = false;
    IlHandlers handlers;
  };
  [[nodiscard]] Result<Il> il(Address module, std::uint32_t rva);
  /// The PDB of the Module's assembly: see `find_pdb`. Not kept. `not_found` for emitted ones.
  [[nodiscard]] Result<std::shared_ptr<const PortablePdb>> pdb(Address module, const PdbFetcher& fetch,
                                                               PdbLookup& lookup);
  /// Forgets what may have changed since the last capture: collectible and emitted modules, and failures.
  void forget_transient();
  /// Paths of modules whose metadata came from their files, since the target's memory does not hold it.
  [[nodiscard]] std::vector<std::string> files_used() const;
  /// Paths of modules without metadata: methods of theirs were asked for and have no names.
  [[nodiscard]] std::vector<std::string> files_missing() const;
  /// Bytes of metadata fetched from the target so far.
  [[nodiscard]] std::uint64_t loaded_bytes() const;

 private:
  struct Image {
    Address base = 0;
    std::uint64_t size = 0;
    bool is_mapped = false, is_certain = false;
  };
  /// An image with the bytes it is read from: the target's memory, or a file.
  struct OpenImage {
    std::shared_ptr<const FileBytes> file;
    std::optional<images::PeImage> pe;
  };
  [[nodiscard]] OpenImage open_image(Address module);
  [[nodiscard]] static IlHandlers read_handlers(const images::PeImage& pe, std::uint32_t rva);
  [[nodiscard]] ModuleFacts read(Address module) const;
  [[nodiscard]] Image image_of(Address module, bool& has_image) const;
  [[nodiscard]] Result<std::shared_ptr<const Metadata>> from_memory(const Image& image) const;
  [[nodiscard]] Result<std::shared_ptr<const Metadata>> from_file(const ModuleFacts& facts, const Image& image) const;
  [[nodiscard]] Result<std::shared_ptr<const Metadata>> emitted(Address module) const;
  void find_edits(ModuleFacts& facts) const;
  [[nodiscard]] Result<std::shared_ptr<const Metadata>> edited(const ModuleFacts& facts) const;
  [[nodiscard]] bool row_counts_agree(Address module, const Metadata& metadata) const;
  void find_metadata(ModuleFacts& facts) const;

  RuntimeMemory memory_;
  const MemoryReader& bulk_;
  FileOpener opener_;
  std::string program_;
  std::unordered_map<Address, std::unique_ptr<ModuleFacts>> modules_;
  std::unordered_map<Address, OpenImage> images_;  ///< those whose IL was asked for
  mutable std::uint64_t emitted_budget_ = kEmittedBudget;
  ModuleFacts overflow_;  ///< stands for every module beyond the limit
};

}  // namespace mixstack::dotnet::names
