// The DAC's file: the runtime it was built with, and a copy of it that cannot be changed any more.
#pragma once

#include <memory>
#include <string>

#include "base/system/scoped_fd.h"
#include "dotnet/code/runtime.h"
#include "mixstack/diagnosis.h"

namespace mixstack::dotnet::dac {

template <class T>
using Outcome = tl::expected<T, mixstack::Diagnosis>;

inline constexpr std::string_view kDacFileName = "libmscordaccore.so";

/// The path of a runtime's DAC: beside libcoreclr.so, or for a single-file program beside the program, if anywhere.
[[nodiscard]] std::string dac_path_beside(const RuntimeImage& runtime);

/// Version and commit in the DAC's data, in the form of RuntimeImage; empty when it holds none.
struct DacVersion {
  std::string version, commit;
};
[[nodiscard]] DacVersion dac_version(std::span<const std::byte> file);

/// Refuses a DAC of another build than the runtime's, because it would read other structures. A runtime without a known
/// commit (no image to read it from) accepts any.
[[nodiscard]] Outcome<void> check_version(const DacVersion& dac, const RuntimeImage& runtime, const std::string& path);

/// A sealed copy in anonymous memory. The helper loads it by descriptor: paths of other mount namespaces, deleted files
/// and users without a right to the folder make no difference, and the target cannot exchange it after the check.
[[nodiscard]] Outcome<base::ScopedFd> sealed_copy(std::span<const std::byte> file, const std::string& path);

}  // namespace mixstack::dotnet::dac
