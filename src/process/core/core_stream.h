// From a compressed or piped core to a temporary file.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/system/scoped_fd.h"
#include "process/core/core_bytes.h"
#include "process/core/sparse_spool.h"

namespace mixstack::process {

/// How far a stream was read, and why not further.
struct StreamOutcome {
  CoreEncoding encoding = CoreEncoding::plain;
  CoreStreamEnd end = CoreStreamEnd::whole;
  Error error;                   ///< for all ends but `whole`
  std::string why;               ///< the decoder's words, for `damaged` and `limit`
  bool is_bomb = false;          ///< of `limit`: more output for its input than any core has
  std::uint64_t input_read = 0;  ///< bytes of the input used
};

/// The encoding of a file that can be read at any offset: whether it has to be spooled at all.
[[nodiscard]] CoreEncoding encoding_of_file(int fd);

struct ExpansionLimit {
  std::uint64_t free = UINT64_MAX, times = UINT64_MAX;  ///< beyond `free` bytes: output for each byte of input
};

/// Reads `fd` from its beginning (a regular file) or from where it stands (a pipe or socket) to its end, decompresses
/// by the first bytes, and gives everything to `spool`, finish() included. Several frames of one encoding count as one
/// stream. Skippable frames and zeros between and after frames are passed over.
/// `patience`: a pipe or socket that gives nothing for so long is a `read_error` with ETIMEDOUT; nothing: it is waited
/// for without end.
[[nodiscard]] StreamOutcome spool_stream(int fd, SparseSpool& spool, const ExpansionLimit& limit = {},
                                         std::optional<std::chrono::milliseconds> patience = std::nullopt);

}  // namespace mixstack::process
