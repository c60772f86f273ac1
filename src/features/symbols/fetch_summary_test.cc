#include "features/symbols/fetch_summary.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace mixstack::symbol_answers {
namespace {

using Source = ModuleSymbols::Source;

ModuleSymbols module(const std::string& name, Source source, const std::string& found = "") {
  ModuleSymbols m;
  m.module = name;
  m.source = source;
  m.found = found;
  m.id = "abcd";
  m.frames = 3;
  m.nameless = m.is_missing() ? 3 : 0;
  return m;
}

FetchReport outcome(const std::string& path, std::span<const ModuleSymbols> modules) {
  FetchReport o;
  o.options.path = path;
  o.options.cache = "/c";
  o.modules = modules;
  return o;
}

TEST(FetchSummary, WhatCameAndWhatDidNot) {
  std::vector<ModuleSymbols> modules = {module("liba.so", Source::file, "/c/aa.debug"),
                                        module("libb.so", Source::file, "/c/bb.debug"),
                                        module("plain", Source::file, "/srv/plain.debug"),
                                        module("own", Source::image),
                                        module("libgone.so", Source::exports),
                                        module("libold\x1b.so", Source::nothing)};
  modules.back().id.clear();
  FetchReport o = outcome("/srv;http://one;srv*http://two", modules);
  o.before = {{"bb.debug", {1, 10}}};
  o.after = {{"bb.debug", {1, 10}}, {"aa.debug", {2, 34'000'000}}, {"ee.elf", {3, 500}}};
  EXPECT_EQ(fetch_summary(o),
            "\n"
            "Fetched 2 files, 34 MB, into /c:\n"
            "    liba.so, 34 MB\n"
            "    ee.elf, 500 bytes\n"
            "Out of the cache, fetched before:\n"
            "    libb.so\n"
            "Used where they lie, not copied:\n"
            "    plain: /srv/plain.debug\n"
            "Not found (asked: http://one, http://two):\n"
            "    libgone.so: no server has it\n"
            "    libold\\x1b.so: it has no id that could be asked for\n");
}

TEST(FetchSummary, WhyNothingCame) {
  const std::vector<ModuleSymbols> modules = {module("libgone.so", Source::nothing)};
  EXPECT_EQ(fetch_summary(outcome("http://one", modules)),
            "\nNothing was fetched.\nNot found (asked: http://one):\n    libgone.so: the server does not have it\n");
  FetchReport failed = outcome("http://one;http://two", modules);
  const std::vector<Diagnosis> said = {{{ErrorCode::io_error, 0, 0}, "http://one", "it cannot be reached"}};
  failed.diagnoses = said;
  EXPECT_NE(fetch_summary(failed).find("libgone.so: no server gave it; what failed is said above\n"),
            std::string::npos);
  EXPECT_NE(fetch_summary(outcome("/srv", modules)).find("Not found:\n    libgone.so: no server was asked\n"),
            std::string::npos);
  EXPECT_EQ(fetch_summary(outcome("http://one", {})), "\nNothing was fetched.\n");
}

TEST(FetchSummary, AFileOfTwoModulesAndAFileInMemory) {
  const std::vector<ModuleSymbols> twice = {module("liba.so", Source::file, "/c/aa.debug"),
                                            module("libcopy.so", Source::file, "/c/aa.debug")};
  FetchReport o = outcome("http://one", twice);
  o.before = {{"aa.debug", {1, 7}}};  // damaged, and fetched again
  o.after = {{"aa.debug", {2, 20}}};
  EXPECT_NE(fetch_summary(o).find("Fetched 1 file, 20 bytes, into /c:\n"), std::string::npos) << fetch_summary(o);
  const std::vector<ModuleSymbols> memory = {module("liba.so", Source::file, "http://one/x/a")};
  EXPECT_EQ(fetch_summary(outcome("http://one", memory)),
            "\nFetched 1 file:\n    liba.so, kept nowhere, from http://one/x/a\n");
}

TEST(FetchSummary, TheCacheAsItIs) {
  std::string folder = std::filesystem::temp_directory_path() / "cache-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  EXPECT_TRUE(cache_content(folder).empty());
  std::ofstream(folder + "/aa.debug") << "12345";
  std::filesystem::create_symlink("aa.debug", folder + "/link.debug");
  const CacheContent before = cache_content(folder);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before.at("aa.debug").bytes, 5u);
  EXPECT_EQ(cache_content(folder), before);
  std::ofstream(folder + "/new") << "54321";
  std::filesystem::rename(folder + "/new", folder + "/aa.debug");
  EXPECT_NE(cache_content(folder), before) << "another file of the same name and size";
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(cache_content(folder).empty());
  EXPECT_TRUE(cache_content("").empty());
}

}  // namespace
}  // namespace mixstack::symbol_answers
