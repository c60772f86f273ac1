#include "agent/in_process/known_code.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "agent/in_process/contract_descriptor.h"
#include "engine/self_walk/host.h"
#include "engine/self_walk/probed_memory.h"
#include "engine/symbols/demangle.h"

namespace mixstack::agent {
namespace {

/// The runtime forgets code some microseconds after it reported the end of its method, so a short list suffices.
constexpr std::size_t kMostFreed = 256;

[[nodiscard]] std::string short_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

[[nodiscard]] ProfileFrame native_frame(Address lookup) {
  Dl_info known{};
  if (::dladdr(reinterpret_cast<void*>(lookup), &known) == 0 || known.dli_fname == nullptr)
    return {FrameKind::undescribed, "[unknown]", {}};
  const std::string file = short_name(known.dli_fname);
  if (known.dli_sname == nullptr) return {FrameKind::native, file.empty() ? "[unknown]" : file, file};
  return {FrameKind::native, symbols::demangle(known.dli_sname), file};
}

}  // namespace

KnownCode::KnownCode(clr::ProfilerInfo info)
    : info_(info), layout_(CodeHeaderLayout::in(own_descriptor())), rules_(self_walk::host::arch(), jitted_, images_) {}

/// The runtime reports no unload of functions of collectible assemblies, so they are remembered by module.
bool KnownCode::may_be_unloaded(clr::Id function) {
  const clr::Id module = info_.module_of(function);
  const std::lock_guard lock(mutex_);
  const auto at = collectible_.find(module);
  if (at == collectible_.end()) return false;
  if (!methods_.knows(function)) at->second.push_back(function);
  return true;
}

void KnownCode::freed(clr::Id function) {
  {
    const std::lock_guard lock(mutex_);
    if (freed_.size() == kMostFreed) freed_.pop_front();
    freed_.push_back(function);
  }
  const std::uint64_t number = methods_.forget(function);
  if (number == 0) return;
  for (const AddressRange& range : jitted_.free_method(number)) tell(range);
}

void KnownCode::tell(AddressRange freed) {
  const std::lock_guard lock(listener_mutex_);
  if (listener_) listener_(freed);
}

void KnownCode::tell_of_freed(std::function<void(AddressRange)> listener) {
  const std::lock_guard lock(listener_mutex_);
  listener_ = std::move(listener);
}

void KnownCode::unloaded(clr::Id module) {
  std::vector<clr::Id> functions;
  {
    const std::lock_guard lock(mutex_);
    const auto at = collectible_.find(module);
    if (at == collectible_.end()) return;
    functions = std::move(at->second);
    collectible_.erase(at);
  }
  for (const clr::Id function : functions) freed(function);
}

void KnownCode::catch_up() {
  for (const clr::Id module : info_.modules()) loaded(module);
  for (const clr::Function& function : info_.compiled()) compiled(function, false);
}

void KnownCode::compiled(const clr::Function& function, bool is_dynamic) {
  if (is_dynamic) {  // the runtime reuses ids
    const std::lock_guard lock(mutex_);
    std::erase(freed_, function.id);
  }
  const bool may_go = is_dynamic || may_be_unloaded(function.id);
  std::string name;  // asked for now if the method may be freed later
  if (may_go && !methods_.knows(function.id))
    name = is_dynamic ? info_.dynamic_name(function.id) : info_.name(function.id);
  const std::uint64_t number = methods_.number_of(function.id, std::move(name));
  if (number != 0) add_versions(function, number, may_go);
}

bool KnownCode::was_freed(clr::Id function) {
  const std::lock_guard lock(mutex_);
  return std::find(freed_.begin(), freed_.end(), function) != freed_.end();
}

/// The runtime may report the method freed before we have added it. So check `freed_` again at the end, and take the
/// method back.
void KnownCode::learn(Address lookup) {
  const clr::Function function = info_.any_function_at(lookup);
  if (function.id == 0 || was_freed(function.id)) return;
  if (info_.function_at(lookup) != 0) {
    compiled(function, false);
    learned_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (const std::uint64_t number = methods_.number_of(function.id, "[dynamic]"); number != 0)
    add_versions(function, number, true);
  learned_.fetch_add(1, std::memory_order_relaxed);
  if (was_freed(function.id)) freed(function.id);
}

void KnownCode::add_versions(const clr::Function& function, std::uint64_t number, bool may_go) {
  // Code and headers stay mapped during the callback, so a page that was probed once is read without a system call,
  // which would take most of the time.
  const self_walk::ProbedMemory memory(probe_);
  // All versions: a callback reports one, while others may have been compiled at the same time.
  for (const Address start : info_.code_starts(function))
    for (const JitCode& code :
         pieces_of(self_walk::host::arch(), memory, layout_, info_.code_ranges(start), number, may_go))
      add(code);
}

void KnownCode::add(const JitCode& code) {
  JitCode before;
  const bool is_known = jitted_.find(code.range.begin, before);
  if (is_known && before.range == code.range && before.method == code.method) return;
  std::vector<AddressRange> replaced;
  (void)jitted_.add(code, &replaced);
  for (const AddressRange range : replaced) tell(range);
}

void KnownCode::loaded(clr::Id id) {
  const auto module = info_.module(id);
  if (!module) return;
  if ((module->flags & clr::Module::kCollectible) != 0) {
    const std::lock_guard lock(mutex_);
    collectible_.try_emplace(id);
  }
  if (module->base == 0) return;
  if (const auto image = module_code_.of(module->base, module->path, self_walk::host::arch(), memory_))
    (void)images_.add(*image);
}

ProfileFrame KnownCode::frame_at(Address lookup, std::uint64_t method) {
  MethodNumbers::Method known = methods_[method];
  clr::Id function = known.id;
  if (method == 0 && images_.find(lookup) != nullptr) function = info_.function_at(lookup);
  if (method == 0 && function == 0) {
    ProfileFrame frame = native_frame(lookup);
    if (frame.kind == FrameKind::undescribed) learn(lookup);
    return frame;
  }
  // A method of a module that may be unloaded has its name kept: do not ask the runtime about it, it may be gone.
  const bool may_be_gone = !known.name.empty();
  ProfileFrame frame{FrameKind::managed, std::move(known.name), {}};
  if (frame.name.empty() && function != 0) frame.name = info_.name(function);
  if (frame.name.empty()) frame.name = "[unknown method]";
  if (!may_be_gone && function != 0)
    if (const auto module = info_.module(info_.module_of(function))) frame.module = short_name(module->path);
  return frame;
}

}  // namespace mixstack::agent
