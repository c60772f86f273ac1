// ELF images that several processes (or several generations of one process's module list) share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "engine/images/elf_image.h"

namespace mixstack::images {

/// Owned by a session; thread-safe. The key is the file's identity *and* its build id: a build id alone is a claim of
/// the target, and a process that forges one must not name the frames of another. A cached image keeps its file open,
/// so that the inode cannot come to mean another file.
class ImageCache {
 public:
  struct Key {
    std::uint32_t device_major = 0, device_minor = 0;
    std::uint64_t inode = 0, file_offset = 0;
    BuildId build_id;
    [[nodiscard]] friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.device_major, a.device_minor, a.inode, a.file_offset, a.build_id.size, a.build_id.bytes) <
             std::tie(b.device_major, b.device_minor, b.inode, b.file_offset, b.build_id.size, b.build_id.bytes);
    }
  };

  /// Null when there is none.
  [[nodiscard]] std::shared_ptr<const ElfImage> find(const Key& key) const;
  void insert(const Key& key, std::shared_ptr<const ElfImage> image);

 private:
  static constexpr std::size_t kMaxImages = 512;  // each holds a descriptor; more than that and the cache starts anew

  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<const ElfImage>> images_;
};

}  // namespace mixstack::images
