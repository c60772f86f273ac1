using Microsoft.Diagnostics.Runtime;

/// <summary>
/// F: MethodDesc of a stack frame, its signature.  M: MethodDesc of any method of any loaded type, its signature.
/// T: MethodTable, its name as ClrMD formats types (only for a look; ClrMD has a format of its own there).
/// </summary>
internal static class ProcessDump
{
    public static void Write(TextWriter output, int pid, int perType)
    {
        using DataTarget target = DataTarget.AttachToProcess(pid, false);
        using ClrRuntime runtime = target.ClrVersions[0].CreateRuntime();
        HashSet<ulong> seen = [];
        void Method(char kind, ClrMethod? method)
        {
            if (method is { MethodDesc: not 0, Signature: { } signature } && seen.Add(method.MethodDesc))
            {
                output.WriteLine($"{kind}\t0x{method.MethodDesc:x}\t{signature.Replace("\n", "\\n")}");
            }
        }
        foreach (ClrThread thread in runtime.Threads)
        {
            foreach (ClrStackFrame frame in thread.EnumerateStackTrace())
            {
                Method('F', frame.Method);
            }
        }
        output.Flush(); // the DAC itself crashes in some processes with collectible assemblies
        foreach (ClrModule module in runtime.EnumerateModules())
        {
            foreach ((ulong table, int _) in module.EnumerateTypeDefToMethodTableMap())
            {
                if (runtime.GetTypeByMethodTable(table) is not { } type)
                {
                    continue;
                }
                output.WriteLine($"T\t0x{table:x}\t{type.Name}");
                foreach (ClrMethod method in type.Methods.Take(perType))
                {
                    Method('M', method);
                }
            }
        }
    }
}
