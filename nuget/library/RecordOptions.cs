using System;

namespace Mixstack;

/// <summary>Which time a recording counts.</summary>
public enum RecordMode
{
    /// <summary>All threads: what runs and what waits.</summary>
    Wall = 0,
    /// <summary>Running threads alone.</summary>
    Cpu = 1,
}

/// <summary>How <see cref="MixStack.Record"/> records.</summary>
public sealed record RecordOptions
{
    /// <summary>Which time counts.</summary>
    public RecordMode Mode { get; init; }
    /// <summary>Samples of a thread a second; 0: 100 of wall time, 999 of processor time.</summary>
    public int Hertz { get; init; }
    /// <summary>No thread is stopped, even if waiting ones are not seen then.</summary>
    public bool NoStop { get; init; }
    /// <summary>Frames of the kernel, too.</summary>
    public bool Kernel { get; init; }
    /// <summary>Async methods that await the sampled one are its callers.</summary>
    public bool AsyncCallers { get; init; }
    /// <summary>Called some ten times a second with the time and the samples until now, in the thread that records.</summary>
    public Action<TimeSpan, long>? Progress { get; init; }
}
