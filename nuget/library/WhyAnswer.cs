using System;
using System.Runtime.InteropServices;

namespace Mixstack;

/// <summary>What an answer of <see cref="MixStack.Why"/> says in one word; the numbers are the command's exit codes.</summary>
public enum Verdict
{
    /// <summary>Nothing is stuck.</summary>
    NothingStuck = 0,
    /// <summary>Nothing is known to be stuck, and not everything is known.</summary>
    NotAllKnown = 7,
    /// <summary>Something is stuck.</summary>
    Stuck = 11,
}

/// <summary>Why a process is stuck or slow.</summary>
/// <param name="Verdict">In one word.</param>
/// <param name="Json">One JSON document (docs/formats/why.schema.json).</param>
/// <param name="Text">As the command prints it.</param>
public sealed record WhyAnswer(Verdict Verdict, string Json, string Text)
{
    internal static WhyAnswer Read(nint answer)
    {
        try
        {
            return new WhyAnswer((Verdict)Native.AnswerVerdict(answer), Marshal.PtrToStringUTF8(Native.AnswerJson(answer)) ?? "",
                                 Marshal.PtrToStringUTF8(Native.AnswerText(answer)) ?? "");
        }
        finally
        {
            Native.FreeAnswer(answer);
        }
    }
}
