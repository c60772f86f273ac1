// Puts the steppers of one capture in order, those that own a kind of code before those that guess, and binds runtimes
// and unwind rules to it. The walks themselves are in capture_walk_threads.cc.
#include "session/capture_walk.h"

#include <cstring>

#include "engine/walk/chain_order.h"

namespace mixstack::session {
namespace {

std::vector<AddressRange> executable_ranges(std::span<const Region> regions) {
  std::vector<AddressRange> ranges;
  for (const Region& r : regions)
    if (r.executable) ranges.push_back(r.range);
  return ranges;
}

/// None for a worker that asks for no JIT images: no memory, no images.
walk::JitImageStepper jit_image_stepper(Worker& worker, std::span<const Region> regions, Arch arch,
                                        std::uint64_t pac_mask) {
  const auto& generated = worker.generated();
  if (generated == nullptr) return {{}, {}, {}, arch, pac_mask};
  auto images = [generated, &worker] { return generated->images(worker.facts()); };
  return {generated_memory(regions), std::move(images), generated->tables(), arch, pac_mask};
}

/// The modules from which the runtimes copy their write barriers.
std::vector<ModuleIndex> runtime_modules(const images::ModuleMap& modules,
                                         std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes) {
  std::vector<ModuleIndex> list;
  for (ModuleIndex i = 0; i < modules.modules().size(); i++)
    for (const auto& runtime : runtimes)
      if (modules.modules()[i].load_bias == runtime->summary().base) list.push_back(i);
  return list;
}

std::vector<AddressRange> code_of(const images::ModuleMap& modules, const std::vector<ModuleIndex>& list) {
  std::vector<AddressRange> ranges;
  for (const ModuleIndex i : list) {
    const auto& code = modules.modules()[i].executable;
    ranges.insert(ranges.end(), code.begin(), code.end());
  }
  return ranges;
}

}  // namespace

CaptureWalk::CaptureWalk(Capture& capture, const Target& target, Worker& worker, std::span<const Region> regions,
                         symbols::ElfSymbols& symbols, const StepperChain& users, const WalkOptions& options)
    : capture_(capture),
      entry_point_(target.info().entry_point),
      modules_(worker.modules()),
      overlay_(capture, &worker.live()),
      only_copied_(capture, capture.frozen == &target.memory() ? &worker.live() : capture.frozen),
      runtimes_(worker.runtimes()),
      regions_(regions),
      native_(worker.native()),
      copied_(modules_, runtime_modules(modules_, runtimes_), regions, capture.frozen != nullptr, overlay_,
              native_.tables(), capture.pac_mask),
      jit_image_(jit_image_stepper(worker, regions, target.info().arch, capture.pac_mask)),
      pe_image_(modules_, overlay_, target.info().arch, capture.pac_mask),
      undescribed_(
          executable_ranges(regions), overlay_, [this](Frame& f) { return is_described(f); }, &modules_),
      newborn_(overlay_, native_),
      native_or_newborn_(native_, newborn_),
      trampoline_(overlay_),
      prologue_(
          overlay_,
          [this, &symbols](const Frame& f) {
            // An FDE that leads nowhere still says where its function begins, in stripped files too.
            const auto start = native_.function_start(f);
            if (start) return start;
            const auto symbol = symbols.function_start(f);
            return symbol ? symbol : start_in_code(f);
          },
          capture.pac_mask),
      frame_pointer_(overlay_, capture.pac_mask),
      replaced_returns_(overlay_, target.info().arch, code_of(modules_, runtime_modules(modules_, runtimes_))),
      options_(options) {
  bind();
  for (const auto& runtime : runtimes_)
    if (runtime->thread_list_error().code != ErrorCode::none)
      diagnoses_.push_back({runtime->thread_list_error(), "thread list of " + runtime->summary().module_path, {}});
  assemble(users, options);
  mend_hijacked_stacks();
}

void CaptureWalk::bind() {
  native_.set_pac_mask(capture_.pac_mask);
  native_.engine().unbind();
  for (const auto& runtime : runtimes_) {
    runtime->begin_capture(capture_, overlay_, native_.engine());
    if (unwind::RuleSource* rules = runtime->rules()) native_.engine().bind(rules);
  }
}

void CaptureWalk::assemble(const StepperChain& users, const WalkOptions& options) {
  walk::ChainOrder<walk::FrameStepper*> chain;
  const auto add = [](auto& list, walk::FrameStepper& s) { list.emplace_back(std::string(s.name()), &s); };
  add(chain.owners, native_or_newborn_);
  for (const auto& runtime : runtimes_)
    if (walk::FrameStepper* stepper = runtime->stepper()) add(chain.owners, *stepper);
  add(chain.owners, copied_);
  add(chain.owners, jit_image_);
  add(chain.owners, pe_image_);
  add(chain.owners, undescribed_);
  add(chain.fallbacks, newborn_);
  add(chain.fallbacks, trampoline_);
  add(chain.fallbacks, prologue_);
  add(chain.fallbacks, undescribed_);
  add(chain.fallbacks, frame_pointer_);
  walk::Steppers steppers;
  walk::add_users(chain, users.additions(), [&](const StepperChain::Addition& a) -> walk::FrameStepper* {
    users_.push_back(std::make_unique<walk::UserStepper>(a.stepper, a.range));
    steppers.users.push_back(users_.back().get());
    return users_.back().get();
  });
  for (const auto& [name, stepper] : chain.owners) steppers.owners.push_back(stepper);
  for (const auto& [name, stepper] : chain.fallbacks) steppers.fallbacks.push_back(stepper);
  walker_ = std::make_unique<walk::ChainWalker>(std::move(steppers), options);
}

walk::FrameStepper& CaptureWalk::stepper(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::copied_code:
      return copied_;
    case Mechanism::jit_image:
      return jit_image_;
    case Mechanism::undescribed:
      return undescribed_;
    case Mechanism::signal_trampoline:
      return trampoline_;
    case Mechanism::prologue:
      return prologue_;
    case Mechanism::frame_pointer:
      return frame_pointer_;
    case Mechanism::cfi:
      break;
  }
  return native_;
}

