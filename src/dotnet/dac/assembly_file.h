// The file of an assembly, for a DAC that lacks its metadata.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dotnet/dac/protocol.h"
#include "engine/images/pe_image.h"
#include "mixstack/target.h"

namespace mixstack::dotnet::dac {

/// One file, kept open between the pieces that are asked of it.
class AssemblyFile {
 public:
  using Opener = std::function<Result<std::shared_ptr<const FileBytes>>(const std::string&)>;

  AssemblyFile() = default;
  /// A file that cannot be opened or is no PE image is kept as one without metadata. Paths that are not absolute (names
  /// of dynamic modules) are not looked for.
  [[nodiscard]] static AssemblyFile open(const Opener& opener, const std::string& path);

  [[nodiscard]] bool is(const std::string& path) const { return path_ == path; }
  /// The piece, cut at the end of the metadata; empty when the file is not the one that was loaded.
  [[nodiscard]] std::span<const std::byte> metadata(const MetadataRequest& request) const;

 private:
  std::string path_;
  std::shared_ptr<const FileBytes> file_;
  std::optional<images::PeImage> image_;
};

}  // namespace mixstack::dotnet::dac
