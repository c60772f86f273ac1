#include "process/core/file_finder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/images/file_bytes.h"
#include "process/core/core_samples.h"

namespace mixstack::process {
namespace {

class FileFinderTest : public ::testing::Test {
 protected:
  /// Everything offered for a path, in order.
  static std::vector<std::string> offered(const FileFinderOptions& options, const std::string& path,
                                          std::size_t accepted = ~std::size_t{0}) {
    std::vector<std::string> out;
    const bool found = FileFinder(options).find(path, {}, [&](const FileCandidate& c) {
      out.push_back(c.where);
      return out.size() == accepted;
    });
    EXPECT_EQ(found, out.size() == accepted);
    return out;
  }
  test::TemporaryFolder folder_, other_;
  test::Bytes text_{std::byte{'x'}};
};

TEST_F(FileFinderTest, TheExecutableGivenStandsForTheProgramAndForNothingElse) {
  const std::string mine = folder_.write("mine", text_);
  other_.write("prog", text_);
  FileFinderOptions options;
  options.use_own_files = false;
  options.sysroots = {other_.path()};
  options.executable = mine;
  options.executable_path = "/app/prog";
  // First, and then what the sysroots have if it is refused.
  EXPECT_EQ(offered(options, "/app/prog"), (std::vector<std::string>{mine, other_.file("prog")}));
  EXPECT_EQ(offered(options, "/app/prog", 1), std::vector<std::string>{mine});
  EXPECT_EQ(offered(options, "/other/prog"), std::vector<std::string>{other_.file("prog")});
  options.executable = folder_.file("is not there");
  EXPECT_EQ(offered(options, "/app/prog"), std::vector<std::string>{other_.file("prog")});
  // A core that does not tell which program it is: the file given stands for nothing.
  options.executable = mine;
  options.executable_path.clear();
  EXPECT_EQ(offered(options, "/app/prog"), std::vector<std::string>{other_.file("prog")});
  EXPECT_TRUE(offered(options, "").empty());
}

TEST_F(FileFinderTest, FullPathsComeBeforeBareNamesAndFoldersInTheirOrder) {
  std::filesystem::create_directories(folder_.file("lib"));
  folder_.write("lib/x", text_);
  folder_.write("x", text_);
  other_.write("x", text_);
  FileFinderOptions options;
  options.use_own_files = false;
  options.sysroots = {other_.path(), folder_.path(), "/nowhere/at/all"};
  EXPECT_EQ(offered(options, "/lib/x"),
            (std::vector<std::string>{other_.file("x"), folder_.file("lib/x"), folder_.file("x")}));
  EXPECT_TRUE(offered(options, "lib/x").empty());  // not a path of a file
  EXPECT_EQ(FileFinder(options).missing_roots(), std::vector<std::string>{"/nowhere/at/all"});
  EXPECT_FALSE(FileFinder(options).open("/lib/y"));
  EXPECT_TRUE(FileFinder(options).open("/lib/x"));
  EXPECT_EQ(FileFinder(options).open("x").error().code, ErrorCode::invalid_argument);
}

TEST_F(FileFinderTest, FetchesWhatNoFolderHas) {
  FileFinderOptions options;
  options.use_own_files = false;
  std::vector<std::string> asked;
  options.fetch = [&](const images::BuildId& id, const std::string& path) -> Result<FileCandidate> {
    asked.push_back(path + " " + id.hex());
    if (path != "/lib/x") return fail(ErrorCode::not_found);
    return FileCandidate{images::buffer_file_bytes({}), "fetched"};
  };
  const FileFinder finder(options);
  images::BuildId id;
  id.size = 4;
  const auto accept = [](const FileCandidate& c) { return c.where == "fetched"; };
  EXPECT_TRUE(finder.find("/lib/x", id, accept));
  EXPECT_FALSE(finder.find("/lib/y", id, accept));
  EXPECT_FALSE(finder.find("/lib/x", {}, accept));  // nothing to ask by
  EXPECT_EQ(asked, (std::vector<std::string>{"/lib/x 00000000", "/lib/y 00000000"}));
}

}  // namespace
}  // namespace mixstack::process
