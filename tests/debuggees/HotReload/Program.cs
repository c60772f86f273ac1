// Edits a library while it runs, as Hot Reload does (dotnet watch, an IDE): compiles it, loads it, and applies what
// another text of it adds and changes. A thread then stands in what was added; another one in a library that could have been
// edited, and was not. Needs DOTNET_MODIFIABLE_ASSEMBLIES=debug.
using System.Collections.Immutable;
using System.Reflection;
using System.Reflection.Metadata;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;

const string Before = """
    public class Old {
      public static void Step() { System.GC.KeepAlive(null); }
      public static void Last() { Step(); }
    }
    public class Other { public static void Unchanged() { Old.Last(); } }
    """;
const string After = """
    public class Old {
      public static void Step() { Added(3); }
      public static void Last() { Step(); }
      public static void Added(int depth) { if (depth == 0) new Later<string>.Inner().Stays("x", 1); else Added(depth - 1); }
    }
    public class Other { public static void Unchanged() { Old.Last(); } }
    public class Later<T> {
      public class Inner { public void Stays<U>(T first, U second) { System.Threading.Thread.Sleep(-1); } }
    }
    """;

const string Kept = """
    public class Kept {
      public static void Stays() {
        System.Threading.Thread.Sleep(-1);
      }
    }
    """;

string folder = Directory.CreateTempSubdirectory("mixstack-hot-reload").FullName;
try
{
    string framework = Path.GetDirectoryName(typeof(object).Assembly.Location)!;
    var references = new[] { "System.Private.CoreLib", "System.Runtime", "System.Threading.Thread" }
        .Select(n => MetadataReference.CreateFromFile(Path.Combine(framework, n + ".dll")));
    CSharpCompilation Compiled(string name, string text) => CSharpCompilation.Create(name,
        [CSharpSyntaxTree.ParseText(text, path: name + ".cs", encoding: Encoding.UTF8)], references,
        new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, optimizationLevel: OptimizationLevel.Debug));
    Assembly Loaded(CSharpCompilation compiled, string path)
    {
        EmitResult built;
        using (FileStream library = File.Create(path), lines = File.Create(Path.ChangeExtension(path, ".pdb")))
            built = compiled.Emit(library, lines, options: new EmitOptions(debugInformationFormat: DebugInformationFormat.PortablePdb));
        return built.Success ? Assembly.LoadFrom(path) : throw new InvalidOperationException(string.Join("\n", built.Diagnostics));
    }
    string path = Path.Combine(folder, "Edited.dll");
    CSharpCompilation before = Compiled("Edited", Before);
    Assembly assembly = Loaded(before, path);

    var after = before.ReplaceSyntaxTree(before.SyntaxTrees[0], CSharpSyntaxTree.ParseText(After, path: "Edited.cs", encoding: Encoding.UTF8));
    var old = before.GetTypeByMetadataName("Old")!;
    var now = after.GetTypeByMetadataName("Old")!;
    SemanticEdit[] edits = [
        new(SemanticEditKind.Update, old.GetMembers("Step").Single(), now.GetMembers("Step").Single()),
        new(SemanticEditKind.Insert, null, now.GetMembers("Added").Single()),
        new(SemanticEditKind.Insert, null, after.GetTypeByMetadataName("Later`1")),
    ];
    EmitBaseline baseline = EmitBaseline.CreateInitialBaseline(before, ModuleMetadata.CreateFromFile(path),
        _ => default, _ => default, hasPortableDebugInformation: true);
    using MemoryStream metadata = new(), il = new(), pdb = new();
    EmitDifferenceResult difference = after.EmitDifference(baseline, edits, _ => false, metadata, il, pdb);
    if (!difference.Success) throw new InvalidOperationException(string.Join("\n", difference.Diagnostics));

    MethodInfo unchanged = assembly.GetType("Other")!.GetMethod("Unchanged")!;
    unchanged.Invoke(null, null);
    MetadataUpdater.ApplyUpdate(assembly, metadata.ToArray(), il.ToArray(), pdb.ToArray());
    MethodInfo stays = Loaded(Compiled("Kept", Kept), Path.Combine(folder, "Kept.dll")).GetType("Kept")!.GetMethod("Stays")!;
    foreach (var (name, method) in new[] { ("edited", unchanged), ("kept", stays) })
    {
        Thread stands = new(() => method.CreateDelegate<Action>()()) { IsBackground = true, Name = name };
        stands.Start();
        while ((stands.ThreadState & ThreadState.WaitSleepJoin) == 0) Thread.Sleep(10);
    }
    Console.WriteLine($"READY {Environment.ProcessId}");
    Console.ReadLine();
}
finally
{
    Directory.Delete(folder, true);
}
