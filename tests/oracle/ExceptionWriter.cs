using System.Text.Json;
using Microsoft.Diagnostics.Runtime;

namespace Oracle;

/// <summary>An exception object as ClrMD reads it, with its inner exceptions.</summary>
internal static class ExceptionWriter
{
    /// <summary>Cycles end here.</summary>
    private const int MaxDepth = 50;

    public static void Write(Utf8JsonWriter json, ClrException? exception, int depth = 0)
    {
        if (exception is null || depth == MaxDepth)
        {
            json.WriteNullValue();
            return;
        }
        json.WriteStartObject();
        json.WriteString("address", Hex(exception.Address));
        json.WriteString("type", exception.Type.Name);
        // As UTF-16 code units: JSON cannot carry half a surrogate pair.
        json.WriteString("message", exception.Message is { } text ? string.Concat(text.Select(c => ((int)c).ToString("x4"))) : null);
        json.WriteNumber("hresult", unchecked((uint)exception.HResult));
        json.WriteStartArray("stack");
        foreach (ClrStackFrame frame in exception.StackTrace)
        {
            json.WriteStartObject();
            json.WriteString("ip", Hex(frame.InstructionPointer));
            json.WriteString("sp", Hex(frame.StackPointer));
            json.WriteString("method", frame.Method?.Signature);
            json.WriteString("methodDesc", frame.Method is { } method ? Hex(method.MethodDesc) : null);
            json.WriteEndObject();
        }
        json.WriteEndArray();
        json.WritePropertyName("inner");
        Write(json, exception.Inner, depth + 1);
        json.WriteEndObject();
    }

    private static string Hex(ulong value) => "0x" + value.ToString("x");
}
