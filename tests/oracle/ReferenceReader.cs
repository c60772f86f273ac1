using System.Text.Json;
using Microsoft.Diagnostics.Runtime;

namespace Oracle;

/// <summary>All references between the objects of a heap as a count and a sum, and what ClrMD has of its roots.</summary>
internal static class ReferenceReader
{
    private const ulong FromFactor = 0xC2B2AE3D27D4EB4F, ToFactor = 0x9E3779B97F4A7C15;

    public static void Write(Utf8JsonWriter json, string source, bool suspend)
    {
        using DataTarget target = StackReader.Open(source, suspend);
        using ClrRuntime runtime = StackReader.CreateRuntime(target);
        long objects = 0, references = 0;
        ulong sum = 0;
        foreach (ClrObject one in runtime.Heap.EnumerateObjects())
        {
            if (one.Type is null || one.Type.IsFree)
            {
                continue;
            }
            objects++;
            foreach (ClrObject to in one.EnumerateReferences(carefully: false, considerDependantHandles: false))
            {
                references++;
                unchecked
                {
                    sum += (to.Address * ToFactor) ^ (one.Address * FromFactor);
                }
            }
        }
        json.WriteStartObject();
        json.WriteNumber("pid", target.DataReader.ProcessId);
        json.WriteNumber("objects", objects);
        json.WriteNumber("references", references);
        json.WriteString("sum", "0x" + sum.ToString("x"));
        json.WriteStartObject("handles");
        foreach (IGrouping<ClrHandleKind, ClrHandle> kind in runtime.EnumerateHandles().GroupBy(h => h.HandleKind))
        {
            json.WriteNumber(kind.Key.ToString(), kind.Count(h => h.Object.Address != 0));
        }
        json.WriteEndObject();
        json.WriteNumber("finalizers", runtime.Heap.EnumerateFinalizerRoots().Count());
        WriteStatics(json, runtime);
        json.WriteEndObject();
    }

    private static void WriteStatics(Utf8JsonWriter json, ClrRuntime runtime)
    {
        json.WriteStartArray("statics");
        foreach (ClrModule module in runtime.EnumerateModules())
        {
            foreach ((ulong table, int _) in module.EnumerateTypeDefToMethodTableMap())
            {
                if (runtime.GetTypeByMethodTable(table) is not { } type)
                {
                    continue;
                }
                foreach (ClrStaticField field in type.StaticFields.Where(f => f.IsObjectReference))
                {
                    if (runtime.AppDomains.Any(domain => field.IsInitialized(domain) && field.ReadObject(domain).Address != 0))
                    {
                        json.WriteStringValue(type.Name + "." + field.Name);
                    }
                }
            }
        }
        json.WriteEndArray();
    }
}
