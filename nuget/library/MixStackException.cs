using System;

namespace Mixstack;

/// <summary>Why there is no dump: "process 4711: permission denied: Operation not permitted".</summary>
public sealed class MixStackException : Exception
{
    internal MixStackException(string what, Native.Error error) : base($"{what}: {Native.Describe(ref error)}")
    {
        Code = Native.Text(Native.ErrorName(error.Code));
        OperatingSystemError = error.OsError;
    }

    /// <summary>A stable word: "no_such_process", "permission_denied", "already_traced".</summary>
    public string Code { get; }

    /// <summary>errno, or 0.</summary>
    public int OperatingSystemError { get; }
}
