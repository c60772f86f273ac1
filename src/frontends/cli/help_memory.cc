#include "frontends/cli/help.h"

namespace mixstack::cli {

HelpPage memory_page() {
  return {
      "memory",
      23,
      {prose(R"(Say where the memory of a process is: every resident byte under one label, in
lines that add up; with --types the objects of the managed heap by type and
generation, with --holders who holds them, with --after what grows, with
--makers who makes them. Read from outside; nothing is stopped for the account,
and no collection is made.)"),
       usage({"mixstack memory PID [OPTIONS]", "mixstack memory CORE --types|--holders [OPTIONS]",
              "mixstack memory FILE.mxm [-o FILE]", "mixstack memory diff BEFORE.mxm AFTER.mxm [-o FILE]"}),
       options("", {{"-n, --name", "NAME", "the .NET process called so"},
                    {"-c, --core", "FILE", "a core or pack (the same as CORE)"},
                    {"-t, --types", "",
                     "objects by type and generation, all of one moment: all that is old is copied while the process "
                     "runs; for the rest it is stopped, a few milliseconds"},
                    {"--holders", "[WHAT]",
                     "who holds the objects, the largest holders first, by name; of a type or an object's address also "
                     "the shortest ways from a root, and what they retain; one stop, in which all references are read"},
                    {"--most-pause", "TIME",
                     "not longer than that (50ms): else --types says nothing, and --holders reads twice"},
                    {"--after", "TIME",
                     "look twice, so long apart (60s): what grew, by label and, with --types, by type; what full "
                     "collections have left first, where two of them were seen"},
                    {"--makers", "",
                     "who makes objects: bytes a second by thread, type and place in the program; nothing is stopped"},
                    {"--native", "",
                     "what grows outside of the managed heap: memory that came and stayed, by the place that mapped or "
                     "first used it; nothing is stopped"},
                    {"-d, --duration", "TIME", "with --makers (2s) and --native (10s): for so long"},
                    {"--data", "", "with --types: what strings hold, too; with --holders: paths"},
                    {"-j, --json", "", "all of it as JSON: docs/formats/memory.schema.json, memory-growth.schema.json"},
                    {"-o, --out", "FILE",
                     "into a file, by the end of its name: .txt, .json, .html (a page), .mxm (this moment, for 'memory "
                     "diff')"},
                    {"--sysroot", "DIR", "where a core's files are, as in 'mixstack dump'"},
                    {"--exe", "FILE", "the program it is of, the same"},
                    {"--only-sysroot", "", "not the files of this machine"}}),
       prose(R"(Exit codes: 0; 7 objects could not be counted, or not all of one moment; else
as of 'mixstack dump'.)")}};
}

}  // namespace mixstack::cli
