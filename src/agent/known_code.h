// All the code the runtime told us of: where it is, how it is unwound, what it is called.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/clr.h"
#include "agent/code_header.h"
#include "agent/composite_image.h"
#include "agent/image_list.h"
#include "agent/jit_map.h"
#include "agent/managed_code.h"
#include "agent/method_numbers.h"
#include "memory/page_probe.h"
#include "memory/self_memory.h"
#include "model/profile.h"

namespace mixstack::agent {

/// Filled by the runtime's callbacks, from any thread of it; `rules` and `method_at` are signal-safe.
class KnownCode {
 public:
  struct Account {
    JitMap::Account map;
    std::size_t methods = 0, images = 0;
  };

  explicit KnownCode(clr::ProfilerInfo info);
  [[nodiscard]] bool is_usable() const { return jitted_.is_usable(); }

  // What the runtime tells.
  void compiled(const clr::Function& function, bool is_dynamic);
  void freed(clr::Id function);
  /// Code that no callback told of: who attaches is not told of dynamic methods and stubs that are there. Its method is
  /// called "[dynamic]": its own name may be gone while we ask. Not for signal handlers.
  void learn(Address lookup);
  void loaded(clr::Id module);
  /// All code of the module goes.
  void unloaded(clr::Id module);
  /// What was there before: modules, and what was compiled.
  void catch_up();

  /// `listener` is called when code is not found any more and before the runtime uses its place again; null: nobody.
  void tell_of_freed(std::function<void(AddressRange)> listener);

  [[nodiscard]] const ManagedCode& rules() const { return rules_; }
  [[nodiscard]] const JitMap& jitted() const { return jitted_; }
  /// Grows when code is learned of that no callback told of. Signal-safe. (Code that callbacks tell of is known before
  /// it runs: no stack that was seen before has it.)
  [[nodiscard]] std::uint64_t learned() const { return learned_.load(std::memory_order_relaxed); }
  /// What a frame is called. `method` is its number in `jitted`, 0: none. Asks the runtime; not for signal handlers.
  /// Code of nobody is learned of: the next walk knows it.
  [[nodiscard]] ProfileFrame frame_at(Address lookup, std::uint64_t method);
  [[nodiscard]] Account account() const { return {jitted_.account(), methods_.size(), images_.size()}; }

 private:
  void add(const JitCode& code);
  void add_versions(const clr::Function& function, std::uint64_t number, bool may_go);
  [[nodiscard]] bool was_freed(clr::Id function);
  void tell(AddressRange freed);
  [[nodiscard]] bool may_be_unloaded(clr::Id function);

  clr::ProfilerInfo info_;
  memory::SelfMemory memory_;
  memory::PageProbe probe_ = memory::PageProbe::find_way();
  std::optional<CodeHeaderLayout> layout_;
  MethodNumbers methods_;
  JitMap jitted_;  ///< its methods are numbers of `methods_`
  ImageList images_;
  ModuleCode module_code_;
  ManagedCode rules_;
  std::atomic<std::uint64_t> learned_{0};
  std::mutex mutex_;
  std::deque<clr::Id> freed_;  ///< the last ones
  std::mutex listener_mutex_;
  std::function<void(AddressRange)> listener_;
  std::unordered_map<clr::Id, std::vector<clr::Id>> collectible_;  ///< functions of modules that can be unloaded
};

}  // namespace mixstack::agent
