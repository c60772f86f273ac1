// A CoreCLR in a target: its place, its version, and which parts of it can be read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dotnet/code/supplement.h"
#include "dotnet/contracts/contracts.h"
#include "engine/images/module_map.h"

namespace mixstack::dotnet {

/// Where a runtime lies.
struct RuntimeImage {
  ModuleIndex module = kNoModule;
  std::string path;
  Address base = 0;             ///< load bias of its image
  Address descriptor = 0;       ///< 0: exports none (.NET 8 and before)
  Address dac_table = 0;        ///< g_dacTable; 0: not exported
  Arch arch = Arch::unknown;    ///< its image's
  bool is_single_file = false;  ///< the runtime is part of the program's own executable
  std::string version;  ///< "10.0.1226.42308", from the version string the runtime's data holds, else from its path
  std::string commit;   ///< of dotnet/runtime; empty when not known
  images::BuildId build_id;
  bool is_known_release = false;  ///< its build id is in the list of releases (known/known_runtimes.h)
  /// 8, 9, 10, ...; 0 when not known.
  [[nodiscard]] unsigned major_version() const;
  /// "10.0.12": files number that release as "10.0.1226.42308", patch times 100 plus the year it was built in
  /// (eng/Versions in dotnet/runtime).
  [[nodiscard]] std::string version_for_people() const;
};

/// Finds every CoreCLR among the modules: libcoreclr.so, and `executable` when it exports the descriptor itself
/// (single file). Opens no other image.
[[nodiscard]] std::vector<RuntimeImage> find_runtimes(const images::ModuleMap& modules, std::string_view executable);

/// A runtime whose descriptor could be read. contracts() tells which parts are usable; a runtime that lacks the code
/// contracts (.NET 9) still gives its threads. Immutable after open(): share it between threads. Borrows `constants`.
class RuntimeFacts {
 public:
  /// Reads the descriptor and verifies the supplement against `memory` (a live process or a core). Refusals name the
  /// missing part: subject "DotNetRuntimeContractDescriptor" (.NET 8), a baseline, a contract. `constants`
  /// (`Target::loaded_memory`; null: `memory`) reads data that never changes though it lies in data sections: the
  /// descriptor itself, the tables of precompiled code.
  [[nodiscard]] static Diagnosed<std::shared_ptr<const RuntimeFacts>> open(const MemoryReader& memory,
                                                                           const RuntimeImage& image,
                                                                           const MemoryReader* constants = nullptr);
  /// The same from a descriptor read elsewhere (tests, files).
  [[nodiscard]] static std::shared_ptr<const RuntimeFacts> from_descriptor(const MemoryReader& memory,
                                                                           Descriptor descriptor,
                                                                           const RuntimeImage& image = {},
                                                                           const MemoryReader* constants = nullptr,
                                                                           Diagnosis no_code = {});

  [[nodiscard]] const RuntimeImage& image() const { return image_; }
  [[nodiscard]] const Descriptor& descriptor() const { return descriptor_; }
  [[nodiscard]] const Layouts& layouts() const { return layouts_; }
  [[nodiscard]] const Contracts& contracts() const { return contracts_; }
  [[nodiscard]] const Supplement& supplement() const { return supplement_; }
  /// Why the code of a runtime that does not describe it (.NET 9) could not be read after all; else code none.
  [[nodiscard]] const Diagnosis& no_code() const { return no_code_; }
  /// Reads this runtime's structures through `reader`; borrows both.
  [[nodiscard]] RuntimeMemory memory(const MemoryReader& reader) const { return {reader, layouts_, constants_}; }
  /// Managed frames can be found and unwound: Thread, ExecutionManager and StackWalk are admitted.
  [[nodiscard]] bool can_walk() const;

 private:
  RuntimeImage image_;
  Descriptor descriptor_;
  Layouts layouts_;
  Contracts contracts_;
  Supplement supplement_;
  Diagnosis no_code_;
  const MemoryReader* constants_ = nullptr;
};

}  // namespace mixstack::dotnet
