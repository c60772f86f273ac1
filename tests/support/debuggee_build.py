"""Builds debuggees and the oracle, each only when a source is newer than its last build, and one at a time, whoever asks."""
import contextlib
import fcntl
import functools
import os
import pathlib
import shutil
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build"
PROGRAMS = pathlib.Path(os.environ.get("MIXSTACK_PROGRAMS", BUILD))  # scripts/test_musl has others
NEWER_RUNTIMES = {"11": "11.0.0"}  # than the SDK
RUNTIME = os.environ.get("MIXSTACK_RUNTIME", "")  # one of them, of the programs that live tests look at; else the SDK's
ON_RUNTIME = (f"-p:MixstackRuntime={NEWER_RUNTIMES[RUNTIME]}",) if RUNTIME else ()
IS_WHOLE = "true" if RUNTIME else "false"  # with its runtime beside it
DEBUGGEES = BUILD / ("debuggees" + (f"-{RUNTIME}" if RUNTIME else ""))
NATIVE = PROGRAMS / DEBUGGEES.name / "native"
SCENARIOS = PROGRAMS / DEBUGGEES.name / "Scenarios" / "Scenarios"
CHURN = DEBUGGEES / "Churn" / "Churn"
ORACLE = BUILD / "oracle" / "Oracle"


def _newest(folder, suffixes):
    return max((f.stat().st_mtime for f in folder.rglob("*") if f.suffix in suffixes or f.name == "CMakeLists.txt"),
               default=0.0)


def _run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout}")


