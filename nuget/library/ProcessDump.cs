using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Mixstack;

/// <summary>The threads of a process at one instant, with their stacks. Read by any number of threads. What it takes
/// outside of the managed heap goes with <see cref="Dispose"/>, or with the garbage collector.</summary>
public sealed class ProcessDump : IDisposable
{
    private readonly DumpHandle handle;
    private readonly object gate = new();

    internal ProcessDump(DumpHandle handle)
    {
        this.handle = handle;
        ThreadDump[] threads = new ThreadDump[(int)Use(Native.ThreadCount)];
        for (int i = 0; i < threads.Length; i++) threads[i] = Read((nuint)i);
        Threads = threads;
    }

    /// <summary>All threads, with frames; they stay when the dump is disposed of.</summary>
    public IReadOnlyList<ThreadDump> Threads { get; }

    /// <summary>What <c>mixstack dump</c> prints.</summary>
    public string Text => LockedText(Native.DumpText);

    /// <summary>What <c>mixstack dump --json</c> prints (docs/formats/dump.schema.json).</summary>
    public string Json => LockedText(Native.Json);

    /// <inheritdoc/>
    public override string ToString() => handle.IsClosed ? $"{Threads.Count} threads" : Text;

    /// <summary>Frees what is native; <see cref="Text"/> and <see cref="Json"/> are gone then.</summary>
    public void Dispose() => handle.Dispose();

    private string LockedText(Func<nint, nint> write)
    {
        lock (gate) return Use(dump => Native.Text(write(dump)));
    }

    /// <summary>The handle is not freed meanwhile.</summary>
    private T Use<T>(Func<nint, T> read)
    {
        bool held = false;
        try
        {
            handle.DangerousAddRef(ref held);
            return read(handle.DangerousGetHandle());
        }
        finally
        {
            if (held) handle.DangerousRelease();
        }
    }

    private ThreadDump Read(nuint index) => Use(dump =>
    {
        Native.Thread thread = new() { Size = (nuint)Unsafe.SizeOf<Native.Thread>() };
        if (Native.GetThread(dump, index, ref thread) != 0) throw new InvalidOperationException("the library is another version");
        StackFrame[] frames = new StackFrame[(int)thread.FrameCount];
        for (int i = 0; i < frames.Length; i++) frames[i] = ReadFrame(dump, index, (nuint)i);
        return new ThreadDump(thread, frames);
    });

    private static StackFrame ReadFrame(nint dump, nuint thread, nuint index)
    {
        Native.Frame frame = new() { Size = (nuint)Unsafe.SizeOf<Native.Frame>() };
        if (Native.GetFrame(dump, thread, index, ref frame) != 0) throw new InvalidOperationException("the library is another version");
        return new StackFrame(frame, Native.FrameText(dump, thread, index));
    }
}

internal sealed class DumpHandle : SafeHandle
{
    public DumpHandle(nint dump) : base(0, true) => SetHandle(dump);

    public override bool IsInvalid => handle == 0;

    protected override bool ReleaseHandle()
    {
        Native.FreeDump(handle);
        return true;
    }
}
