using System.Runtime.InteropServices;

namespace Churn;

[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
internal delegate int Callback(nint argument);

/// <summary>libscen.so.</summary>
internal static unsafe class Native
{
    private const string Library = "scen";

    static Native()
    {
        string folder = Path.Combine(AppContext.BaseDirectory, "..", "native");
        NativeLibrary.SetDllImportResolver(typeof(Native).Assembly,
            (name, _, _) => name == Library ? NativeLibrary.Load(Path.Combine(folder, "libscen.so")) : 0);
    }

    [DllImport(Library, EntryPoint = "scen_call")] public static extern int Call(delegate* unmanaged[Cdecl]<nint, int> callback, nint argument);
    [DllImport(Library, EntryPoint = "scen_call")] public static extern int CallDelegate(Callback callback, nint argument);
    [DllImport(Library, EntryPoint = "scen_sort")] public static extern int Sort(int* values, nint count, delegate* unmanaged[Cdecl]<int*, int*, int> compare);
    [DllImport(Library, EntryPoint = "scen_count_signals")] public static extern void CountSignals(int signal);
    [DllImport(Library, EntryPoint = "scen_signals_got")] public static extern long SignalsGot();
    [DllImport(Library, EntryPoint = "scen_gettid")] public static extern int GetTid();
}
