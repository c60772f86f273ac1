#include "features/renaming/later_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "engine/images/file_bytes.h"
#include "engine/images/symbol_table.h"
#include "features/renaming/image_names.h"

namespace mixstack::renaming {
namespace {

namespace fs = std::filesystem;

/// This program: an image with a build id, symbols and lines.
struct OwnImage {
  OwnImage() {
    auto file = images::open_file_bytes(path);
    auto opened = file ? images::ElfImage::from_file(*file)
                       : Result<std::shared_ptr<const images::ElfImage>>(fail(ErrorCode::not_found));
    if (!opened) return;
    image = *opened;
    const auto table = images::SymbolTable::build({.image = image, .debug = {}, .mini = {}});
    for (std::uint32_t i = 0; i < table->size() && address == 0; i++)
      if (const auto symbol = table->symbol(i); symbol.name == "main" && symbol.size > 4) address = symbol.address + 4;
  }
  std::string path = fs::canonical("/proc/self/exe");
  std::shared_ptr<const images::ElfImage> image;
  std::uint64_t address = 0;  ///< in main
};

Recording recording_of(const std::string& path, const std::string& build_id, std::uint64_t address) {
  Recording recording;
  const auto process = *recording.process({.pid = 1, .comm = "app"});
  const auto context = *recording.context({.thread = *recording.add_thread({.process = process, .tid = 1})});
  const auto module = *recording.module({fs::path(path).filename(), path, build_id});
  const auto frame = *recording.frame({.function = *recording.function({.module = module}), .address = address});
  const auto node = *recording.node({0, frame});
  EXPECT_TRUE(recording.add({0, node, context, 1}));
  return recording;
}

std::string first_name(const Recording& recording) {
  return recording.functions()[recording.frames()[recording.nodes()[1].frame].function].name;
}

LaterNameOptions from_path(const std::string& path) {
  LaterNameOptions options;
  options.symbols.path = path;
  return options;
}

TEST(LaterNames, FromTheFileAtItsPath) {
  const OwnImage own;
  if (!own.image || own.image->build_id().empty() || own.address == 0) GTEST_SKIP() << "the test has no build id";
  const auto names = name_later(recording_of(own.path, own.image->build_id().hex(), own.address), {});
  EXPECT_EQ(first_name(names.recording), "main");
  ASSERT_EQ(names.modules.size(), 1u);
  EXPECT_EQ(names.modules[0].source, ModuleSymbols::Source::image);
  EXPECT_EQ(names.modules[0].frames, 1u);
  EXPECT_EQ(names.modules[0].nameless, 0u);
  EXPECT_TRUE(names.diagnoses.empty());
}

TEST(LaterNames, AFileOfAnotherBuildNamesNothingAndIsSaid) {
  const OwnImage own;
  if (!own.image || own.image->build_id().empty()) GTEST_SKIP() << "the test has no build id";
  const auto names = name_later(recording_of(own.path, std::string(40, 'a'), own.address), {});
  EXPECT_EQ(first_name(names.recording), "");
  ASSERT_EQ(names.modules.size(), 1u);
  EXPECT_TRUE(names.modules[0].is_missing());
  EXPECT_EQ(names.modules[0].nameless, 1u);
  EXPECT_EQ(names.modules[0].remark,
            own.path + " is another file here: it has build id " + own.image->build_id().hex());
}

TEST(LaterNames, ByBuildIdInAFolderAndNeverAnother) {
  const OwnImage own;
  if (!own.image || own.image->build_id().empty() || own.address == 0) GTEST_SKIP() << "the test has no build id";
  const std::string id = own.image->build_id().hex();
  const fs::path folder = fs::temp_directory_path() / ("later_names_test." + std::to_string(::getpid()));
  fs::create_directories(folder / ".build-id" / id.substr(0, 2));
  fs::create_symlink(own.path, folder / ".build-id" / id.substr(0, 2) / (id.substr(2) + ".debug"));
  const auto names = name_later(recording_of("/nowhere/app", id, own.address), from_path(folder));
  EXPECT_EQ(first_name(names.recording), "main");
  ASSERT_EQ(names.modules.size(), 1u);
  EXPECT_EQ(names.modules[0].source, ModuleSymbols::Source::file);
  EXPECT_TRUE(names.modules[0].found.starts_with(folder.string())) << names.modules[0].found;
  // The same file under the id of another build.
  const std::string other = "ff" + std::string(38, '1');
  fs::create_directories(folder / ".build-id" / "ff");
  fs::create_symlink(own.path, folder / ".build-id" / "ff" / (other.substr(2) + ".debug"));
  const auto refused = name_later(recording_of("/nowhere/app", other, own.address), from_path(folder));
  EXPECT_EQ(first_name(refused.recording), "");
  ASSERT_FALSE(refused.diagnoses.empty());
  EXPECT_EQ(refused.diagnoses[0].text, "it has build id " + id);
  fs::remove_all(folder);
}

TEST(LaterNames, OnlyModulesThatLackNamesUnlessAllAreAskedFor) {
  Recording recording = recording_of("/nowhere/app", std::string(40, 'a'), 0x10);
  const auto module = *recording.module({"named.so", "/nowhere/named.so", std::string(40, 'b')});
  (void)*recording.frame({.function = *recording.function({.name = "f", .module = module}), .address = 0x20});
  EXPECT_EQ(name_later(recording, {}).modules.size(), 1u);
  LaterNameOptions all;
  all.every_module = true;
  const auto names = name_later(recording, all);
  ASSERT_EQ(names.modules.size(), 2u);
  EXPECT_EQ(names.modules[1].remark, "all of it was named when it was recorded");
}

TEST(LaterNames, NoFileIsWantedOfWhatTheKernelBrings) {
  const auto names = name_later(recording_of("[vdso]", std::string(40, 'a'), 0x10), {});
  ASSERT_EQ(names.modules.size(), 1u);
  EXPECT_FALSE(names.modules[0].is_missing());
  EXPECT_EQ(names.modules[0].nameless, 1u);
  EXPECT_NE(names.modules[0].remark.find("the kernel brings it"), std::string::npos) << names.modules[0].remark;
  EXPECT_TRUE(names.modules[0].wanted_file.empty());
}

TEST(LaterNames, ManyModulesAreBounded) {
  Recording recording = recording_of("/nowhere/app", std::string(40, 'a'), 0x10);
  for (std::size_t i = 0; i < kMostModules + 3; i++) {
    const auto module = *recording.module({"m", "/nowhere/" + std::to_string(i), std::string(40, 'c')});
    (void)*recording.frame({.function = *recording.function({.module = module}), .address = 0x20});
  }
  const auto names = name_later(std::move(recording), {});
  EXPECT_EQ(names.modules.size(), kMostModules);
  ASSERT_FALSE(names.diagnoses.empty());
  EXPECT_EQ(names.diagnoses.back().error.value, 4u);
}

TEST(LaterNames, WhatIsNoBuildIdIsAskedNowhere) {
  for (const char* id : {"", "a", "xy", "AB", "../../etc/passwd"}) EXPECT_TRUE(build_id_of(id).empty()) << id;
  EXPECT_TRUE(build_id_of(std::string(130, 'a')).empty());
  EXPECT_EQ(build_id_of("00ff7a").hex(), "00ff7a");
  const auto names = name_later(recording_of("/proc/self/exe", "not an id", 0x1000), {});
  EXPECT_EQ(first_name(names.recording), "");
}

TEST(LaterNames, PathsThatAreNoRegularFileOrMadeUpByTheKernelAreNotOpened) {
  for (const char* path : {"/dev/zero", "/dev", "relative", "/proc/self/exe", "/usr/../proc/self/exe",
                           "//proc/self/exe", "/./proc/self/exe"}) {
    const auto names = name_later(recording_of(path, std::string(40, 'a'), 0x1000), {});
    EXPECT_EQ(first_name(names.recording), "") << path;
    ASSERT_EQ(names.modules.size(), 1u);
    EXPECT_EQ(names.modules[0].remark, "") << path;
  }
}

}  // namespace
}  // namespace mixstack::renaming
