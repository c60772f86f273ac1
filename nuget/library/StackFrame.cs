namespace Mixstack;

/// <summary>What kind of code a frame runs.</summary>
public enum FrameKind
{
    /// <summary>Of an image that is no managed code.</summary>
    Native = 0,
    /// <summary>Of a method.</summary>
    Managed = 1,
    /// <summary>No code: an explicit Frame of the runtime.</summary>
    RuntimeFrame = 2,
    /// <summary>A stub that the runtime has made.</summary>
    RuntimeStub = 3,
    /// <summary>Where a signal handler returns to.</summary>
    SignalTrampoline = 4,
    /// <summary>Code nobody describes.</summary>
    Undescribed = 5,
}

/// <summary>How sure a frame is, surest first.</summary>
public enum Trust
{
    /// <summary>By unwind information.</summary>
    Certain = 0,
    /// <summary>By the runtime's own records.</summary>
    Checkpoint = 1,
    /// <summary>By the frame pointer.</summary>
    FramePointer = 2,
    /// <summary>By the instructions at the function's begin.</summary>
    Prologue = 3,
    /// <summary>Inferred.</summary>
    Inferred = 4,
}

/// <summary>One frame of a stack.</summary>
public sealed class StackFrame
{
    private readonly string text;

    internal StackFrame(in Native.Frame frame, string text)
    {
        this.text = text;
        InstructionPointer = frame.Pc;
        StackPointer = frame.Sp;
        Kind = (FrameKind)frame.Kind;
        Trust = (Trust)frame.Trust;
        Name = Native.Text(frame.Name);
        RawName = Native.Text(frame.RawName);
        Module = Native.Text(frame.Module);
        ModulePath = Native.Text(frame.ModulePath);
        Offset = frame.Offset;
        MethodDesc = frame.Method;
    }

    /// <summary>Where it runs, or where it is returned to.</summary>
    public ulong InstructionPointer { get; }

    /// <summary>Its stack pointer.</summary>
    public ulong StackPointer { get; }

    /// <summary>What kind of code it runs.</summary>
    public FrameKind Kind { get; }

    /// <summary>How sure it is.</summary>
    public Trust Trust { get; }

    /// <summary>"Orders.Queue.Take(int)"; "" where nothing is known but module and offset.</summary>
    public string Name { get; }

    /// <summary>As metadata and symbol tables have it.</summary>
    public string RawName { get; }

    /// <summary>The assembly's or the image's name.</summary>
    public string Module { get; }

    /// <summary>Its file.</summary>
    public string ModulePath { get; }

    /// <summary>Into the named thing, else into the module.</summary>
    public ulong Offset { get; }

    /// <summary>Address of the runtime's MethodDesc, or 0.</summary>
    public ulong MethodDesc { get; }

    /// <summary>A line of a report, never empty: "Queue.Take(int)  (orders)", "libc.so.6+0x91f16".</summary>
    public override string ToString() => text;
}
