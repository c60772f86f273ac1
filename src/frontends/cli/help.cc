#include "frontends/cli/help.h"

namespace mixstack::cli {

HelpPage main_page() {
  return {"",
          20,
          {prose(R"(mixstack: the native and managed stacks of a .NET process, from outside: of a
running one, or of the core file a crashed one left)"),
           usage({"mixstack COMMAND [OPTIONS]"}),
           commands("Commands", {{"dump PID", "",
                                  "print the stack of every thread of a process; 'mixstack PID' and 'mixstack -n NAME' "
                                  "mean the same"},
                                 {"dump --core FILE", "", "the same of a core file, of this machine or another CPU"},
                                 {"why PID|CORE", "", "what a stuck or slow process waits for"},
                                 {"memory PID|CORE", "", "where its memory is, and how many objects of which types"},
                                 {"record -p PID", "",
                                  "where its time goes: samples of all stacks over a time, as a flame graph and other "
                                  "formats"},
                                 {"top PID", "",
                                  "the same while it runs: functions and threads by their share of the time, callers, "
                                  "states; in a pipe as text"},
                                 {"convert FILE", "", "a recording in another format, or another part of it"},
                                 {"diff FILE FILE", "", "what changed from one recording to another"},
                                 {"view FILE", "", "a recording in the browser, served on this machine alone"},
                                 {"ps", "", "the .NET processes of this machine"},
                                 {"doctor [PID]", "", "what would stop a dump here, and what to do about it"},
                                 {"symbols VERB PID", "",
                                  "which modules have symbols, where the others usually are (status); get them "
                                  "from servers (fetch)"},
                                 {"pack PID|CORE", "", "one file to mail, of which a dump can be made anywhere"},
                                 {"agent VERB PID", "",
                                  "sample a .NET process from inside: attach, status, stop, record; 'mixstack agent "
                                  "--help'"},
                                 {"completions SHELL", "", "completions for bash, zsh or fish; the manual page"}}),
           options("Options", {{"-h, --help", "", "this text; 'mixstack dump --help' tells the options of dump"},
                               {"-V, --version", "", "the version"}}),
           table("Start here", R"(  mixstack ps                  which processes there are
  mixstack dump 4711           all threads, all frames
  mixstack dump 4711 --merge   threads with the same stack shown once
  mixstack dump --core core.4711 --sysroot /srv/app-files
                               a core from a machine with other files)")}};
}

HelpPage ps_page() {
  return {"ps",
          20,
          {prose(R"(List the .NET processes of this machine, without stopping any.)"), usage({"mixstack ps [OPTIONS]"}),
           options("", {{"-n, --name", "NAME",
                         "only those called NAME: the kernel's name, the executable or the assembly that is "
                         "run"},
                        {"-w, --wide", "", "on a terminal: command lines in full"},
                        {"-q, --quick", "", "pids and commands alone, at once"},
                        {"-j, --json", "", "one JSON document"}}),
           table("", R"(HOSTING   framework: the runtime is the machine's; self-contained: beside the
          program; single-file: inside it; native-aot: compiled, no JIT
CONTAINER the container's id, as docker, containerd and Kubernetes write it
CPU       of one processor, over 0.2 s
Exit codes: as of 'mixstack dump'; 3: nothing is called NAME.)")}};
}

HelpPage doctor_page() {
  return {"doctor",
          20,
          {prose(R"(Say what would stop a dump, a recording or a capture without a stop here, and
what to type about it. Nothing is stopped or changed; what can be tried is
tried on children of mixstack's own.)"),
           usage({"mixstack doctor [PID] [OPTIONS]"}),
           options("", {{"PID", "", "look at this process, too"}, {"-j, --json", "", "one JSON document"}}),
           prose(R"(Exit codes: 0: a dump works; else that of the dump (4: not permitted, ...).)")}};
}

HelpPage view_page() {
  return {"view",
          24,
          {prose(R"(Show a recording in the browser: flame graph, callers, table of functions and
timeline, to search and to zoom.)"),
           usage({"mixstack view FILE [OPTIONS]"}),
           prose(R"(FILE is a recording as in 'mixstack convert'. The address of the page is
printed. It is served on 127.0.0.1 alone, to whoever has the address: it holds
a random token. When FILE is written anew, the page shows the new one. Ctrl-C
ends it. The same page as a file: 'mixstack convert FILE -o FILE.html'.)"),
           options("Options", {{"--port", "N", "the port; without it one that is free"}}),
           prose(R"(Exit codes: as of 'mixstack convert'; 9: the port cannot be had.)")}};
}

HelpPage completions_page() {
  return {"completions",
          9,
          {prose(R"(Print what completes command lines of mixstack in a shell, or its manual page.
Packages and 'make install' put them where shells and man look.)"),
           usage({"mixstack completions SHELL"}), table("", R"(  bash   source <(mixstack completions bash)
  zsh    mixstack completions zsh > ~/.zfunc/_mixstack (a folder of $fpath)
  fish   mixstack completions fish > ~/.config/fish/completions/mixstack.fish
  man    mixstack completions man | man -l -)")}};
}

}  // namespace mixstack::cli
