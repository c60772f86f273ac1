#include "features/machine/refused_recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace mixstack::machine {
namespace {

TEST(RefusedRecording, WithoutStopsTheNotesSayWhyAndStopsWouldHelp) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const Refused refused = refused_recording({{}, true, {"perf: not \x1b here"}}, pid);
  EXPECT_EQ(refused.problem, Problem::permission);
  EXPECT_NE(refused.words.find("\n  perf: not \\x1b here\n"), std::string::npos) << refused.words;
  EXPECT_NE(refused.words.find("leave out --no-stop"), std::string::npos);
}

TEST(RefusedRecording, AnErrorHasItsProblemAndNotes) {
  const Refused gone = refused_recording({{.code = ErrorCode::no_such_process}}, 2'147'483'647);
  EXPECT_EQ(gone.problem, Problem::no_such_process);
  EXPECT_EQ(gone.words, "there is no process 2147483647.\n");
  const Refused noted = refused_recording({{.code = ErrorCode::no_such_process}, false, {"why"}}, 2'147'483'647);
  EXPECT_EQ(noted.words, gone.words + "  why\n");
}

}  // namespace
}  // namespace mixstack::machine
