#include "process/core/file_finder.h"

#include <fcntl.h>

#include "engine/images/file_bytes.h"
#include "process/kernel/rooted_open.h"

namespace mixstack::process {
namespace {

[[nodiscard]] std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// The names under which one file may lie below a root.
[[nodiscard]] std::vector<std::string> names_of(const std::string& path, const images::BuildId& build_id,
                                                bool may_be_flat) {
  std::vector<std::string> names{path};
  // A flat folder of collected files; on this machine's own root that would be a file of the root folder.
  if (may_be_flat) names.push_back("/" + base_name(path));
  const std::string hex = build_id.hex();
  if (hex.size() < 4) return names;
  const std::string tail = ".build-id/" + hex.substr(0, 2) + "/" + hex.substr(2);
  names.push_back("/usr/lib/debug/" + tail);
  if (may_be_flat) names.push_back("/" + tail);
  return names;
}

}  // namespace

FileFinder::FileFinder(FileFinderOptions options) : options_(std::move(options)) {
  if (options_.packed) roots_.push_back({"the pack: ", base::ScopedFd(), false, true});
  std::vector<std::string> folders = options_.sysroots;
  if (options_.use_own_files) folders.emplace_back("/");
  for (std::size_t i = 0; i < folders.size(); i++) {
    Root root{folders[i], base::ScopedFd(::open(folders[i].c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
              options_.use_own_files && i + 1 == folders.size(), false};
    if (root.fd) {
      roots_.push_back(std::move(root));
    } else {
      missing_roots_.push_back(folders[i]);
    }
  }
}

Result<std::shared_ptr<const FileBytes>> FileFinder::open_in(const Root& root, const std::string& path) const {
  if (root.is_packed) return options_.packed(path);
  auto fd = open_below(root.fd.get(), path);
  if (!fd) return fail(fd.error());
  return images::file_bytes_from_fd(std::move(*fd));
}

bool FileFinder::find(const std::string& path, const images::BuildId& build_id,
                      const std::function<bool(const FileCandidate&)>& accept) const {
  if (path.empty() || path.front() != '/') return false;
  if (!options_.executable.empty() && path == options_.executable_path)
    if (auto file = images::open_file_bytes(options_.executable); file && accept({*file, options_.executable}))
      return true;
  for (const Root& root : roots_) {
    for (const std::string& name : names_of(path, build_id, root.may_be_flat())) {
      auto file = open_in(root, name);
      if (file && accept({*file, root.is_own ? name : root.path + name})) return true;
    }
  }
  if (!options_.fetch || build_id.empty()) return false;
  const auto fetched = options_.fetch(build_id, path);
  return fetched && accept(*fetched);
}

Result<std::shared_ptr<const FileBytes>> FileFinder::open(const std::string& path) const {
  Result<std::shared_ptr<const FileBytes>> last = fail(ErrorCode::not_found);
  if (path.empty() || path.front() != '/') return fail(ErrorCode::invalid_argument);
  for (const Root& root : roots_) {
    const std::vector<std::string> names =
        root.may_be_flat() ? std::vector<std::string>{path, "/" + base_name(path)} : std::vector<std::string>{path};
    for (const std::string& name : names)
      if (last = open_in(root, name); last) return last;
  }
  return last;
}

}  // namespace mixstack::process
