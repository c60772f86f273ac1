// Compresses bytes on their way to a Writer.
#pragma once

#include <memory>
#include <string_view>

#include "output/report/writer.h"

namespace mixstack::formats {

/// Writes one gzip member (RFC 1952) without name and time, so that equal input makes equal output.
class GzipStream {
 public:
  explicit GzipStream(report::Writer& out);
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream();

  void add(std::string_view bytes);
  /// Ends the stream. Call it once, last.
  void finish();

 private:
  struct State;
  void run(std::string_view bytes, int flush);
  report::Writer& out_;
  std::unique_ptr<State> state_;
};

}  // namespace mixstack::formats
