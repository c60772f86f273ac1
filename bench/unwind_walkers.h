// Our walkers: RuleStepper in its modes.
#pragma once

#include "engine/images/file_bytes.h"
#include "engine/unwind/rule_step.h"
#include "unwind_snapshots.h"

namespace bench {

inline std::shared_ptr<const mixstack::images::ElfImage> open_image(const std::string& path) {
  auto file = mixstack::images::open_file_bytes(path);
  if (!file) return nullptr;
  auto image = mixstack::images::ElfImage::from_file(*file);
  return image ? *image : nullptr;
}

/// Files are opened and tables made when a walk first needs them.
inline mixstack::unwind::NativeModules native_modules(const SnapshotFile& file) {
  std::vector<mixstack::unwind::NativeModule> modules;
  for (std::uint32_t i = 0; i < file.modules.size(); i++) {
    const auto& m = file.modules[i];
    // Shared objects and position-independent executables are linked at 0.
    modules.push_back({{m.begin, m.end}, m.begin, i, nullptr});
  }
  return mixstack::unwind::NativeModules(
      std::move(modules), [&file](mixstack::ModuleIndex i) -> std::shared_ptr<const mixstack::unwind::UnwindTable> {
        auto image = open_image(file.modules[i].path.data());
        return image ? mixstack::unwind::UnwindTable::create(std::move(image)) : nullptr;
      });
}

template <bool kFull, bool kCached>
class OurWalker final : public Walker {
 public:
  void prepare(const SnapshotFile& file) override { stepper_.set_modules(native_modules(file)); }
  void forget() override { stepper_.clear_cache(); }

  Frames walk(const Snapshot& snapshot) override {
    using mixstack::Arch;
    using mixstack::unwind::RuleStatus;
    Frames frames;
    const mixstack::StackView stack = snapshot.stack;
    if constexpr (kFull) {
      mixstack::Registers registers = snapshot.registers;
      auto pc = mixstack::CodeAddress::exact(registers.pc());
      while (frames.add(pc.raw())) {
        const auto step = stepper_.step_full<Arch::x86_64, kCached>(pc, registers, stack);
        if (step.status != RuleStatus::caller) break;
        pc = step.pc;
      }
    } else {
      auto frame = mixstack::unwind::LightFrame::innermost(snapshot.registers);
      while (frames.add(frame.pc.raw()))
        if (stepper_.light<Arch::x86_64, kCached>(frame, stack).status != RuleStatus::caller) break;
    }
    return frames;
  }

 private:
  mixstack::unwind::RuleStepper stepper_{mixstack::Arch::x86_64};
};

}  // namespace bench