@contextlib.contextmanager
def lock():
    """Tests run in several processes, and may want the same program at once."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / ".debuggees.lock", "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


_depth = 0  # of builders that call others


def one_at_a_time(build):
    @functools.wraps(build)
    def locked(*arguments, **options):
        global _depth
        with contextlib.nullcontext() if _depth else lock():
            _depth += 1
            try:
                return build(*arguments, **options)
            finally:
                _depth -= 1
    return locked


@one_at_a_time
def native(source=REPOSITORY / "tests" / "debuggees", folder=NATIVE, *settings, targets=("all",)):
    """libscen.so and the pure native programs."""
    stamp = folder / "stamp"
    newest = max(_newest(source / "native", {".cpp", ".h", ".S"}), (source / "CMakeLists.txt").stat().st_mtime)
    if stamp.exists() and stamp.stat().st_mtime >= newest:
        return
    build = folder.with_name("native-build")
    _run(["cmake", "-S", source, "-B", build, f"-DDEBUGGEE_OUTPUT={folder}", *settings])
    _run(["cmake", "--build", build, "-j", "2", "--target", *targets])
    stamp.touch()


@one_at_a_time
def dotnet(project, output, *properties):
    """One .NET project, in release, into `output`. No build server is left behind."""
    stamp = output / "stamp"
    if stamp.exists() and stamp.stat().st_mtime >= _newest(project, {".cs", ".csproj", ".vb", ".vbproj", ".fs", ".fsproj", ".props"}):
        return
    environment = dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1")
    _run(["dotnet", "build", "-c", "Release", "-o", output, "-nodeReuse:false", "-p:UseSharedCompilation=false",
          *properties],
         cwd=project, env=environment)
    stamp.touch()


def old_runtime(version):
    """A self-contained program on .NET 8 or 9; its runtime comes from the package registry on the first build."""
    output = BUILD / "debuggees" / f"OldRuntime{version}"
    dotnet(REPOSITORY / "tests" / "debuggees" / "OldRuntime", output, f"-p:OldVersion={version}")
    return output / "OldRuntime"


def starved():
    """A web service whose pool is used up (needs the ASP.NET part of the SDK)."""
    output = DEBUGGEES / "Starved"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Starved", output, *ON_RUNTIME)
    return output / "Starved"


def heaps(kind="release"):
    """A program with many async methods in its heap, as "release" or as "debug", where their state machines are classes."""
    output = DEBUGGEES / ("Heaps" if kind == "release" else f"Heaps-{kind}")
    settings = () if kind == "release" else ("-p:Optimize=false", f"-p:MixstackBuildRoot={output}-work")
    dotnet(REPOSITORY / "tests" / "debuggees" / "Heaps", output, *ON_RUNTIME, *settings)
    return output / "Heaps"


def memory():
    """A program whose memory is of one shape."""
    output = DEBUGGEES / "Memory"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Memory", output, *ON_RUNTIME)
    return output / "Memory"


def moments():
    """A program whose memory grows, or whose strings and arrays are known."""
    output = DEBUGGEES / "Moments"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Moments", output, *ON_RUNTIME)
    return output / "Moments"


def makers():
    """A program whose threads make objects of known types at known places."""
    output = DEBUGGEES / "Makers"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Makers", output, *ON_RUNTIME)
    return output / "Makers"


def native_growth():
    """A program whose memory outside of the managed heap grows at one place, and the library that it may use."""
    output = DEBUGGEES / "Native"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Native", output, *ON_RUNTIME)
    native()
    shutil.copy(NATIVE / "libgrow.so", output)  # what lies beside a program is its own
    return output / "Native"


@one_at_a_time
def holders():
    """A program whose memory is held in one way."""
    output = DEBUGGEES / "Holders"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Holders", output, *ON_RUNTIME)
    return output / "Holders"


def runtime_async():
    """A program of async methods without state machines (of .NET 10 a preview, which needs DOTNET_RuntimeAsync=1)."""
    output = DEBUGGEES / "RuntimeAsync"
    dotnet(REPOSITORY / "tests" / "debuggees" / "RuntimeAsync", output, *ON_RUNTIME)
    return output / "RuntimeAsync"


def language(name):
    """A program whose compiler makes code of its own: "VisualBasic", "FSharp", "Extensions" (C# 14)."""
    output = DEBUGGEES / name
    dotnet(REPOSITORY / "tests" / "debuggees" / name, output, *ON_RUNTIME)
    return output / name


@one_at_a_time
def values(kind="release"):
    """A program of arguments, async methods and requests, as "release", as "debug" (not optimised) or as "ready-to-run"
    (precompiled; the first build needs the package registry). Needs the ASP.NET part of the SDK."""
    output = DEBUGGEES / ("Values" if kind == "release" else f"Values-{kind}")
    settings = {"release": (), "debug": ("-p:Optimize=false",),
                "ready-to-run": ("-p:PublishReadyToRun=true", "-r", "linux-x64", "--self-contained", IS_WHOLE)}[kind]
    project = REPOSITORY / "tests" / "debuggees" / "Values"
    stamp = output / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < _newest(project, {".cs", ".csproj", ".vb", ".vbproj", ".fs", ".fsproj", ".props"}):
        _run(["dotnet", "publish", project, "-c", "Release", "-o", output, "-nodeReuse:false",
              f"-p:MixstackBuildRoot={output}-work", "-p:UseSharedCompilation=false", *ON_RUNTIME, *settings],
             env=dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1"))
        stamp.touch()
    return output / "Values"


@one_at_a_time
def generics(kind="release"):
    """Shared generic code that says for which types it runs: "release", "debug" (not optimised), "ready-to-run" (own code
    precompiled) or "11" (on the runtime 11.0.0). The last two need the package registry the first time."""
    output = BUILD / "debuggees" / f"Generics-{kind}"
    settings = {"release": (), "debug": ("-p:Optimize=false",), "11": ("-p:Release11=true",),
                "ready-to-run": ("-p:PublishReadyToRun=true", "-r", "linux-x64", "--self-contained", "false")}[kind]
    project = REPOSITORY / "tests" / "debuggees" / "Generics"
    stamp = output / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < _newest(project, {".cs", ".csproj", ".vb", ".vbproj", ".fs", ".fsproj", ".props"}):
        _run(["dotnet", "publish", project, "-c", "Release", "-o", output, "-nodeReuse:false",
              f"-p:MixstackBuildRoot={output}-work", "-p:UseSharedCompilation=false", *settings],
             env=dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1"))
        stamp.touch()
    return output / "Generics"


def busy():
    """A program that is busy with one thing."""
    output = DEBUGGEES / "Busy"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Busy", output, *ON_RUNTIME)
    return output / "Busy"


def slow():
    """A program with one performance fault, or with none."""
    output = DEBUGGEES / "Slow"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Slow", output, *ON_RUNTIME)
    return output / "Slow"


def hot_reload():
    """A program that edits a library while it runs, by the SDK's compiler."""
    output = DEBUGGEES / "HotReload"
    dotnet(REPOSITORY / "tests" / "debuggees" / "HotReload", output, *ON_RUNTIME)
    return output / "HotReload"


def linker():
    """What links a program that .NET compiled ahead of time."""
    return "clang" if shutil.which("clang") else "gcc"


@one_at_a_time
def native_aot():
    """A program compiled ahead of time; the first build needs the package registry, and clang or gcc to link."""
    output = DEBUGGEES / "NativeAot"
    project = REPOSITORY / "tests" / "debuggees" / "NativeAot"
    stamp = output / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < _newest(project, {".cs", ".csproj", ".vb", ".vbproj", ".fs", ".fsproj", ".props"}):
        _run(["dotnet", "publish", project, "-c", "Release", "-r", "linux-x64", "-o", output, "-nodeReuse:false",
              "-p:UseSharedCompilation=false", f"-p:CppCompilerAndLinker={linker()}"],
             env=dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1"))
        stamp.touch()
    return output / "NativeAot"


@one_at_a_time
def native_aot_on(version):
    """The same by the compiler and with the runtime of a later release, 11. RuntimeError when it cannot be had here. The
    SDK's own steps around the compiler do not know that release: the link alone is asked for."""
    output = BUILD / "debuggees" / f"NativeAot-{version}"
    project = REPOSITORY / "tests" / "debuggees" / "NativeAot"
    stamp = output / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < _newest(project, {".cs", ".csproj", ".props"}):
        _run(["dotnet", "build", project, "-c", "Release", "-nodeReuse:false", "-p:_IsPublishing=true", "-t:Restore;LinkNative",
              "-p:UseSharedCompilation=false", f"-p:MixstackAot={NEWER_RUNTIMES[version]}", f"-p:NativeOutputPath={output}/",
              f"-p:MixstackBuildRoot={output}-work", f"-p:CppCompilerAndLinker={linker()}"],
             env=dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1"))
        stamp.touch()
    return output / "NativeAot"


@one_at_a_time
def composite():
    """A program in one composite image with its framework; the first build needs the package registry."""
    output = DEBUGGEES / "Composite"
    project = REPOSITORY / "tests" / "debuggees" / "Composite"
    stamp = output / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < _newest(project, {".cs", ".csproj", ".vb", ".vbproj", ".fs", ".fsproj", ".props"}):
        _run(["dotnet", "publish", project, "-c", "Release", "-o", output, "-nodeReuse:false",
              "-p:UseSharedCompilation=false"],
             env=dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1"))
        stamp.touch()
    return output / "Composite"


@one_at_a_time
def scenarios_built(kind):
    """The scenarios as "release", as "debug" (not optimised) or as "ready-to-run" (precompiled; the first build needs
    the package registry)."""
    if kind == "release":
        return SCENARIOS
    output = DEBUGGEES / f"Scenarios-{kind}"
    settings = {"debug": ("-p:Optimize=false", "-p:DebugType=embedded"),
                "ready-to-run": ("-p:PublishReadyToRun=true", "-r", "linux-x64", "--self-contained", IS_WHOLE)}[kind]
    project = REPOSITORY / "tests" / "debuggees" / "Scenarios"
    stamp = output / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < _newest(project, {".cs", ".csproj", ".vb", ".vbproj", ".fs", ".fsproj", ".props"}):
        _run(["dotnet", "publish", project, "-c", "Release", "-o", output, "-nodeReuse:false",
              f"-p:MixstackBuildRoot={output}-work", "-p:UseSharedCompilation=false", *ON_RUNTIME, *settings],
             env=dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1"))
        stamp.touch()
    return output / "Scenarios"


@one_at_a_time
def scenarios_in_two_parts():
    """The precompiled ones, whose methods have cold parts: made by crossgen2 itself from what "ready-to-run" is made of."""
    whole = scenarios_built("ready-to-run").parent
    output = DEBUGGEES / "Scenarios-hot-cold"
    stamp = output / "stamp"
    if stamp.exists() and stamp.stat().st_mtime >= (whole / "stamp").stat().st_mtime:
        return output / "Scenarios"
    packages = pathlib.Path(os.environ.get("NUGET_PACKAGES", pathlib.Path.home() / ".nuget" / "packages"))
    tools = packages.glob(f"microsoft.netcore.app.crossgen2.linux-x64/{NEWER_RUNTIMES.get(RUNTIME, '10.*')}/tools/crossgen2")
    framework = whole
    if not RUNTIME:
        runtimes = subprocess.run(["dotnet", "--list-runtimes"], capture_output=True, text=True, check=True).stdout
        _, version, folder = next(line.split(" ", 2) for line in runtimes.splitlines() if line.startswith("Microsoft.NETCore.App 10."))
        framework = pathlib.Path(folder.strip("[]")) / version
    [assembly] = whole.with_name(whole.name + "-work").glob("dotnet-obj/Scenarios*/Release/net10.0/*/Scenarios.dll")
    shutil.copytree(whole, output, dirs_exist_ok=True, ignore=shutil.ignore_patterns("stamp"))
    _run([max(tools, key=lambda tool: tool.stat().st_mtime), assembly, "-o", output / "Scenarios.dll", "-O", "--hot-cold-splitting",
          "--targetos", "linux", "--targetarch", "x64", "-r", framework / "*.dll"])
    stamp.touch()
    return output / "Scenarios"


@one_at_a_time
def single_file():
    """The scenarios as one self-contained file, whose framework is precompiled; the first build needs the package
    registry."""
    output = DEBUGGEES / "SingleFile"
    project = REPOSITORY / "tests" / "debuggees" / "Scenarios"
    stamp = output / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < _newest(project, {".cs", ".csproj", ".vb", ".vbproj", ".fs", ".fsproj", ".props"}):
        _run(["dotnet", "publish", project, "-c", "Release", "-r", "linux-x64", "--self-contained",
              "-p:PublishSingleFile=true", f"-p:MixstackBuildRoot={DEBUGGEES / 'single-file-work'}",
              "-o", output, "-nodeReuse:false", "-p:UseSharedCompilation=false"],
             env=dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1"))
        stamp.touch()
    return output / "Scenarios"


def scenarios_on(version):
    """The scenarios on .NET 8, 9 (see old_runtime) or 11, self-contained, or 10."""
    if version == 10:
        return SCENARIOS
    if str(version) in NEWER_RUNTIMES:
        newer = BUILD / f"debuggees-{version}"
        native(REPOSITORY / "tests" / "debuggees", newer / "native")
        dotnet(REPOSITORY / "tests" / "debuggees" / "Scenarios", newer / "Scenarios",
               f"-p:MixstackRuntime={NEWER_RUNTIMES[str(version)]}")
        return newer / "Scenarios" / "Scenarios"
    output = BUILD / "debuggees" / f"Scenarios{version}"
    dotnet(REPOSITORY / "tests" / "debuggees" / "Scenarios", output, f"-p:OldVersion={version}")
    return output / "Scenarios"


def for_arm64(build=BUILD / "arm64-programs"):
    """The same programs for ARM64, with a runtime of their own from the package registry: what scripts/arm64_run shows
    to its machine in the place of ours."""
    debuggees = build / DEBUGGEES.name
    native(REPOSITORY / "tests" / "debuggees", debuggees / "native",
           f"-DCMAKE_TOOLCHAIN_FILE={REPOSITORY / 'cmake' / 'aarch64-linux-gnu.cmake'}")
    programs = [(debuggees / name, f"debuggees/{name}", ON_RUNTIME) for name in ("Scenarios", "Memory", "Holders")]
    for output, project, settings in (*programs, (build / "oracle", "oracle", ())):
        dotnet(REPOSITORY / "tests" / project, output, "-r", "linux-arm64", "--self-contained",
               f"-p:MixstackBuildRoot={build / 'work'}", "-p:DisableTransitiveFrameworkReferenceDownloads=true", *settings)


@one_at_a_time
def for_musl(build=BUILD / "musl-programs"):
    """The scenarios on .NET for musl, with a host and a C++ runtime of their own (tests/debuggees/musl), by the compiler
    of scripts/musl_toolchain."""
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={REPOSITORY / 'cmake' / 'musl.cmake'}"
    source, output = REPOSITORY / "tests" / "debuggees", build / DEBUGGEES.name / "Scenarios"
    native(source, build / DEBUGGEES.name / "native", toolchain, targets=("scen", "plugin1", "plugin2"))
    stamp = output / "stamp"
    if stamp.exists() and stamp.stat().st_mtime >= max(_newest(source / "Scenarios", {".cs", ".csproj"}),
                                                       _newest(source / "musl", {".c", ".cc"})):
        return
    _run(["dotnet", "publish", "-c", "Release", "-r", "linux-musl-x64", "--self-contained", "-o", output, "-nodeReuse:false",
          "-p:UseSharedCompilation=false", f"-p:MixstackBuildRoot={build / 'work'}",
          *ON_RUNTIME], cwd=source / "Scenarios",
         env=dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1"))
    host = build / f"host{RUNTIME}"
    _run(["cmake", "-G", "Ninja", "-S", source / "musl", "-B", host, f"-DOUTPUT={output}", toolchain])
    _run(["cmake", "--build", host])
    stamp.touch()


def others():
    """Programs of single tests, which build them when they want them: all of them, before tests have to wait for each
    other. What cannot be built here, its test says."""
    builds = [(build, ()) for build in (starved, busy, slow, memory, moments, hot_reload, runtime_async, native_aot, composite, single_file, scenarios_in_two_parts)]
    builds += [(scenarios_built, ("debug",)), *((heaps, (kind,)) for kind in ("release", "debug"))]
    builds += [(values, (kind,)) for kind in ("release", "debug", "ready-to-run")]
    builds += [(language, (name,)) for name in ("VisualBasic", "FSharp", "Extensions")]
    builds += [(build, (version,)) for build in (scenarios_on, old_runtime) for version in (8, 9)] + [(scenarios_on, (11,)), (native_aot_on, ("11",))]
    for build, arguments in builds if have_dotnet() else ():
        with contextlib.suppress(RuntimeError):
            build(*arguments)


def have_dotnet():
    return shutil.which("dotnet") is not None


def main():
    if os.environ.get("MIXSTACK_PREBUILT"):  # on a machine that cannot build them (tests/arm64/init)
        return 0
    native()
    if not have_dotnet():
        print("no dotnet on PATH: only the native debuggees are built", file=sys.stderr)
        return 0
    dotnet(REPOSITORY / "tests" / "debuggees" / "Scenarios", SCENARIOS.parent, *ON_RUNTIME)
    dotnet(REPOSITORY / "tests" / "debuggees" / "Churn", CHURN.parent, *ON_RUNTIME)
    dotnet(REPOSITORY / "tests" / "oracle", ORACLE.parent)
    return 0
