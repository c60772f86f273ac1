using System;
using System.Collections.Generic;

namespace Mixstack;

/// <summary>What a dump shall have, and how long it may take.</summary>
public sealed class DumpOptions
{
    /// <summary>Only these threads, by the kernel's ids; null: all.</summary>
    public IReadOnlyCollection<uint>? Threads { get; init; }

    /// <summary>At most so many frames a thread; 0: 65536.</summary>
    public int MaxFrames { get; init; }

    /// <summary>The threads that stop within this time (20 ms) are seen at one instant.</summary>
    public TimeSpan? StopTimeout { get; init; }

    /// <summary>So long (2 s) is waited for the next of the others.</summary>
    public TimeSpan? LateTimeout { get; init; }

    /// <summary>The runtime's explicit Frames, too, where they lie.</summary>
    public bool ExplicitFrames { get; init; }
}