CaptureWalk::Owner CaptureWalk::owner_of(const ThreadCapture& thread) const {
  for (const auto& runtime : runtimes_)
    if (const dotnet::ManagedThread* managed = runtime->thread(thread.ns_tid)) return {runtime.get(), managed};
  return {};
}

/// A pending suspension replaces return addresses by its own stub and keeps the true ones in the Thread: put them back
/// into our copy of the stack.
void CaptureWalk::mend_hijacked_stacks() {
  if (is_sampled()) return;
  for (const ThreadCapture& t : capture_.threads) {
    if (t.instant != 0) continue;
    for (const auto& runtime : runtimes_) {
      const dotnet::ManagedThread* managed = runtime->thread(t.ns_tid);
      if (managed == nullptr || !managed->is_hijacked()) continue;
      const Address offset = managed->hijacked_slot - t.stack.base;
      if (managed->hijacked_slot < t.stack.base || offset + sizeof(Address) > t.stack.bytes.size()) continue;
      std::memcpy(const_cast<std::byte*>(t.stack.bytes.data()) + offset, &managed->hijacked_return, sizeof(Address));
    }
  }
}

bool CaptureWalk::is_described(Frame& frame) {
  if (native_.claim(frame) || jit_image_.claim(frame)) return true;
  for (const auto& runtime : runtimes_)
    if (walk::FrameStepper* s = runtime->stepper(); s != nullptr && s->claim(frame))
      return frame.kind == FrameKind::managed;
  return pe_image_.claim(frame);
}

StackView CaptureWalk::view_of(const ThreadCapture& thread) const {
  return {thread.stack.base, thread.stack.bytes.data(), thread.stack.bytes.size(),
          stands_still_ ? &overlay_ : &only_copied_};
}

walk::ThreadInput CaptureWalk::input_for(const ThreadCapture& thread) const {
  walk::ThreadInput input;
  input.tid = thread.tid;
  input.registers = thread.registers;
  input.stack = view_of(thread);
  input.stack_range = thread.stack.range();
  input.stack_truncated = thread.stack_truncated;
  return input;
}

/// For stripped images without unwind information.
std::optional<Address> CaptureWalk::start_in_code(const Frame& frame) const {
  const auto image = modules_.image(frame.module);
  if (!image) return std::nullopt;
  const auto functions = native_.tables()->functions_of(*image);
  const auto function = functions ? functions->around(frame.module_offset) : std::nullopt;
  if (!function) return std::nullopt;
  return modules_.modules()[frame.module].load_bias + function->begin;
}

}  // namespace mixstack::session
