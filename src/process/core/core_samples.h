// Files that look like cores, as they are and compressed by the real tools, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "process/core/core_bytes.h"

namespace mixstack::process::test {

using Bytes = std::vector<std::byte>;

/// A folder that goes with the test.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "mixstack-core-test-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const Bytes& bytes) const {
    std::ofstream out(path_ / name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

inline Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  Bytes out(static_cast<std::size_t>(in.tellg()));
  in.seekg(0).read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  return out;
}

/// Runs of noise, of a pattern, and of zeros, in turn; its end not at a block's end.
inline Bytes core_like(std::size_t size, unsigned seed = 1) {
  std::mt19937 random(seed);
  Bytes out(size);
  std::size_t at = 0;
  for (unsigned kind = 0; at < size; kind++) {
    const std::size_t end = std::min(size, at + 1 + random() % (size / 12));
    for (; at < end; at++)
      if (kind % 3 != 2) out[at] = static_cast<std::byte>(kind % 3 == 0 ? random() : at >> 4);
  }
  return out;
}

inline Bytes all_of(const CoreBytes& core) {
  Bytes out(core.size());
  const auto n = core.read_at(0, out);
  EXPECT_TRUE(n);
  EXPECT_EQ(n.value_or(0), core.size());
  return out;
}

struct Tool {
  CoreEncoding encoding;
  const char* compress;  ///< reads standard input, writes standard output
};
inline constexpr Tool kTools[] = {{CoreEncoding::zstd, "zstd -q -c"},
                                  {CoreEncoding::gzip, "gzip -c"},
                                  {CoreEncoding::lz4, "lz4 -q -c"},
                                  {CoreEncoding::xz, "xz -1 -c"}};

inline Bytes compressed(const TemporaryFolder& folder, const std::string& command, const Bytes& bytes) {
  const auto in = folder.write("compress.in", bytes);
  const auto out = folder.file("compress.out");
  // The test cannot go on without.
  if (std::system((command + " < " + in + " > " + out).c_str()) != 0) throw std::runtime_error(command + " fails");
  return read_file(out);
}

}  // namespace mixstack::process::test
