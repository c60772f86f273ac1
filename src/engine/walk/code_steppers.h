// Native code without unwind information: by decoding its function's machine code, then by the frame pointer.
#pragma once

#include <functional>
#include <optional>

#include "engine/unwind/rule.h"
#include "engine/walk_core/stepper.h"

namespace mixstack::walk {

/// Start of the function around the code, if a symbol says so.
using FunctionStart = std::function<std::optional<Address>(const Frame&)>;

/// A fallback: executes the prologue of the frame's function symbolically. Trust `prologue`; stubs of a PLT are
/// recognised by their instructions, hence `certain`.
class PrologueStepper final : public FrameStepper {
 public:
  /// Borrows `code`.
  PrologueStepper(const MemoryReader& code, FunctionStart function_start, std::uint64_t pac_mask)
      : code_(code), function_start_(std::move(function_start)), pac_mask_(pac_mask) {}

  [[nodiscard]] std::string_view name() const override { return "prologue"; }
  [[nodiscard]] bool claim(Frame&) override { return false; }
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  [[nodiscard]] std::optional<unwind::UnwindRule> stub_rule(const Cursor& cursor) const;

  const MemoryReader& code_;
  FunctionStart function_start_;
  std::uint64_t pac_mask_;
};

/// A fallback: the code that a signal handler returns to, if it has no CFI (AArch64 vDSO, musl, static programs). Its
/// bytes are unmistakable, hence trust `certain`.
class SignalTrampolineStepper final : public FrameStepper {
 public:
  /// Borrows `code`.
  explicit SignalTrampolineStepper(const MemoryReader& code) : code_(code) {}

  [[nodiscard]] std::string_view name() const override { return "signal trampoline"; }
  [[nodiscard]] bool claim(Frame&) override { return false; }
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  const MemoryReader& code_;
};

/// The last fallback: the frame record at the frame pointer, accepted only if a call instruction ends at its return
/// address. Trust `frame_pointer`: it may have skipped a caller. Never used from managed code, and from undescribed
/// code only if all else failed: a stub's frame pointer is its caller's.
class FramePointerStepper final : public FrameStepper {
 public:
  /// Borrows `code`.
  FramePointerStepper(const MemoryReader& code, std::uint64_t pac_mask) : code_(code), pac_mask_(pac_mask) {}

  [[nodiscard]] std::string_view name() const override { return "frame pointer"; }
  [[nodiscard]] bool claim(Frame&) override { return false; }
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  const MemoryReader& code_;
  std::uint64_t pac_mask_;
};

/// Whether a call instruction ends at `return_address`.
[[nodiscard]] bool follows_call(const MemoryReader& code, Arch arch, Address return_address);

}  // namespace mixstack::walk
