"""Code that compilers make: lambdas of Visual Basic, closures of F#, extension members of C# 14, by the member they are of."""
import unittest

import debuggee_build
import mixstack_dump
import processes

VISUAL_BASIC = {
    "object": ["Shop.Till.OfObject(int).lambda(int)", "Shop.Till.OfObject(int)"],
    "overload": ["Shop.Till.OfObject(string).lambda(string)", "Shop.Till.OfObject(string)"],
    "constructor": ["Shop.Till..ctor(bool).lambda()", "Shop.Till..ctor(bool)"],
    "iterator": ["Shop.Till.Walk(int).lambda()", "Shop.Till.Walk(int) [iterator]", "Shop.Till.Rate.get"],
    "nested": ["Shop.Till.Twice(int).lambda#1(int)", "Shop.Till.Twice(int).lambda(int)", "Shop.Till.Twice(int)"],
    "generic": ["Shop.Till.Generic<long>(long).lambda()", "Shop.Till.Generic<long>(long)"],
    "box": ["Shop.Box<long>.Look(long).lambda(int)", "Shop.Box<long>.Look(long)"],
    None: ["Shop.Program.Late().lambda(int) [async]"],
}
FSHARP = {
    "curried": ["Shop.Orders.curried(int).lambda#1(int)", "Shop.Orders.apply(FSharpFunc<int, int>, int)",
                "Shop.Orders.curried(int).lambda(int)"],
    "inner": ["Shop.Orders.Square.Grow(int).loop(int)", "Shop.Orders.Square.Grow(int).loop(int)"],
    "member": ["Shop.Orders.Square.Area(int).lambda(int)"],
    "property": ["Shop.Orders.Square.Total.get.lambda(int)"],
    "local": ["Shop.Orders.local(int).inner.lambda#1(int)"],
    "sequence": ["Shop.Orders.items(int) [iterator]"],
    "generic": ["Shop.Orders.generic(T).lambda(int)"],
    "value": ["Shop.Orders.main(string[]).lambda#9(int)"],
    "lazy": ["Shop.Orders.lazily.lambda(Unit)"],
    None: ["Shop.Orders.Square.Later(int) [async]"],
}
EXTENSIONS = {
    "getter": ["Shop.More.extension(int).Slow.get"],
    "setter": ["Shop.More.extension(int).Slow.set"],
    "lambda": ["Shop.More.extension(int).Lazy.get.lambda()", "Shop.More.extension(int).Lazy.get"],
    "static": ["Shop.More.extension(string).Origin.get"],
    "method": ["Shop.More.Shout<long>(string, long)"],
    "generic": ["Shop.More.extension(List<long>).Last.get"],
    "generic static": ["Shop.More.extension(List<long>).Fresh.get"],
    "operator": ["Shop.More.extension(Box).operator +(Box, int)"],
    "ordinary": ["Shop.More.get_Nothing(int)"],
    None: ["Shop.More.Later(string, int) [async]"],
}


class Languages(unittest.TestCase):
    maxDiff = None

    def look(self, program, wanted, is_park):
        with processes.Debuggee([debuggee_build.language(program)]) as debuggee:
            dump = mixstack_dump.dump(debuggee.pid)
        seen = {}
        for thread in dump["threads"]:
            names = [f["name"] for f in thread["frames"] if f["kind"] == "managed"]
            parked = next((i for i, name in enumerate(names) if is_park(name)), None)
            if parked is not None:
                seen[thread["managed"]["name"] if thread["managed"]["name"] in wanted else None] = names[parked + 1:]
        for thread, names in wanted.items():
            with self.subTest(program, thread=thread):
                own = [n for n in seen.get(thread, []) if n.startswith("Shop.")]
                self.assertEqual(own[:len(names)], names)
        for frames in seen.values():
            self.assertEqual([n for n in frames if n.startswith("Shop.") and ("@" in n or "$__" in n or "<" == n[0])], [])

    def test_visual_basic(self):
        self.look("VisualBasic", VISUAL_BASIC, lambda name: name == "Shop.Park.Here()")

    def test_fsharp(self):
        self.look("FSharp", FSHARP, lambda name: name == "Shop.Orders.park()")

    def test_extension_members(self):
        self.look("Extensions", EXTENSIONS, lambda name: name.startswith("Shop.Park.Here("))


if __name__ == "__main__":
    unittest.main()
