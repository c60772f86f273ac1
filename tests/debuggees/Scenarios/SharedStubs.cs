using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Scenarios;

/// <summary>
/// P/Invokes with equal signatures, which share one IL stub: it keeps the name of the method it was first made for.
/// Each native function is named as its method is (LaunchMissile, scen_launch_missile), so the native frame next to a
/// stub tells what the stub was called for.
/// </summary>
internal static unsafe class SharedStubs
{
    private const string Library = "scen";

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    private delegate int OpenDoorCallback([MarshalAs(UnmanagedType.LPStr)] string text);

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    private delegate int FeedCatCallback([MarshalAs(UnmanagedType.LPStr)] string text);

    // Resolved by Native's resolver, which its own first call installs. "stay": stand still in native code.
    [DllImport(Library, EntryPoint = "scen_open_door")] private static extern int OpenDoor([MarshalAs(UnmanagedType.LPStr)] string text);
    [DllImport(Library, EntryPoint = "scen_launch_missile")] private static extern int LaunchMissile([MarshalAs(UnmanagedType.LPStr)] string text);
    [DllImport(Library, EntryPoint = "scen_feed_cat")] private static extern int FeedCat([MarshalAs(UnmanagedType.LPStr)] string text);

    [DllImport(Library, EntryPoint = "scen_ring")] private static extern int Ring([MarshalAs(UnmanagedType.LPStr)] string text, delegate* unmanaged[Cdecl]<nint, int> callback);
    [DllImport(Library, EntryPoint = "scen_knock")] private static extern int Knock([MarshalAs(UnmanagedType.LPStr)] string text, delegate* unmanaged[Cdecl]<nint, int> callback);
    [DllImport(Library, EntryPoint = "scen_enter")] private static extern int Enter([MarshalAs(UnmanagedType.LPStr)] string text, delegate* unmanaged[Cdecl]<nint, int> callback);

    // As SQLite's are: everything takes a handle.
    [DllImport(Library, EntryPoint = "scen_reset")] private static extern int Reset(Statement statement);
    [DllImport(Library, EntryPoint = "scen_step")] private static extern int Step(Statement statement);

    [DllImport(Library, EntryPoint = "scen_open_door")] private static extern int OpenSlowly([MarshalAs(UnmanagedType.CustomMarshaler, MarshalTypeRef = typeof(Slow))] string text);
    [DllImport(Library, EntryPoint = "scen_launch_missile")] private static extern int LaunchSlowly([MarshalAs(UnmanagedType.CustomMarshaler, MarshalTypeRef = typeof(Slow))] string text);

    [DllImport(Library, EntryPoint = "scen_open_door"), SuppressGCTransition] private static extern int OpenQuietly([MarshalAs(UnmanagedType.LPStr)] string text);
    [DllImport(Library, EntryPoint = "scen_launch_missile"), SuppressGCTransition] private static extern int LaunchQuietly([MarshalAs(UnmanagedType.LPStr)] string text);

    private sealed class Statement() : SafeHandle(0, false)
    {
        public override bool IsInvalid => false;
        protected override bool ReleaseHandle() => true;
    }

    /// <summary>Stands still before the native call, or after it, as the text says.</summary>
    private sealed class Slow : ICustomMarshaler
    {
        private static readonly Slow s_only = new();
        private bool _after;

        public static ICustomMarshaler GetInstance(string cookie) => s_only;

        public nint MarshalManagedToNative(object value)
        {
            if ((string)value == "before")
            {
                Scene.Park();
            }
            _after |= (string)value == "after";
            return Marshal.StringToHGlobalAnsi((string)value);
        }

        public void CleanUpNativeData(nint native)
        {
            if (_after)
            {
                Scene.Park();
            }
        }

        public object MarshalNativeToManaged(nint native) => "";
        public void CleanUpManagedData(object value) { }
        public int GetNativeDataSize() => -1;
    }

    [Scenario("shared_stubs")]
    private static void Shared()
    {
        Native.InPlace();
        // These give the stubs their names.
        OpenDoor("first");
        Ring("first", &Nothing);
        Reset(new Statement());
        OpenSlowly("first");
        Marshal.GetDelegateForFunctionPointer<OpenDoorCallback>(Native.Symbol("scen_open_door"))("first");

        Scene.Actor("door", () => OpenDoor("stay"));
        Scene.Actor("missile", () => LaunchMissile("stay"));
        Scene.Actor("cat", () => FeedCat("stay"));
        Scene.Actor("nested", () => Knock("outer", &Inside));
        Scene.Actor("statement", () => Step(new Statement()));
        Scene.Actor("calli", () => ((delegate* unmanaged[Cdecl]<string, int>)Native.Symbol("scen_launch_missile"))("stay"));
        Scene.Actor("delegate", () => Marshal.GetDelegateForFunctionPointer<FeedCatCallback>(Native.Symbol("scen_feed_cat"))("stay"));
        Scene.Actor("before-call", () => LaunchSlowly("before"));
        Scene.Actor("after-call", () => LaunchSlowly("after"));
    }

    // Nothing on the stack says what such a stub calls: no transition, no Frame.
    [Scenario("shared_stubs_suppressed")]
    private static void Suppressed()
    {
        Native.InPlace();
        OpenQuietly("first");
        Scene.Actor("quiet", () => LaunchQuietly("stay"));
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Nothing(nint text) => 0;

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Inside(nint text) => Enter("middle", &Deeper) + 1;

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Deeper(nint text) => Knock("inner", null) + 1;
}
