#include "mixstack/shared_images.h"

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/system/small_file.h"
#include "process/live/live_target.h"
#include "session/image_facts.h"
#include "session/process_session.h"

namespace mixstack {
namespace {

/// The files that a process sees: its mount namespace, and the root inside it.
using Root = std::tuple<std::string, dev_t, ino_t>;

/// Nothing: not known, or no process of this machine: shared with nobody.
std::optional<Root> root_of(std::uint32_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::string mounts = base::link_at(process + "/ns/mnt");
  struct stat root {};
  if (mounts.empty() || ::stat((process + "/root/").c_str(), &root) != 0) return std::nullopt;
  return Root{std::move(mounts), root.st_dev, root.st_ino};
}

}  // namespace

struct SharedImages::Implementation {
  static constexpr std::size_t kMostRoots = 256;  // more containers than that and all begin anew

  std::mutex mutex;
  std::map<Root, session::ImageFacts> by_root;

  session::ImageFacts facts_for(const std::optional<Root>& root) {
    if (!root) return {};
    const std::lock_guard lock(mutex);
    if (by_root.size() >= kMostRoots && !by_root.contains(*root)) by_root.clear();
    session::ImageFacts& facts = by_root[*root];
    if (facts.budget->is_spent()) facts = {};
    return facts;
  }
};

SharedImages::SharedImages() : implementation_(std::make_unique<Implementation>()) {}
SharedImages::~SharedImages() = default;

Result<std::unique_ptr<Session>> SharedImages::open_process(std::uint32_t pid) {
  auto target = process::open_live(pid);
  if (!target) return fail(target.error());
  return open(std::move(*target));
}

Result<std::unique_ptr<Session>> SharedImages::open(std::unique_ptr<Target> target) {
  if (!target) return fail(ErrorCode::invalid_argument);
  const TargetInfo& info = target->info();
  const std::optional<Root> root = info.core_path.empty() && info.pid != 0 ? root_of(info.pid) : std::nullopt;
  return session::ProcessSession::open(std::move(target), nullptr, NativeLines::at_hand,
                                       implementation_->facts_for(root));
}

}  // namespace mixstack
