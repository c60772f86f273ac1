using System.Text.Json;
using Microsoft.Diagnostics.Runtime;

namespace Oracle;

/// <summary>Reads the managed stacks of one process with ClrMD and writes them as JSON.</summary>
internal static class StackReader
{
    /// <summary>ClrMD's own default is 8096 and cuts without a word.</summary>
    public const int MaxFrames = 300_000;

    public const string CorePrefix = "core ";

    /// <summary>A pid to attach to, or "core " and the path of a core.</summary>
    internal static DataTarget Open(string source, bool suspend) => source.StartsWith(CorePrefix)
        ? DataTarget.LoadDump(source[CorePrefix.Length..])
        : DataTarget.AttachToProcess(int.Parse(source), suspend);

    /// <summary>ClrMD reads no version of .NET 11's runtime, hence finds no DAC of its own and takes the one beside the
    /// runtime for that of another.</summary>
    internal static ClrRuntime CreateRuntime(DataTarget target)
    {
        ClrInfo info = target.ClrVersions[0];
        string? folder = Path.GetDirectoryName(info.ModuleInfo.FileName);
        return info.Version.Major == 0 && folder is not null
            ? info.CreateRuntime(Path.Combine(folder, "libmscordaccore.so"), ignoreMismatch: true)
            : info.CreateRuntime();
    }

    /// <summary>Attaches or opens, writes one JSON object for the process, detaches.</summary>
    public static void Write(Utf8JsonWriter json, string source, bool suspend, int maxFrames)
    {
        using DataTarget target = Open(source, suspend);
        if (target.ClrVersions.Length == 0)
        {
            throw new InvalidOperationException($"no .NET runtime found in {source}");
        }
        using ClrRuntime runtime = CreateRuntime(target);
        json.WriteStartObject();
        json.WriteNumber("pid", target.DataReader.ProcessId);
        json.WriteString("runtime", target.ClrVersions[0].Version.ToString());
        json.WriteStartArray("threads");
        foreach (ClrThread thread in runtime.Threads)
        {
            WriteThread(json, thread, maxFrames);
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }

    /// <summary>Attach, walk every thread with method names, detach: the work of a stack dump.</summary>
    public static (int Threads, int Frames) Walk(string source, bool suspend)
    {
        using DataTarget target = Open(source, suspend);
        using ClrRuntime runtime = CreateRuntime(target);
        int threads = 0, frames = 0;
        foreach (ClrThread thread in runtime.Threads)
        {
            if (!thread.IsAlive)
            {
                continue;
            }
            threads++;
            foreach (ClrStackFrame frame in thread.EnumerateStackTrace(includeContext: false, MaxFrames))
            {
                frames++;
                _ = frame.Method?.Signature ?? frame.FrameName;
            }
        }
        return (threads, frames);
    }

    private static void WriteThread(Utf8JsonWriter json, ClrThread thread, int maxFrames)
    {
        json.WriteStartObject();
        json.WriteNumber("osId", thread.OSThreadId);
        json.WriteNumber("managedId", thread.ManagedThreadId);
        json.WriteBoolean("isAlive", thread.IsAlive);
        json.WriteString("gcMode", thread.GCMode.ToString());
        json.WriteString("state", thread.State.ToString());
        json.WriteString("exceptionType", thread.CurrentException?.Type?.Name);
        json.WritePropertyName("exception");
        ExceptionWriter.Write(json, thread.CurrentException);
        json.WriteStartArray("frames");
        if (thread.IsAlive && thread.OSThreadId != 0)
        {
            foreach (ClrStackFrame frame in thread.EnumerateStackTrace(includeContext: true, maxFrames))
            {
                WriteFrame(json, frame);
            }
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void WriteFrame(Utf8JsonWriter json, ClrStackFrame frame)
    {
        ClrMethod? method = frame.Method;
        json.WriteStartObject();
        json.WriteString("kind", frame.Kind switch
        {
            ClrStackFrameKind.ManagedMethod => "managed",
            ClrStackFrameKind.Runtime => "runtime",
            _ => "unknown",
        });
        json.WriteString("ip", Hex(frame.InstructionPointer));
        json.WriteString("sp", Hex(frame.StackPointer));
        json.WriteString("method", method?.Signature);
        json.WriteString("methodName", method?.Name);
        json.WriteString("type", method?.Type?.Name);
        json.WriteString("frameName", frame.FrameName);
        json.WriteString("methodDesc", method is null ? null : Hex(method.MethodDesc));
        json.WriteString("compilation", method?.CompilationType.ToString());
        json.WriteString("module", method?.Type?.Module?.Name);
        json.WriteString("context", Convert.ToHexStringLower(frame.Context));
        json.WriteEndObject();
    }

    private static string Hex(ulong value) => "0x" + value.ToString("x");
}
