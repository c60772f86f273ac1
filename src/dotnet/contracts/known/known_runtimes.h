// Released runtimes, by the build id of their libcoreclr.so: what they say of themselves where a process or core does
// not hold it any more.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dotnet/contracts/descriptor.h"
#include "engine/images/elf_image.h"

namespace mixstack::dotnet {

/// One release. Addresses are link-time ones.
struct KnownRelease {
  std::string rid;           ///< "linux-x64"
  std::string version;       ///< "10.0.12"
  std::string file_version;  ///< "10.0.1226.42308"
  std::string commit;        ///< of dotnet/runtime
  std::uint64_t dac_table = 0;
  std::string json;                     ///< of its descriptor; empty: it has none (.NET 8)
  std::vector<std::uint64_t> pointers;  ///< the descriptor's pointer table

  /// The descriptor of an image of it that was loaded with that bias; nothing where there is none.
  [[nodiscard]] std::optional<Descriptor> descriptor(Address load_bias) const;
};

/// `text` is the list unpacked: the JSON of each distinct descriptor on a line of its own, an empty line, then a line
/// for each release: build id, rid, version, file version, commit, g_dacTable, number of the JSON, pointers.
[[nodiscard]] std::optional<KnownRelease> find_release(std::string_view text, std::string_view build_id);

/// From the list that is compiled in (scripts/known_runtimes says how it is refreshed). Unpacks it each time: to be
/// asked when nothing else tells.
[[nodiscard]] std::optional<KnownRelease> known_release(const images::BuildId& build_id);

/// "microsoft.netcore.app.runtime.linux-x64 10.0.12": the NuGet package that has a release's libraries.
[[nodiscard]] std::string package_of(std::string_view rid, std::string_view version);

}  // namespace mixstack::dotnet
