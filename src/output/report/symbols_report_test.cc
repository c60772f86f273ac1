#include "output/report/symbols_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

ModuleSymbols missing() {
  ModuleSymbols m;
  m.module = "libx\x1b.so";
  m.path = "/app/libx.so";
  m.source = ModuleSymbols::Source::exports;
  m.id = "abcd";
  m.wanted_file = "libx.so.dbg";
  m.store_key = "_.debug/elf-buildid-sym-abcd/_.debug";
  m.package = "x-dbgsym";
  m.package_version = "1.2";
  m.server = "https://debuginfod.example";
  m.frames = 9;
  m.nameless = 7;
  return m;
}

ModuleSymbols found() {
  ModuleSymbols m;
  m.kind = ModuleSymbols::Kind::managed;
  m.module = "App";
  m.source = ModuleSymbols::Source::file;
  m.found = "/app/App.pdb";
  m.frames = 1;
  return m;
}

TEST(SymbolsReport, WhatIsMissingComesFirst) {
  ProcessDump dump;
  dump.target.pid = 12;
  dump.target.executable = "/app/run";
  const std::vector<ModuleSymbols> modules{found(), missing()};
  EXPECT_EQ(symbols_text(symbols_subject(dump), modules),
            "process 12 (run): 2 modules, 1 without symbols\n"
            "\n"
            "N libx\\x1b.so  (9 frames, 7 without a name)\n"
            "    symbols  missing: only what it exports has a name\n"
            "    wanted   libx.so.dbg, build id abcd\n"
            "    key      _.debug/elf-buildid-sym-abcd/_.debug\n"
            "    usually  https://debuginfod.example or package x-dbgsym 1.2\n"
            "\n"
            "M App  (1 frame)\n"
            "    symbols  /app/App.pdb\n");
}

TEST(SymbolsReport, OfACore) {
  ProcessDump dump;
  dump.target.core_path = "/tmp/core";
  dump.target.pid = 3;
  dump.diagnoses.push_back({{ErrorCode::io_error, 0, 0}, "http://x", "it cannot be reached"});
  EXPECT_EQ(symbols_text(symbols_subject(dump), {}),
            "core /tmp/core, of process 3 (): 0 modules, none without symbols\n");
  const std::vector<ModuleSymbols> modules{missing()};
  const auto json = nlohmann::json::parse(symbols_json(symbols_subject(dump), modules));
  EXPECT_EQ(json["core"], "/tmp/core");
  EXPECT_EQ(json["modules"][0]["source"], "exports");
  EXPECT_EQ(json["modules"][0]["nameless_frames"], 7);
  EXPECT_EQ(json["modules"][0]["remark"], nullptr);
  EXPECT_EQ(json["diagnoses"][0]["error"]["code"], "io_error");
}

TEST(SymbolsReport, OfARecording) {
  SymbolsSubject subject;
  subject.recording = "/tmp/x\x1b.mxr";
  EXPECT_EQ(symbols_text(subject, {}), "recording /tmp/x\\x1b.mxr: 0 modules, none without symbols\n");
  subject.pid = 3;
  subject.program = "app";
  subject.runtimes = {"10.0.1", ""};
  EXPECT_EQ(symbols_text(subject, {}),
            "recording /tmp/x\\x1b.mxr, of process 3 (app), .NET 10.0.1: 0 modules, none without symbols\n");
  EXPECT_EQ(nlohmann::json::parse(symbols_json(subject, {}))["recording"], "/tmp/x\x1b.mxr");
}

}  // namespace
}  // namespace mixstack::report
