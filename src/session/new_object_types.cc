// The types of objects that threads are just making.
#include "session/process_session.h"

namespace mixstack::session {

Result<std::vector<std::string>> ProcessSession::new_object_types(std::span<const NewObject> objects) {
  // A type may be unloaded and its place be used by another one.
  constexpr std::chrono::seconds kNamesLast{2};
  constexpr std::size_t kMostNames = 1 << 16;
  const auto now = std::chrono::steady_clock::now();
  if (now - new_types_at_ > kNamesLast || new_types_.size() > kMostNames) {
    new_types_.clear();
    new_types_at_ = now;
  }
  std::vector<std::string> types(objects.size());
  const WorkerPool::Lease worker = this->worker();
  for (const auto& runtime : worker->runtimes()) {
    const auto made = runtime->new_objects();
    if (!made || made->is_moving()) continue;
    // Objects are read first, since they move; names take longer.
    std::vector<Address> tables(objects.size());
    for (std::size_t i = 0; i < objects.size(); i++)
      if (types[i].empty()) tables[i] = made->type_of(objects[i].words, objects[i].is_large);
    if (made->is_moving()) continue;
    for (std::size_t i = 0; i < objects.size(); i++) {
      if (tables[i] == 0) continue;
      const auto [known, is_new] = new_types_.try_emplace(tables[i]);
      if (is_new) known->second = made->name(tables[i]);
      types[i] = known->second;
    }
  }
  return types;
}

}  // namespace mixstack::session
