using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Mixstack;

/// <summary>One call of mixstack_record, with what its progress reports are for.</summary>
internal sealed unsafe class Recorder(Action<TimeSpan, long>? progress, CancellationToken cancellation)
{
    private const int Sample = 1;
    private Exception? failure;

    /// <summary>The recording, or 0 with <paramref name="error"/>. Exceptions of the caller's progress end it.</summary>
    public nint Record(nint session, Native.RecordOptions options, ref Native.Error error)
    {
        GCHandle self = GCHandle.Alloc(this);
        try
        {
            options.Context = GCHandle.ToIntPtr(self);
            options.Progress = &OnProgress;
            nint recording = Native.Record(session, ref options, ref error);
            if (failure == null) return recording;
            if (recording != 0) Native.FreeRecording(recording);
            throw failure;
        }
        finally
        {
            self.Free();
        }
    }

    [UnmanagedCallersOnly]
    private static int OnProgress(nint context, Native.RecordProgress* now) =>
        ((Recorder)GCHandle.FromIntPtr(context).Target!).GoesOn(now) ? 1 : 0;

    private bool GoesOn(Native.RecordProgress* now)
    {
        try
        {
            if (now->Step == Sample) progress?.Invoke(TimeSpan.FromTicks((long)(now->ElapsedNs / 100)), (long)now->Samples);
            return !cancellation.IsCancellationRequested;
        }
        catch (Exception thrown)
        {
            failure = thrown;
            return false;
        }
    }
}
