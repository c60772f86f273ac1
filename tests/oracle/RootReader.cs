using System.Reflection;
using System.Text.Json;
using Microsoft.Diagnostics.Runtime;
using Microsoft.Diagnostics.Runtime.AbstractDac;

namespace Oracle;

/// <summary>Lists the references that each thread's stack holds, as the DAC has them.</summary>
internal static class RootReader
{
    /// <summary>ClrThread.EnumerateStackRoots() leaves out what leads to no object, and changes what is interior: what it
    /// asks is asked here.</summary>
    private static IAbstractThreadHelpers? Helpers(ClrThread thread) => typeof(ClrThread)
        .GetFields(BindingFlags.Instance | BindingFlags.NonPublic)
        .Select(field => field.GetValue(thread))
        .OfType<IAbstractThreadHelpers>()
        .FirstOrDefault();

    public static void Write(Utf8JsonWriter json, string source, bool suspend)
    {
        using DataTarget target = StackReader.Open(source, suspend);
        using ClrRuntime runtime = StackReader.CreateRuntime(target);
        json.WriteStartObject();
        json.WriteNumber("pid", target.DataReader.ProcessId);
        json.WriteStartArray("threads");
        foreach (ClrThread thread in runtime.Threads)
        {
            if (!thread.IsAlive || thread.OSThreadId == 0 || Helpers(thread) is not { } helpers)
            {
                continue;
            }
            json.WriteStartObject();
            json.WriteNumber("osId", thread.OSThreadId);
            json.WriteNumber("managedId", thread.ManagedThreadId);
            json.WriteStartArray("roots");
            foreach (StackRootInfo root in helpers.EnumerateStackRoots(thread.OSThreadId, traceErrors: false))
            {
                WriteRoot(json, root, root.IsInterior ? null : runtime.Heap.GetObjectType(root.Object));
            }
            json.WriteEndArray();
            json.WriteEndObject();
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void WriteRoot(Utf8JsonWriter json, StackRootInfo root, ClrType? type)
    {
        json.WriteStartObject();
        json.WriteString("address", Hex(root.Address));
        json.WriteString("object", Hex(root.Object));
        json.WriteBoolean("isInterior", root.IsInterior);
        json.WriteBoolean("isPinned", root.IsPinned);
        json.WriteString("ip", Hex(root.InstructionPointer));
        json.WriteString("sp", Hex(root.StackPointer));
        json.WriteString("frame", Hex(root.InternalFrame));
        json.WriteString("register", root.IsEnregistered ? root.RegisterName : null);
        json.WriteNumber("offset", root.RegisterOffset);
        json.WriteString("type", type?.Name);
        json.WriteString("methodTable", type is null ? null : Hex(type.MethodTable));
        json.WriteEndObject();
    }

    private static string Hex(ulong value) => "0x" + value.ToString("x");
}
