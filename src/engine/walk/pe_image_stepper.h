// Precompiled code (ReadyToRun) by the exception directory of its own PE image, where no runtime tells of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/images/module_map.h"
#include "engine/unwind/windows/format.h"
#include "engine/walk_core/stepper.h"
#include "mixstack/memory_reader.h"

namespace mixstack::walk {

/// Claims code that a row of the image's function table covers, as native: its method is the runtime's to name. Rows
/// and unwind data are read from the target when they are needed. Ask it behind the steppers of runtimes, which know
/// the same code and its methods. Belongs to one capture; not thread-safe: it keeps the tables that it found.
class PeImageStepper final : public FrameStepper {
 public:
  /// Borrows both; `memory` is the target's.
  PeImageStepper(const images::ModuleMap& modules, const MemoryReader& memory, Arch arch, std::uint64_t pac_mask);

  [[nodiscard]] std::string_view name() const override { return "pe image"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  using Row = unwind::windows::RuntimeFunction;
  /// The function table of an image: rows ascending by begin.
  struct Table {
    Address base = 0;  ///< of the image
    std::uint32_t rows = 0, count = 0;
  };
  [[nodiscard]] const Table& table_of(ModuleIndex module);
  /// That of the image around the code; null: no PE image, or one without a table.
  [[nodiscard]] const Table* table_around(Address code, ModuleIndex& module);
  [[nodiscard]] std::optional<Row> row_at(const Table& table, std::uint32_t index) const;
  [[nodiscard]] std::optional<Row> row_around(const Table& table, std::uint32_t rva) const;
  [[nodiscard]] StepOutcome apply_rule(const Table& table, const Row& row, Cursor& cursor,
                                       const ThreadInput& thread) const;

  const images::ModuleMap& modules_;
  const MemoryReader& memory_;
  const unwind::windows::Format* format_;  ///< null: this CPU has none
  Arch arch_;
  std::uint64_t pac_mask_;
  std::map<ModuleIndex, Table> tables_;
};

}  // namespace mixstack::walk
