using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Mixstack;

/// <summary>The time of a function in a recording.</summary>
/// <param name="Name">As reports show it; never empty.</param>
/// <param name="Module">The name of its file; empty where there is none.</param>
/// <param name="Self">In itself.</param>
/// <param name="Total">With all that it called; a recursion counts once.</param>
/// <param name="IsUser">Of the program itself, not of .NET or the system.</param>
public sealed record RecordedFunction(string Name, string Module, TimeSpan Self, TimeSpan Total, bool IsUser);

/// <summary>What the threads of a process did over a time. What it takes outside of the managed heap goes with
/// <see cref="Dispose"/>, or with the garbage collector.</summary>
public sealed class ProcessRecording : IDisposable
{
    private readonly RecordingHandle handle;
    private readonly object gate = new();

    internal ProcessRecording(nint recording)
    {
        handle = new RecordingHandle(recording);
        Samples = (long)Native.RecordingSamples(recording);
        RecordedFunction[] functions = new RecordedFunction[(int)Native.FunctionCount(recording)];
        for (int i = 0; i < functions.Length; i++) functions[i] = Read(recording, (nuint)i);
        Functions = functions;
    }

    /// <summary>Samples of all threads.</summary>
    public long Samples { get; }

    /// <summary>Functions of running threads, most own time first; they stay when the recording is disposed of.</summary>
    public IReadOnlyList<RecordedFunction> Functions { get; }

    /// <summary>The bytes of a file: "folded", "speedscope", "pprof", "firefox", "chrome", "html", "svg", "text", "raw".</summary>
    /// <exception cref="ArgumentException">There is no such format.</exception>
    /// <exception cref="ObjectDisposedException">It was disposed of.</exception>
    public byte[] File(string format)
    {
        ArgumentException.ThrowIfNullOrEmpty(format);
        lock (gate)
        {
            bool held = false;
            try
            {
                handle.DangerousAddRef(ref held);
                nint bytes = Native.RecordingFile(handle.DangerousGetHandle(), format, out nuint size);
                if (bytes == 0) throw new ArgumentException($"no format is called '{format}'", nameof(format));
                byte[] file = new byte[checked((int)size)];
                Marshal.Copy(bytes, file, 0, file.Length);
                return file;
            }
            finally
            {
                if (held) handle.DangerousRelease();
            }
        }
    }

    /// <summary>Frees what is native.</summary>
    public void Dispose() => handle.Dispose();

    private static RecordedFunction Read(nint recording, nuint index)
    {
        Native.Function function = new() { Size = (nuint)Unsafe.SizeOf<Native.Function>() };
        if (Native.GetFunction(recording, index, ref function) != 0) throw new InvalidOperationException("the library is another version");
        return new RecordedFunction(Native.Text(function.Name), Native.Text(function.Module), Time(function.SelfNs),
                                    Time(function.TotalNs), function.IsUser != 0);
    }

    private static TimeSpan Time(ulong nanoseconds) => TimeSpan.FromTicks((long)(nanoseconds / 100));
}

internal sealed class RecordingHandle : SafeHandle
{
    public RecordingHandle(nint recording) : base(0, true) => SetHandle(recording);

    public override bool IsInvalid => handle == 0;

    protected override bool ReleaseHandle()
    {
        Native.FreeRecording(handle);
        return true;
    }
}
