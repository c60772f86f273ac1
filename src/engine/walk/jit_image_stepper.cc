#include "engine/walk/jit_image_stepper.h"

#include <algorithm>

#include "engine/walk/native_stepper.h"

namespace mixstack::walk {

JitImageStepper::JitImageStepper(std::vector<AddressRange> generated, Source images,
                                 std::shared_ptr<unwind::UnwindTables> tables, Arch arch, std::uint64_t pac_mask)
    : generated_(std::move(generated)),
      source_(std::move(images)),
      tables_(std::move(tables)),
      arch_(arch),
      pac_mask_(pac_mask) {}

bool JitImageStepper::is_generated(Address address) const {
  const auto behind = std::upper_bound(generated_.begin(), generated_.end(), address,
                                       [](Address a, const AddressRange& r) { return a < r.begin; });
  return behind != generated_.begin() && std::prev(behind)->contains(address);
}

void JitImageStepper::load() {
  is_loaded_ = true;
  images_ = source_ ? source_() : nullptr;
  if (images_ == nullptr || images_->images().empty()) return;
  std::vector<unwind::NativeModule> modules;
  const auto images = images_->images();
  for (std::size_t i = 0; i < images.size(); i++)
    for (const AddressRange& range : images[i]->code()) modules.push_back({range, 0, static_cast<ModuleIndex>(i), {}});
  auto table_of = [images = images_, tables = tables_](ModuleIndex i) -> std::shared_ptr<const unwind::UnwindTable> {
    return tables->of(images->images()[i]->elf());
  };
  engine_.emplace(arch_, pac_mask_);
  engine_->set_modules(unwind::NativeModules(std::move(modules), std::move(table_of)));
}

bool JitImageStepper::claim(Frame& frame) {
  if (!is_generated(frame.pc.lookup())) return false;
  if (!is_loaded_) load();
  if (!engine_ || engine_->module_of(frame.pc) == kNoModule) return false;
  frame.kind = FrameKind::native;
  frame.module = kNoModule;
  return true;
}

StepOutcome JitImageStepper::step(Cursor& cursor, const ThreadInput& thread) {
  if (cursor.frame.kind != FrameKind::native || cursor.frame.module != kNoModule || !engine_) return {};
  return outcome_of(engine_->step(cursor.frame.pc, cursor.registers, thread.stack), *engine_);
}

}  // namespace mixstack::walk
