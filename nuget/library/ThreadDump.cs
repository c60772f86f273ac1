using System.Collections.Generic;

namespace Mixstack;

/// <summary>One thread and its stack.</summary>
public sealed class ThreadDump
{
    internal ThreadDump(in Native.Thread thread, IReadOnlyList<StackFrame> frames)
    {
        Id = thread.Tid;
        ManagedId = thread.ManagedId;
        Name = Native.Text(thread.Name);
        Exception = Native.Text(thread.Exception);
        WasCaptured = thread.Captured != 0;
        IsComplete = thread.IsComplete != 0;
        StopReason = Native.Text(thread.StopReason);
        Frames = frames;
    }

    /// <summary>The kernel's thread id.</summary>
    public uint Id { get; }

    /// <summary>ManagedThreadId; 0: no managed thread, or its id is not known (NativeAOT).</summary>
    public uint ManagedId { get; }

    /// <summary>Thread.Name, else the kernel's name; "" where there is none.</summary>
    public string Name { get; }

    /// <summary>Type of the exception in flight, or "".</summary>
    public string Exception { get; }

    /// <summary>False: it could not be stopped, or had gone.</summary>
    public bool WasCaptured { get; }

    /// <summary>The stack was walked to its end.</summary>
    public bool IsComplete { get; }

    /// <summary>"end_of_stack", or why there are no more frames (docs/stop-reasons.md).</summary>
    public string StopReason { get; }

    /// <summary>Innermost first.</summary>
    public IReadOnlyList<StackFrame> Frames { get; }

    /// <inheritdoc/>
    public override string ToString() => $"thread {Id} {Name}: {Frames.Count} frames";
}
