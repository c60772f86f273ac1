"""One program (tests/debuggees/Hosted) published in every way that .NET has. Built once; the first time needs the
package registry."""
import functools
import os
import pathlib
import subprocess

import debuggee_build

PROJECT = debuggee_build.REPOSITORY / "tests" / "debuggees" / "Hosted"
OUTPUT = debuggee_build.DEBUGGEES / "hostings"
SELF_CONTAINED = ("-r", "linux-x64", "--self-contained", "true")
# How: what `dotnet publish` is told.
PUBLISHED = {
    "framework-dependent": ("-p:UseAppHost=true",),
    "ready-to-run": ("-p:PublishReadyToRun=true", "-r", "linux-x64", "--self-contained", "false"),
    "self-contained": SELF_CONTAINED,
    "trimmed": (*SELF_CONTAINED, "-p:PublishTrimmed=true"),
    "composite": (*SELF_CONTAINED, "-p:PublishTrimmed=true", "-p:PublishReadyToRun=true", "-p:PublishReadyToRunComposite=true"),
    "single-file": (*SELF_CONTAINED, "-p:PublishSingleFile=true"),
    "single-file-compressed": (*SELF_CONTAINED, "-p:PublishSingleFile=true", "-p:EnableCompressionInSingleFile=true"),
    "single-file-framework-dependent": ("-r", "linux-x64", "--self-contained", "false", "-p:PublishSingleFile=true"),
    "single-file-pdb-inside": ("-r", "linux-x64", "--self-contained", "false", "-p:PublishSingleFile=true", "-p:DebugType=embedded"),
    "single-file-unpacked": ("-r", "linux-x64", "--self-contained", "false", "-p:PublishSingleFile=true",
                             "-p:IncludeAllContentForSelfExtract=true"),
    "native-aot": ("-r", "linux-x64", "-p:PublishAot=true"),
}


@debuggee_build.one_at_a_time
def build(how):
    """The folder with the published program. RuntimeError when it cannot be had here."""
    if debuggee_build.RUNTIME and not {"--self-contained", "true"} <= set(PUBLISHED[how]):
        raise RuntimeError(f"there is no shared framework of {debuggee_build.RUNTIME} here")
    output = OUTPUT / how
    stamp = output / "stamp"
    newest = max(f.stat().st_mtime for f in PROJECT.iterdir())
    if stamp.exists() and stamp.stat().st_mtime >= newest:
        return output
    environment = dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1")
    settings = PUBLISHED[how]
    if debuggee_build.RUNTIME and how == "composite":  # what trims in an SDK cannot read a later release
        settings = tuple(s for s in settings if s != "-p:PublishTrimmed=true")
    linker = () if how != "native-aot" else (f"-p:CppCompilerAndLinker={debuggee_build.linker()}",)
    done = subprocess.run(["dotnet", "publish", PROJECT, "-c", "Release", "-o", output, "-nodeReuse:false",
                           "-p:UseSharedCompilation=false", f"-p:MixstackBuildRoot={OUTPUT / 'work' / how}",
                           *debuggee_build.ON_RUNTIME, *settings, *linker],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout[-2000:])
    stamp.touch()
    return output


def published(how):
    """The command that starts the program."""
    return [build(how) / "Hosted"]


@functools.cache
def host_library():
    """libhostfxr.so of the SDK's own runtime."""
    root = pathlib.Path(os.path.realpath(debuggee_build.shutil.which("dotnet"))).parent
    return max((root / "host" / "fxr").glob("10.*/libhostfxr.so"))


def by_dotnet():
    return ["dotnet", build("framework-dependent") / "Hosted.dll"]


@debuggee_build.one_at_a_time
def own_host():
    program = OUTPUT / "own_host"
    source = debuggee_build.REPOSITORY / "tests" / "debuggees" / "own_host" / "host.c"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O1", "-o", program, source, "-ldl"], check=True)
    return [program, host_library(), build("framework-dependent") / "Hosted.dll"]
