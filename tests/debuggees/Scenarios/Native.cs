using System.Reflection;
using System.Runtime.InteropServices;

namespace Scenarios;

[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
internal delegate int Callback(nint argument);

[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
internal delegate int TextCallback([MarshalAs(UnmanagedType.LPStr)] string text);

[UnmanagedFunctionPointer(CallingConvention.Cdecl)]
internal delegate int Compare(ref int left, ref int right);

[StructLayout(LayoutKind.Sequential)]
internal struct NativeStrings
{
    public int Count;
    [MarshalAs(UnmanagedType.LPStr)] public string First;
    [MarshalAs(UnmanagedType.LPStr)] public string Second;
}

/// <summary>libscen.so. Blittable signatures are inlined by the JIT, the others go through IL stubs.</summary>
internal static unsafe class Native
{
    private const string Library = "scen";

    public static readonly string Folder = Environment.GetEnvironmentVariable("SCEN_NATIVE")
        ?? Path.Combine(AppContext.BaseDirectory, "..", "native");

    static Native()
    {
        NativeLibrary.SetDllImportResolver(typeof(Native).Assembly,
            (name, _, _) => name == Library ? NativeLibrary.Load(Path.Combine(Folder, "libscen.so")) : 0);
    }

    [DllImport(Library, EntryPoint = "scen_in_place")] public static extern int InPlace();
    [DllImport(Library, EntryPoint = "scen_block")] public static extern void Block();
    [DllImport(Library, EntryPoint = "scen_block_value")] public static extern int BlockValue(int value);
    [DllImport(Library, EntryPoint = "scen_block_string")] public static extern int BlockString([MarshalAs(UnmanagedType.LPStr)] string text);
    [DllImport(Library, EntryPoint = "scen_block_struct")] public static extern int BlockStruct(ref NativeStrings strings);
    [DllImport(Library, EntryPoint = "scen_block_errno", SetLastError = true)] public static extern int BlockErrno();
    [DllImport(Library, EntryPoint = "scen_fault")] public static extern int Fault(nint nowhere = 0);
    [DllImport(Library, EntryPoint = "scen_announce")] public static extern void Announce(int expected);
    [DllImport(Library, EntryPoint = "scen_spin")] public static extern void Spin();
    [DllImport(Library, EntryPoint = "scen_spin_confined")] public static extern void SpinConfined(int strictly);
    [DllImport(Library, EntryPoint = "scen_spin"), SuppressGCTransition] public static extern void SpinWithoutTransition();
    [DllImport(Library, EntryPoint = "scen_block"), SuppressGCTransition] public static extern void BlockWithoutTransition();

    [DllImport(Library, EntryPoint = "scen_call")] public static extern int Call(delegate* unmanaged[Cdecl]<nint, int> callback, nint argument);
    [DllImport(Library, EntryPoint = "scen_call_deep")] public static extern int CallDeep(delegate* unmanaged[Cdecl]<nint, int> callback, nint argument, int depth);
    [DllImport(Library, EntryPoint = "scen_chain_kept")] public static extern int ChainKept(delegate* unmanaged[Cdecl]<nint, int> callback, nint argument, int frames);
    [DllImport(Library, EntryPoint = "scen_chain_bare")] public static extern int ChainBare(delegate* unmanaged[Cdecl]<nint, int> callback, nint argument, int frames);
    [DllImport(Library, EntryPoint = "scen_call")] public static extern int CallDelegate(Callback callback, nint argument);
    [DllImport(Library, EntryPoint = "scen_call_errno", SetLastError = true)] public static extern int CallErrno(Callback callback, nint argument);
    [DllImport(Library, EntryPoint = "scen_call_string")] public static extern int CallString(TextCallback callback, [MarshalAs(UnmanagedType.LPStr)] string text);
    [DllImport(Library, EntryPoint = "scen_call_rbp_plain")] public static extern int CallRbpPlain(delegate* unmanaged[Cdecl]<nint, int> callback, nint argument);
    [DllImport(Library, EntryPoint = "scen_sort")] public static extern int Sort(int* values, nint count, delegate* unmanaged[Cdecl]<int*, int*, int> compare);
    [DllImport(Library, EntryPoint = "scen_sort")] public static extern int SortDelegate([In, Out] int[] values, nint count, Compare compare);

    [DllImport(Library, EntryPoint = "scen_start_native_threads")] public static extern void StartNativeThreads(int count, int depth);
    [DllImport(Library, EntryPoint = "scen_start_callback_thread")] public static extern void StartCallbackThread(delegate* unmanaged[Cdecl]<nint, int> callback, nint argument);
    [DllImport(Library, EntryPoint = "scen_gettid")] public static extern int GetTid();
    [DllImport(Library, EntryPoint = "scen_install_handler")] public static extern void InstallHandler(int signal, int onAlternateStack);
    [DllImport(Library, EntryPoint = "scen_use_alternate_stack")] public static extern void UseAlternateStack();
    [DllImport(Library, EntryPoint = "scen_count_signals")] public static extern void CountSignals(int signal);
    [DllImport(Library, EntryPoint = "scen_signals_got")] public static extern long SignalsGot();
    [DllImport(Library, EntryPoint = "scen_signal_thread")] public static extern int SignalThread(int tid, int signal);
    [DllImport(Library, EntryPoint = "scen_vfork_parent")] public static extern int VforkParent(int seconds);
    [DllImport(Library, EntryPoint = "scen_fork_child")] public static extern int ForkChild();
    [DllImport(Library, EntryPoint = "scen_visit_alternate_stack")] public static extern int VisitAlternateStack(nint size);
    [DllImport(Library, EntryPoint = "scen_signal_gap")] public static extern double SignalGap(nuint value, int rounds);
    [DllImport(Library, EntryPoint = "scen_signal_cost")] public static extern double SignalCost(nuint value, int rounds);

    public static nint Symbol(string name)
    {
        InPlace();
        nint library = NativeLibrary.Load("scen", Assembly.GetExecutingAssembly(), null);
        return NativeLibrary.GetExport(library, name);
    }
}
