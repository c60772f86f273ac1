using System.Text.Json;
using Microsoft.Diagnostics.Runtime;

namespace Oracle;

/// <summary>Counts the objects of one process's heap by type and generation with ClrMD; gaps are a type, too.</summary>
internal static class HistogramReader
{
    private static readonly Dictionary<Generation, string> s_names = new()
    {
        [Generation.Generation0] = "0",
        [Generation.Generation1] = "1",
        [Generation.Generation2] = "2",
        [Generation.Large] = "large",
        [Generation.Pinned] = "pinned",
        [Generation.Frozen] = "frozen",
    };

    public static void Write(Utf8JsonWriter json, string source, bool suspend)
    {
        using DataTarget target = StackReader.Open(source, suspend);
        using ClrRuntime runtime = StackReader.CreateRuntime(target);
        Dictionary<(ulong, Generation), (long Count, long Bytes)> sums = [];
        Dictionary<ulong, string?> types = [];
        foreach (ClrSegment segment in runtime.Heap.Segments)
        {
            foreach (ClrObject one in segment.EnumerateObjects())
            {
                ulong type = one.Type?.MethodTable ?? 0;
                types.TryAdd(type, one.Type?.Name);
                (ulong, Generation) key = (type, segment.GetGeneration(one.Address));
                sums.TryGetValue(key, out (long Count, long Bytes) sum);
                sums[key] = (sum.Count + 1, sum.Bytes + ((long)one.Size + 7 & ~7L));
            }
        }
        json.WriteStartObject();
        json.WriteNumber("pid", target.DataReader.ProcessId);
        json.WriteBoolean("isServer", runtime.Heap.IsServer);
        json.WriteStartArray("types");
        foreach (((ulong type, Generation generation), (long count, long bytes)) in sums.OrderBy(pair => pair.Key))
        {
            json.WriteStartObject();
            json.WriteString("methodTable", "0x" + type.ToString("x"));
            json.WriteString("type", types[type]);
            json.WriteString("generation", s_names.GetValueOrDefault(generation, "none"));
            json.WriteNumber("count", count);
            json.WriteNumber("bytes", bytes);
            json.WriteEndObject();
        }
        json.WriteEndArray();
        json.WriteEndObject();
    }
}
