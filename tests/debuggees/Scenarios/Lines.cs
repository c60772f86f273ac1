using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json;

namespace Scenarios;

/// <summary>
/// What the runtime itself says of the source lines of stacks: of each thread when it parks, if MIXSTACK_LINES is set.
/// </summary>
internal static class Lines
{
    private static readonly bool s_wanted = Environment.GetEnvironmentVariable("MIXSTACK_LINES") != null;
    private static readonly List<object> s_stacks = [];

    [DllImport("libc")]
    private static extern int gettid();

    /// <summary>Of the caller of Park, whose frames stand where they stood when they called it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Keep()
    {
        if (!s_wanted)
        {
            return;
        }
        StackFrame[] frames = new StackTrace(2, fNeedFileInfo: true).GetFrames();
        var lines = frames.Select(f => new { method = f.GetMethod()?.Name, file = f.GetFileName(), line = f.GetFileLineNumber() });
        object stack = new { tid = gettid(), frames = lines.ToArray() };
        lock (s_stacks)
        {
            s_stacks.Add(stack);
        }
    }

    public static string Kept
    {
        get
        {
            lock (s_stacks)
            {
                return JsonSerializer.Serialize(s_stacks);
            }
        }
    }
}
