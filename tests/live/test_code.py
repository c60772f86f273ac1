"""Kinds of code: tiers, replacement, precompiled, emitted, collectible, tail calls, language features, names."""
from harness import LiveCase


class Kinds(LiveCase):
    def test_tiers(self):
        seen = self.check("tiers")
        for thread in ("tier0", "later", "tier1"):
            self.assert_order(seen.names(thread), "scen_block", "Tiering.Inner", "Tiering.Outer", "Tiering+<>c", "StartCallback")

    def test_on_stack_replacement_is_one_frame(self):
        seen = self.check("osr")
        for thread, method in (("osr-blocked", "LongLoop"), ("osr-spinning", "LongLoop"),
                               ("osr-nested", "LoopWithManyLocals")):
            names = seen.names(thread, "managed")
            self.assertEqual(sum(f"Tiering.{method}(" in name for name in names), 1, names)
        # Its own frame, and the catch funclet inside.
        self.assertEqual(sum("Tiering.LoopWithCatch(" in n for n in seen.names("osr-exception", "managed")), 2)

    def test_precompiled_generics(self):
        self.check("r2r_generics")

    def test_reflection(self):
        self.check("reflection")

    def test_dynamic_methods(self):
        seen = self.check("dynamic_methods")
        self.assert_order(seen.names("odd-name"), "DynamicCode.Stand", "odd name, <with> [marks]`2")
        self.assert_order(seen.names("unicode-name"), "DynamicCode.Stand", "überladen_Ж")
        self.assert_order(seen.names("emitted"), "DynamicCode.Stand", "Emitted.Outer[[System.__Canon, System.Private.CoreLib]].Emit It(")

    def test_collectible(self):
        seen = self.check("collectible")
        for thread in ("collectible-file", "collectible-stream"):
            self.assert_order(seen.names(thread, "managed"), "Inside", "Visit", "RunInContext")

    def test_tail_calls(self):
        seen = self.check("tail_calls")
        names = seen.names("tail-direct", "managed")
        self.assert_order(names, "DynamicCode.Target", "StartCallback")
        self.assertFalse([name for name in names if "TailDirect" in name], "the tail caller is gone from the stack")
        self.assert_order(seen.names("tail-many-arguments"), "DynamicCode.StandWith", "IL_STUB_CallTailCallTarget",
                          "DispatchTailCalls", "TailManyArguments")

    def test_spinning(self):
        seen = self.check("spin")
        self.assert_order(seen.names("spin-optimized", "managed"), "OptimizedLeaf", "OptimizedOuter", "OptimizedOuter")


class Language(LiveCase):
    def test_async(self):
        seen = self.check("async")
        shown = [frame["name"] for frame in seen.thread("async-value")["frames"]]
        self.assertTrue(any("ValueOuter" in name and "MoveNext" not in name for name in shown),
                        f"state machines are shown as the method they came from: {shown}")

    def test_iterators(self):
        self.check("iterators")

    def test_lambdas_and_local_functions(self):
        self.check("lambdas")


class Names(LiveCase):
    def test_generics(self):
        self.check("generics")

    def test_signatures(self):
        self.check("signatures")

    def test_members(self):
        self.check("members")


class Waiting(LiveCase):
    def test_locks(self):
        self.check("locks")

    def test_pool_and_timer(self):
        self.check("pool")

    def test_blocked_in_callbacks_of_the_runtime(self):
        """Resolvers called while a call is prepared or dispatched: PrestubMethodFrame, StubDispatchFrame."""
        seen = self.check("resolvers")
        self.assert_order(seen.names("dll-import", "managed"), "Scene.Park", "GetResolvedUnmanagedDll", "Resolvers+<>c")
        self.assert_order(seen.names("prestub", "managed"), "Scene.Park", "ResolveUsingEvent", "CallIntoAbsentAssembly")
        self.assert_order(seen.names("interface-dispatch", "managed"), "Scene.Park", "Castable.GetInterfaceImplementation",
                          "Resolvers+<>c")
