// Facts of images, kept for many sessions, so that a hundred processes share the tables of one libc.
#pragma once

#include <cstdint>
#include <memory>

#include "mixstack/result.h"
#include "mixstack/session.h"
#include "mixstack/target.h"

namespace mixstack {

/// Unwind rules and symbols of images, shared by the sessions that it opens of processes with one root (mount namespace
/// and root folder): each image is read once. Two images are the same if they are the same file with the same build id;
/// a build id alone is a claim of the process. Other roots have facts of their own, since files are found by path, and
/// a container must not name the frames of another; cores share nothing. Files of all sessions of a root together have
/// the budget of one session; once it is spent, sessions opened from then on begin anew. Facts live until the last of
/// this and its sessions ends; more than 512 images start anew. Thread-safe.
class SharedImages {
 public:
  SharedImages();
  ~SharedImages();
  SharedImages(const SharedImages&) = delete;
  SharedImages& operator=(const SharedImages&) = delete;

  /// As Session::open_process.
  [[nodiscard]] Result<std::unique_ptr<Session>> open_process(std::uint32_t pid);
  /// As Session::open. Only processes of this machine share.
  [[nodiscard]] Result<std::unique_ptr<Session>> open(std::unique_ptr<Target> target);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack
