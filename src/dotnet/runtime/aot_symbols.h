// Names of methods in programs that .NET compiled ahead of time.
#pragma once

#include <memory>

#include "dotnet/names/aot_methods.h"
#include "engine/images/module_map.h"
#include "engine/unwind/unwind_table.h"
#include "mixstack/memory_reader.h"
#include "mixstack/symbolizer.h"

namespace mixstack::dotnet {

/// Names native frames of one image by the metadata that NativeAOT keeps in it for stack traces. Code whose start is in
/// no map (funclets, stubs, other compilers' code) is left to others. Borrows the modules; not thread-safe.
class AotSymbols final : public NameProvider {
 public:
  /// Null where the image holds no such metadata, or of a format that is not known. `memory` is borrowed for the call.
  [[nodiscard]] static std::shared_ptr<AotSymbols> open(const images::ModuleMap& modules, ModuleIndex module,
                                                        const MemoryReader& memory,
                                                        std::shared_ptr<const unwind::UnwindTable> functions);

  [[nodiscard]] std::string_view provider_name() const override { return "nativeaot"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override;

 private:
  AotSymbols(const images::ModuleMap& modules, ModuleIndex module, names::AotMethods methods,
             std::shared_ptr<const unwind::UnwindTable> functions)
      : modules_(modules), module_(module), methods_(std::move(methods)), functions_(std::move(functions)) {}

  const images::ModuleMap& modules_;
  ModuleIndex module_;
  names::AotMethods methods_;
  std::shared_ptr<const unwind::UnwindTable> functions_;
};

}  // namespace mixstack::dotnet
