using System.Text.Json;
using Microsoft.Diagnostics.Runtime;

namespace Oracle;

/// <summary>Walks the heap of one process with ClrMD and lists its boxes of async methods that are suspended.</summary>
internal static class BoxReader
{
    private const string Box = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<";
    private const string PooledBox = "System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder<";
    private const uint Ended = 0x1600000; // faulted, canceled, ran to completion

    private static bool IsBox(ClrType? type)
    {
        for (; type is not null; type = type.BaseType)
        {
            string name = type.Name ?? "";
            if ((name.StartsWith(Box) || name.StartsWith(PooledBox)) && name.Contains("+") && name.Contains("StateMachineBox<"))
            {
                return true;
            }
        }
        return false;
    }

    /// <summary>`&lt;>1__state`, or nothing where there is no state machine.</summary>
    private static int? State(ClrObject box)
    {
        ClrInstanceField? field = box.Type!.GetFieldByName("StateMachine");
        if (field is null)
        {
            return null;
        }
        if (field.IsObjectReference)
        {
            ClrObject machine = field.ReadObject(box.Address, false);
            return machine.IsNull ? null : machine.Type?.GetFieldByName("<>1__state")?.Read<int>(machine.Address, false);
        }
        ClrInstanceField? state = field.Type?.GetFieldByName("<>1__state");
        return state?.Read<int>(field.GetAddress(box.Address), true);
    }

    public static void Write(Utf8JsonWriter json, string source, bool suspend)
    {
        using DataTarget target = StackReader.Open(source, suspend);
        using ClrRuntime runtime = StackReader.CreateRuntime(target);
        Dictionary<ClrType, bool> known = [];
        json.WriteStartObject();
        json.WriteNumber("pid", target.DataReader.ProcessId);
        json.WriteBoolean("isServer", runtime.Heap.IsServer);
        json.WriteNumber("heaps", runtime.Heap.SubHeaps.Length);
        json.WriteStartArray("boxes");
        foreach (ClrObject box in runtime.Heap.EnumerateObjects())
        {
            if (box.Type is not { } type)
            {
                continue;
            }
            if (!known.TryGetValue(type, out bool isBox))
            {
                known[type] = isBox = IsBox(type);
            }
            if (!isBox || State(box) is not >= 0)
            {
                continue;
            }
            ClrInstanceField? flags = type.GetFieldByName("m_stateFlags");
            if (flags is not null && (flags.Read<uint>(box.Address, false) & Ended) != 0)
            {
                continue;
            }
            // One that waits to be used again has been cleared.
            if (flags is null && IsBlank(box))
            {
                continue;
            }
            json.WriteStringValue("0x" + box.Address.ToString("x"));
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static bool IsBlank(ClrObject box)
    {
        ClrInstanceField field = box.Type!.GetFieldByName("StateMachine")!;
        ClrInstanceField? builder = field.Type?.GetFieldByName("<>t__builder");
        ClrInstanceField? task = builder?.Type?.GetFieldByName("m_task");
        if (builder is null || task is null)
        {
            return false;
        }
        ulong at = builder.GetAddress(field.GetAddress(box.Address), true);
        return task.ReadObject(at, true).IsNull;
    }
}
