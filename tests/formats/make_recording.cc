// LINK: mixstack_output_formats
// Writes the recording made by hand (tests/support/sample_recording.h), once raw: what the consumers of every format
// are asked about by consumers_test.py.
#include <cstdio>

#include "output/formats/recording_file.h"
#include "support/sample_recording.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::FILE* file = std::fopen(argv[1], "wb");
  if (file == nullptr) return 1;
  mixstack::report::Writer out(
      [file](std::string_view piece) { (void)std::fwrite(piece.data(), 1, piece.size(), file); });
  mixstack::formats::write_recording(out, mixstack::testing::sample_recording());
  out.flush();
  return std::fclose(file) == 0 ? 0 : 1;
}
