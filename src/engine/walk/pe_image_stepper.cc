#include "engine/walk/pe_image_stepper.h"

#include <array>

#include "base/system/byte_cursor.h"
#include "engine/images/pe_image.h"
#include "engine/unwind/apply.h"
#include "engine/walk_core/caller_check.h"

namespace mixstack::walk {
namespace {

constexpr std::uint32_t kMostRows = 1 << 24;
constexpr std::uint32_t kLongRow = 12, kShortRow = 8;  // "PE Format" (Microsoft), section ".pdata"

}  // namespace

PeImageStepper::PeImageStepper(const images::ModuleMap& modules, const MemoryReader& memory, Arch arch,
                               std::uint64_t pac_mask)
    : modules_(modules), memory_(memory), format_(unwind::windows::format_of(arch)), arch_(arch), pac_mask_(pac_mask) {}

const PeImageStepper::Table& PeImageStepper::table_of(ModuleIndex module) {
  const auto [at, is_new] = tables_.try_emplace(module);
  Table& table = at->second;
  if (!is_new) return table;
  table.base = modules_.modules()[module].load_bias;
  const auto image = images::PeImage::from_memory(memory_, table.base, images::PeLayout::mapped);
  if (!image || image->machine().arch != arch_) return table;
  const images::PeDirectory rows = image->directory(images::PeDirectoryId::exception);
  const std::uint32_t count = rows.size / (format_->row_has_end ? kLongRow : kShortRow);
  if (rows.empty() || count > kMostRows) return table;
  table.rows = rows.rva;
  table.count = count;
  return table;
}

std::optional<PeImageStepper::Row> PeImageStepper::row_at(const Table& table, std::uint32_t index) const {
  const std::uint32_t size = format_->row_has_end ? kLongRow : kShortRow;
  std::array<std::byte, kLongRow> bytes{};
  if (!memory_.read_exact(table.base + table.rows + std::uint64_t{index} * size, std::span(bytes).first(size)))
    return std::nullopt;
  const auto word = [&](std::size_t at) { return base::load_at<std::uint32_t>(bytes, at).value_or(0); };
  if (format_->row_has_end) return Row{word(0), word(4), word(8)};
  return Row{word(0), 0, word(4)};
}

std::optional<PeImageStepper::Row> PeImageStepper::row_around(const Table& table, std::uint32_t rva) const {
  std::uint32_t low = 0, high = table.count;
  std::optional<Row> best;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    const auto row = row_at(table, middle);
    if (!row) return std::nullopt;
    if (row->begin <= rva) {
      best = row;
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (!best) return std::nullopt;
  std::uint64_t end = best->end;
  if (format_->length != nullptr) {
    const auto length = format_->length(unwind::windows::MemoryUnwindData(memory_, table.base), *best);
    if (!length) return std::nullopt;
    end = std::uint64_t{best->begin} + *length;
  }
  return rva < end ? best : std::nullopt;
}

const PeImageStepper::Table* PeImageStepper::table_around(Address code, ModuleIndex& module) {
  if (format_ == nullptr) return nullptr;
  module = modules_.find(code);
  if (module == kNoModule || modules_.modules()[module].kind != images::ModuleKind::pe) return nullptr;
  const Table& table = table_of(module);
  return table.count != 0 && code - table.base <= UINT32_MAX ? &table : nullptr;
}

bool PeImageStepper::claim(Frame& frame) {
  ModuleIndex module = kNoModule;
  const Table* table = table_around(frame.pc.lookup(), module);
  if (table == nullptr) return false;
  const Address offset = frame.pc.lookup() - table->base;
  if (!row_around(*table, static_cast<std::uint32_t>(offset))) return false;
  frame.kind = FrameKind::native;
  frame.module = module;
  frame.module_offset = offset;
  return true;
}

StepOutcome PeImageStepper::step(Cursor& cursor, const ThreadInput& thread) {
  const Frame& frame = cursor.frame;
  if (frame.kind != FrameKind::native) return {};
  ModuleIndex module = kNoModule;
  const Table* table = table_around(frame.pc.lookup(), module);
  if (table == nullptr) return {};
  const auto row = row_around(*table, static_cast<std::uint32_t>(frame.pc.lookup() - table->base));
  return row ? apply_rule(*table, *row, cursor, thread) : StepOutcome{};
}

StepOutcome PeImageStepper::apply_rule(const Table& table, const Row& row, Cursor& cursor,
                                       const ThreadInput& thread) const {
  const CodeAddress pc = cursor.frame.pc;
  StepOutcome outcome{.status = StepStatus::failed, .stepper = StepperId::managed};
  const auto rule = format_->rule(unwind::windows::MemoryUnwindData(memory_, table.base),
                                  {row, static_cast<std::uint32_t>(pc.raw() - table.base), !pc.is_exact()});
  if (!rule) {
    outcome.error = rule.error();
    return outcome;
  }
  Registers changed = cursor.registers;
  const auto caller = unwind::apply(*rule, changed, pc, thread.stack, pac_mask_);
  if (!caller) {
    outcome.error = caller.error();
    return outcome;
  }
  if (caller->is_end_of_stack) {
    outcome.status = StepStatus::end_of_stack;
    return outcome;
  }
  if (!advances(cursor.registers.sp(), caller->cfa, pc.is_exact(), arch_, true) && !rule->is_signal_frame) {
    outcome.error = {ErrorCode::stack_not_advancing, 0, caller->cfa};
    return outcome;
  }
  cursor.registers = changed;
  outcome.status = StepStatus::caller;
  outcome.caller_interrupted = caller->pc.is_exact();
  return outcome;
}

}  // namespace mixstack::walk
