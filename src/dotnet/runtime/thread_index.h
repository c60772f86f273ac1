// The threads of one capture, by what the system calls them.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "dotnet/code/threads.h"

namespace mixstack::dotnet {

class ThreadIndex {
 public:
  void set(ThreadList list) {
    list_ = std::move(list);
    by_os_id_.clear();
    by_os_id_.reserve(list_.threads.size());
    for (std::size_t i = 0; i < list_.threads.size(); i++) {
      const ManagedThread& t = list_.threads[i];
      if (t.os_id != 0 && !t.is_dead()) by_os_id_.emplace_back(t.os_id, i);
    }
    std::sort(by_os_id_.begin(), by_os_id_.end());
  }
  [[nodiscard]] const ThreadList& list() const { return list_; }
  /// The one that runs on an OS thread, the first if several say so, or null.
  [[nodiscard]] const ManagedThread* find(std::uint64_t os_id) const {
    const auto at = std::lower_bound(by_os_id_.begin(), by_os_id_.end(), std::pair(os_id, std::size_t{0}));
    return at == by_os_id_.end() || at->first != os_id ? nullptr : &list_.threads[at->second];
  }

 private:
  ThreadList list_;
  std::vector<std::pair<std::uint64_t, std::size_t>> by_os_id_;  ///< sorted
};

}  // namespace mixstack::dotnet
